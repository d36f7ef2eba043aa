"""Print the sections of a document in the format of documents.yaml.

`python -m pulsar_conformance.specs.fingerprint DOCUMENT < TITLES`

Section titles are read from standard input, one per line.
"""

import argparse
import sys
from pathlib import Path

from pulsar_conformance.specs.sentences import fingerprint, split_sentences


def main(argv: list[str] | None = None) -> int:
    """Print the skeleton of a document as YAML; titles are read from standard input, one
    per line.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=Path, help="the text of the document")
    parser.add_argument(
        "--plain", action="store_true", help="headings in the text do not begin with number signs"
    )
    options = parser.parse_args(argv)
    titles = [line.strip() for line in sys.stdin if line.strip()]
    text = options.document.read_text(encoding="utf-8")
    for title, sentences in split_sentences(text, titles, marked=not options.plain):
        print(f"    - title: {title!r}")
        print("      sentences:" if sentences else "      sentences: []")
        for sentence in sentences:
            print(f"        - {fingerprint(sentence)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
