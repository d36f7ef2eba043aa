"""What the documents leave to chance: whoever may be chosen is, in turn."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any


class Turns:
    """How often each question was asked: all that a model remembers, from its beginning.

    Chance that can be repeated: the same questions in the same order get the same answers, and
    one that is asked as often as there are choices gets each of them. [PLACE-05]
    """

    def __init__(self) -> None:
        self._asked: defaultdict[bytes, Iterator[int]] = defaultdict(count)

    def next(self, case: Mapping[str, Any]) -> int:
        """How often the question was asked before."""
        text = json.dumps(case, sort_keys=True)
        question = hashlib.sha256(text.encode()).digest()
        return next(self._asked[question])
