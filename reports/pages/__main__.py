"""Write the worked examples as Markdown: `nox -s examples`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pulsar_conformance.reports.pages import pages
from pulsar_conformance.specs import AREAS
from pulsar_conformance.specs.errors import status_of

OUTPUT = Path("reports/examples")


def main(argv: Sequence[str] | None = None) -> int:
    """Write every page; remove the pages of areas without examples. Return 0, or 2 on failure."""
    to = _arguments(argv).to
    return status_of(lambda: _write(to), OSError)


def _write(to: Path) -> int:
    made = pages()
    to.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (to / name).write_text(text, "utf-8", newline="\n")
    for area in AREAS:
        if (name := f"{area.lower()}.md") not in made:
            (to / name).unlink(missing_ok=True)
    print(f"{len(made)} pages in {to}")
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="examples", description=__doc__)
    parser.add_argument(
        "--to",
        type=Path,
        default=OUTPUT,
        metavar="DIR",
        help="the folder for the pages (%(default)s)",
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
