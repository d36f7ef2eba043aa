"""Write the sources of the site, from which Zensical builds it: `nox -s site`."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from pulsar_conformance.reports.allure import tool_cache
from pulsar_conformance.reports.site import vendored
from pulsar_conformance.reports.site.making import Site
from pulsar_conformance.specs.errors import status_of

HERE = Path(__file__).parent
OUTPUT = Path("reports/out")
ASSETS = "assets"
VENDOR = "vendor"
SOURCES, THEME, CONFIGURATION = "site-sources", "site-theme", "zensical.toml"
"""Folder of the pages, folder of changes to the theme, and file of the generator's settings."""


def main(argv: Sequence[str] | None = None) -> int:
    """Write all pages and the configuration of Zensical. Return 0, or 2 on failure."""
    to = _arguments(argv).to
    return status_of(lambda: _write(to), OSError)


def _write(to: Path) -> int:
    docs, theme = to / SOURCES, to / THEME
    for folder in (docs, theme):
        shutil.rmtree(folder, ignore_errors=True)
    site = Site()
    made = dict(site.pages())
    for name, text in made.items():
        file = docs / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8", newline="\n")
    shutil.copytree(HERE / ASSETS, docs / ASSETS)
    vendored.fetch_packages(tool_cache() / "site", docs / ASSETS / VENDOR)
    vendored.write_model(docs / ASSETS / VENDOR)
    shutil.copytree(HERE / "theme", theme)
    (to / CONFIGURATION).write_text(site.configuration(), "utf-8")
    print(f"{len(made)} pages in {docs}")
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="site", description=__doc__)
    parser.add_argument(
        "--to",
        type=Path,
        default=OUTPUT,
        metavar="DIR",
        help="the folder of the sources and the site (%(default)s)",
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
