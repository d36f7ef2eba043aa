"""Pages on decisions that change from one examined release to the next: `nox -s changes`."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.compare.changes_text import (
    is_known_to_break,
    pair_from_json,
    pair_lines,
    way_case_file,
    why_no_case,
)
from pulsar_conformance.specs import load
from pulsar_conformance.specs.broker import broker_settings

OUTPUT = Path("reports/changes")

Json = Mapping[str, Any]

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
"""Package that is left out of class names in values."""

NEW, RENAMED = (
    "New settings, with their defaults",
    "New names of existing settings, with their defaults",
)
GONE, OTHER = "Removed settings, with their defaults", "Other defaults"
KINDS = (NEW, RENAMED, GONE, OTHER)

CASES = "cases"
"""Folder of the smallest case that shows each change."""

INTRODUCTION = """\
# What an upgrade of Pulsar changes

Each release and the next one answer the same drawn cases. If they decide differently, the page
of the pair shows the smallest case, both decisions with the model's arithmetic, and the place in
Pulsar's source. For a difference that no drawn case shows, the page has a separate case, or the
reason why no case can show it. The last lines of each pair list settings that changed. Everything
here is about the modular load manager, unless another one is named.

`pulsar-conformance changes OLDER NEWER` compares any two releases, and `--all` compares each of the
six examined releases with the next. `nox -s changes` writes these pages. `python -m
pulsar_conformance.reports.between --texts` rewrites their texts from the saved cases and answers,
without asking the releases.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Write a page and the cases for each pair of releases. Return 0, or 2 on failure."""
    parser = argparse.ArgumentParser(prog="changes", description=__doc__)
    parser.add_argument(
        "--to",
        type=Path,
        default=OUTPUT,
        metavar="DIR",
        help="the folder for the pages (%(default)s)",
    )
    parser.add_argument(
        "--texts",
        action="store_true",
        help="rewrite the pages from their saved cases and answers, without asking the releases",
    )
    args = parser.parse_args(argv)
    to = args.to.absolute()
    if args.texts:
        found = saved_pairs(to)
        for pair in found:
            file = to / f"{pair_file_name(pair['older'], pair['newer'])}.md"
            file.write_text(page_of_saved(pair), "utf-8", newline="\n")
        return _finish(to, found)
    to.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(to / CASES, ignore_errors=True)
    found = []
    for older, newer in pairwise(releases()):
        file = to / f"{pair_file_name(older, newer)}.json"
        output = _comparison_output(older, newer, file)
        if output is None:
            return 2
        file.with_suffix(".md").write_text(page(older, newer, output), "utf-8", newline="\n")
        found += json.loads(file.read_text("utf-8"))
    return _finish(to, found)


def _finish(to: Path, found: Sequence[Json]) -> int:
    (to / "README.md").write_text(index(found), "utf-8", newline="\n")
    print(f"{len(found)} pages in {to}")
    return 0


def saved_pairs(folder: Path = OUTPUT) -> list[Json]:
    """Return the saved comparison of each pair of releases, the oldest pair first."""
    files = (folder / f"{pair_file_name(*two)}.json" for two in pairwise(releases()))
    return [pair for file in files for pair in json.loads(file.read_text("utf-8"))]


def page_of_saved(pair: Json) -> str:
    """Return the page about a saved comparison, with the derivations by today's models."""
    found = pair_from_json(pair)
    printed = tuple(one.replace(f"{CASES}/", PRINTED, 1) for one in found.files)
    lines = pair_lines(replace(found, files=printed))
    return page(pair["older"], pair["newer"], "\n\n" + _with_case_folder("\n".join(lines)))


PRINTED = f"{saved.FOLDER.as_posix()}/"
"""Beginning of the paths of saved cases in the output of `changes`."""


def _with_case_folder(text: str) -> str:
    """Return the output of `changes` with the paths of saved cases below the pages' folder."""
    return text.replace(PRINTED, f"{OUTPUT.as_posix()}/{CASES}/")


def _comparison_output(older: str, newer: str, file: Path) -> str | None:
    """Return the output of `changes`, run in a temporary folder; None if the command fails.

    The cases that the output names are stored next to the pages.
    """
    command = [sys.executable, "-m", "pulsar_conformance.conformance", "changes", older, newer]
    with tempfile.TemporaryDirectory() as apart:
        done = subprocess.run(
            [*command, "--json", str(file)], cwd=apart, stdout=subprocess.PIPE, text=True
        )
        if done.returncode:
            return None
        if (cases := Path(apart, saved.FOLDER)).is_dir():
            shutil.copytree(cases, file.parent / CASES, dirs_exist_ok=True)
    file.write_text(file.read_text("utf-8").replace(PRINTED, f"{CASES}/"), "utf-8", newline="\n")
    return _with_case_folder(done.stdout)


def pair_file_name(older: str, newer: str) -> str:
    """Return the name of a pair's files without their suffix."""
    return f"{older}-to-{newer}"


