"""A fixed choice in place of a release's random choice: equal questions get equal choices."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def index_for_question(question: Mapping[str, Any], choices: int) -> int:
    """Return an index below `choices` that is always the same for a question."""
    text = json.dumps(question, sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()) % choices
