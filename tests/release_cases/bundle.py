"""Writes the branches that `predict` asks of each release: python -m release_cases.bundle."""

import gzip
import json

from pulsar_conformance.conformance.compare.changes_text import profile_of
from pulsar_conformance.conformance.compare.predictions import BRANCHES

from release_cases.common import VERSIONS
from release_cases.generate import draw

EACH, SEED = 240, 2026
"""Number of cases of a release, which has 66 to 131 branches, and the seed of the draws."""


def bundled(profile):
    """Return the cases of a profile's file as bytes, with one JSON object in each line."""
    version = next(one for one in VERSIONS if profile_of(one) == profile)
    asked = ({"ask": one.ask, "case": case} for one, case in draw(version, EACH, SEED))
    return "".join(f"{json.dumps(one)}\n" for one in asked).encode()


def main():
    BRANCHES.mkdir(exist_ok=True)
    for version in VERSIONS:
        profile = profile_of(version)
        file = BRANCHES / f"{profile}.jsonl.gz"
        file.write_bytes(gzip.compress(bundled(profile), mtime=0))


if __name__ == "__main__":
    main()