def page(older: str, newer: str, output: str) -> str:
    """Return the page about a pair of releases: a heading, and the output of the command."""
    _heading, _, rest = output.partition("\n\n")
    cases = f"{pair_file_name(older, newer)}.json"
    return (
        f"# What changed from {older} to {newer}\n\n"
        f"This is the output of `pulsar-conformance changes {older} {newer}`; [{cases}]({cases}) "
        f"has the cases and answers. The files named here are for `pulsar-conformance explain "
        f"FILE --judge-by PROFILE` and `run --replay FILE`.\n\n```text\n{rest.strip()}\n```\n"
    )


def index(found: Iterable[Json]) -> str:
    """Return the page that lists all comparisons, with a section for each pair."""
    return INTRODUCTION + "".join(map(_section, found))


def _section(pair: Json) -> str:
    older, newer = pair["older"], pair["newer"]
    lines = ["", f"## [{older} → {newer}]({pair_file_name(older, newer)}.md)", ""]
    causes = _causes(pair["changes"])
    if causes:
        rows = [
            (f"{asked}<br>{', '.join(f'`{one}`' for one in seen)}", before, after)
            for (asked, before, after), seen in causes.items()
        ]
        lines += _table(("decided differently", older, newer), rows)
    else:
        lines.append("No drawn case is decided differently.")
    if pair["unshown"]:
        lines += ["", "Known from the source, but shown by no drawn case:", ""]
        with_cases = ((*_difference_row(one), _case(one["name"])) for one in pair["unshown"])
        lines += _table(("what", older, newer, "case"), with_cases)
    lines += _settings(pair["settings"])
    return "".join(f"{line}\n" for line in lines)


def _case(name: str) -> str:
    """Return the file of the case that shows a difference, or the reason why there is none."""
    file = way_case_file(name)
    return f"`{file}`" if file else why_no_case(name)


def _settings(changed: Sequence[Json]) -> Iterator[str]:
    """Yield a paragraph for each kind of change of settings, such as removed ones."""
    replaced = {one.name: one.replaces for one in broker_settings().values() if one.replaces}
    kinds: dict[str, list[str]] = {heading: [] for heading in KINDS}
    for one in changed:
        name, older, newer = one["name"], one["older"], one["newer"]
        if newer is None:
            kinds[GONE].append(f"`{name}` ({_value(older)})")
        elif older is not None:
            kinds[OTHER].append(f"`{name}` ({_value(older)} → {_value(newer)})")
        elif name in replaced:
            kinds[RENAMED].append(f"`{name}` for `{replaced[name]}` ({_value(newer)})")
        else:
            kinds[NEW].append(f"`{name}` ({_value(newer)})")
    for heading, names in kinds.items():
        yield from ("", f"{heading}: {', '.join(names) or 'none'}.")


Row = tuple[str, str, str]
"""A difference between two releases, with the behavior of the older and the newer release."""


def _causes(changes: Iterable[Json]) -> dict[Row, dict[str, None]]:
    """Return each cause of changes, with the operations whose cases show its effect."""
    found: dict[Row, dict[str, None]] = {}
    for one in changes:
        for row in (
            map(_difference_row, one["factors"]) if one["factors"] else [_unexplained_row(one)]
        ):
            found.setdefault(row, {})[one["operation"]] = None
    return found


def _difference_row(factor: Json) -> Row:
    """Return a row on a difference: a question with both answers, or a setting's two defaults."""
    name, older, newer = factor["name"], factor["older"], factor["newer"]
    if factor["kind"] == "class":
        return f"Does the release have the class `{name}`?", "No.", "Yes."
    if factor["kind"] == "setting" and older is None:
        return f"Is there a setting `{name}`?", "No.", f"Yes; it is {_value(newer)} by default."
    if factor["kind"] == "setting":
        return f"The default of `{name}`", _value(older), _value(newer)
    specs = load()
    if name in specs.ways:
        asked = specs.ways[name].question
        known = {one: taken.means for one, taken in specs.ways[name].alternatives.items()}
    else:
        asked = specs.readings[name].question
        known = {one.value: one.means for one in specs.readings[name].alternatives}
    return asked, known.get(older) or str(older), known.get(newer) or str(newer)


def _unexplained_row(change: Json) -> Row:
    """Return a row for a change without a known cause: the rules that either release violates."""
    if not any(change["breaks"].values()):
        return "a decision that no rule and no known difference explains", "one", "another"
    rules = load().rules
    names = [rules[one].title if one in rules else one for one in change["cause"].split(", ")]
    breaks = change["breaks"].items()
    either = [one for _, broken in breaks for one in broken if one in rules]
    older, newer = (_kept_or_broken_text(version, broken, either) for version, broken in breaks)
    return "; ".join(names), older, newer


def _kept_or_broken_text(version: str, broken: Sequence[str], rules: Sequence[str]) -> str:
    """Return text on whether a release breaks rules in a case or, if not, in other cases."""
    if broken:
        return "breaks it"
    known = any(is_known_to_break(version, one) for one in rules)
    return "holds it in this case, but breaks it in others" if known else "holds it"


def _value(value: object) -> str:
    if value in (None, ""):
        return "unset" if value is None else "empty"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`".replace(PACKAGE, "")


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    every = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(one.replace('|', '/') for one in row)} |" for row in every]


if __name__ == "__main__":
    sys.exit(main())
