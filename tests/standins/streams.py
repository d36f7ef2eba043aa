"""Published reports, and verdict streams that are made from reports."""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "reports" / "published"
PUBLISHED = sorted(file for file in FOLDER.rglob("*.json") if "cases" not in file.parts)
"""All published reports, without the cases beside them."""


def stream_of(report):
    """Write the verdict stream of a report's run to the current folder, and return its file."""
    stream = Path("verdicts.jsonl")
    first = {
        "kind": "run", "seed": 0, "examples": 100, "versions": report["versions"], "readings": {},
        "profiles": ["documented-3.0"], "rules": [], "known_deviations": [], "saved_cases": [],
        "implementations": [report["implementation"]],
    }  # fmt: skip
    about = {"kind": "verdict", "implementation": "reference", "profile": "documented-3.0"}
    lines = [first, *({**about, **line} for line in report["verdicts"])]
    stream.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(stream)
