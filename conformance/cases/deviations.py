"""Known deviations: the rules that an implementation is known to break, why, and in which cases."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.arguments import profile_of_version
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.specs.balancers import OWN_CLASSES
from pulsar_conformance.specs.errors import unknown_name
from pulsar_conformance.specs.lines import Sheet, read_sheet
from pulsar_conformance.specs.schemas import check_shape
from pulsar_conformance.specs.text import counted, paragraph

UNWRITTEN = "unwritten-3.0"
"""Profile of the rules that no document states."""

LISTS = Path(fixtures.__file__).parent / "deviations"
"""Folder of the lists of deviations of Pulsar's releases."""

PULSAR = "pulsar"
"""Name of a released Pulsar, and kind of its adapter."""

MAX_NAMES = 3
"""Maximum number of implementations that a text lists by name."""


@dataclass(frozen=True)
class Place:
    """A method or field in an implementation's source: the path of the file, and the name."""

    path: str
    method: str

    def __str__(self) -> str:
        """Return class and method, such as `OverloadShedder.findBundlesForUnloading`."""
        return f"{PurePosixPath(self.path).stem}.{self.method}"


@dataclass(frozen=True)
class Deviation:
    """One entry of a known-deviations file."""

    rule: str
    reason: str
    link: str
    implementation: str | None = None
    source: tuple[Place, ...] = ()
    cases: tuple[Path, ...] = ()
    """Files of cases on which the implementation violates the rule, smallest first."""
    answers: str = ""
    """The implementation's answer to the first case, as a failure shows it; empty if not listed."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """Readings that the implementation follows, but that cannot be found from its answers."""
    proposed: str = ""
    """A sentence to propose for the documents; empty if there is none."""

    @property
    def why(self) -> str:
        """The reason, the place in the source, the link and the proposed sentence, on one line."""
        place = ", ".join([*map(str, self.source), self.link])
        proposed = f"; the documents could say: {self.proposed}" if self.proposed else ""
        return f"{self.reason} ({place}){proposed}"

    def concerns(self, rule: str, *names: str) -> bool:
        """True if the entry concerns this rule, and any implementation or one named in `names`."""
        return self.rule == rule and self.implementation in (None, *names)

    @property
    def product(self) -> str:
        """The implementation's name without version; empty if the entry names no implementation."""
        return (self.implementation or "").rpartition(" ")[0]

    def expects_answer(self, case: Path, answered: str) -> bool:
        """True if `answered` is the answer listed for `case`, or if no answer is listed.

        Only the first case can have a listed answer. Line numbers of Java code are ignored, because
        they differ between versions.
        """
        listed = self.answers if case == self.cases[0] else ""
        return not listed or LINE_OF_JAVA.sub("", listed) == LINE_OF_JAVA.sub("", answered)

    def of_another_version(self) -> Deviation:
        """Return a copy for another version of the implementation; the reason mentions this."""
        shown = f"known from {self.implementation}, and its case fails here as well: {self.reason}"
        return replace(self, reason=shown)


LINE_OF_JAVA = re.compile(r"(?<=\.java):\d+")


def load_deviations(file: Path) -> tuple[Deviation, ...]:
    """Read a known-deviations file, or all such files in a folder.

    A case is searched for in the file's folder, then in each parent folder. Errors:
    `specs.SpecError` with file and line for an unknown rule, a duplicate entry for a rule, or a
    missing or invalid case.
    """
    if file.is_dir():
        return tuple(one for each in sorted(file.glob("*.yaml")) for one in load_deviations(each))
    sheet = _read_file(file)
    found: list[Deviation] = []
    rules = specs.load().rules
    for index, entry in enumerate(deviation_entries(file, sheet)):
        if entry["rule"] not in rules:
            raise _error_at_rule(sheet, index, unknown_name(entry["rule"], "rule", rules))
        _check_readings(sheet, index)
        deviation = _build_deviation(entry, list(_case_paths(sheet, index, file, entry)))
        if _is_listed(found, deviation):
            raise _error_at_rule(sheet, index, f"{deviation.rule} is listed twice")
        found.append(deviation)
    return tuple(found)


def _read_file(file: Path) -> Sheet:
    sheet = read_sheet(Path(), str(file))
    if sheet.data is None:
        sheet = replace(sheet, data=[])
    check_shape(sheet, "known-deviations")
    return sheet


def deviation_entries(file: Path, sheet: Sheet | None = None) -> Iterator[Mapping[str, Any]]:
    """Yield a file's entries; missing fields are taken from the file that `same_as` names.

    Errors: `specs.SpecError` with file and line if the `same_as` file has no entry for the rule.
    """
    sheet = sheet or _read_file(file)
    for index, entry in enumerate(sheet.data):
        if SAME_AS not in entry:
            yield entry
            continue
        other = _read_file(file.parent / entry[SAME_AS]).data
        source = next((one for one in other if one["rule"] == entry["rule"]), None)
        if source is None or SAME_AS in source:
            problem = f"{entry[SAME_AS]} has no entry for {entry['rule']}"
            raise sheet.error((index, SAME_AS), problem)
        yield {name: value for name, value in (source | entry).items() if name != SAME_AS}


SAME_AS = "same_as"
"""Field that names another file, whose entry for the same rule supplies the missing fields."""


def _check_readings(sheet: Sheet, place: int) -> None:
    """Check that an entry's readings and their values exist. Errors: `specs.SpecError`."""
    for name, value in sheet.data[place].get("readings", {}).items():
        try:
            specs.load().check_readings({name: value})
        except specs.UnknownName as error:
            raise sheet.error((place, "readings", name), str(error)) from None


def deviations_of_other_versions(listed: Sequence[Deviation], *names: str) -> list[Deviation]:
    """Return the entries for other versions of an implementation, closest version first.

    The list is empty if some entry names this implementation itself. The entries for a whole
    release are also entries for a strategy of Pulsar's own that is judged alone.
    """
    if any(one.implementation in names for one in listed):
        return []
    products = (*names, *(PULSAR for one in names if _runs_own_class(one)))
    found = [one for one in listed if one.product in products]
    numbers = next((_version_numbers(name) for name in names if name.partition(" ")[2]), [])

    def distance(deviation: Deviation) -> tuple[bool, list[int]]:
        others = _version_numbers(deviation.implementation or "")
        newer = others > numbers
        return newer, others if newer else [-number for number in others]

    return sorted(found, key=distance)


def _runs_own_class(adapter: str) -> bool:
    """True if an adapter's name selects one of Pulsar's own strategies, in a release."""
    named = re.match(rf"{PULSAR}:.*,strategy=([\w.]+)", adapter)
    return named is not None and any(
        named[1] in (short, full)
        for classes in OWN_CLASSES.values()
        for short, full in classes.items()
    )


def _version_numbers(name: str) -> list[int]:
    version = name.rpartition(" ")[2].partition("-")[0]
    return [int(number) for number in re.findall(r"\d+", version)]


MAX_OTHERS = 3
"""Maximum number of implementations that were not judged and are listed by name."""


def notes_on_unjudged(
    listed: Sequence[Deviation], judged: Mapping[tuple[str, ...], Mapping[str, bool]]
) -> Iterator[str]:
    """Yield messages about entries whose implementation was not judged.

    Args: listed: all entries of the known-deviations files. judged: maps the names of each
    implementation, its own name first, to the rules that judged it; the value of a rule is true if
    a known deviation from that rule was found.
    """
    named = {name for names in judged for name in names}
    for names, rules in judged.items():
        if kindred := deviations_of_other_versions(listed, *names):
            named |= {one.implementation or "" for one in kindred}
            shows = {one.rule: rules[one.rule] for one in kindred if one.rule in rules}
            if not shows:
                continue
            release = names[0].rpartition(" ")[2]
            absent = [rule for rule, known in shows.items() if not known]
            but = f", but not {', '.join(absent)}" if absent else ""
            shown = counted(len(shows) - len(absent), "known deviation")
            whole = all(one.implementation == f"{PULSAR} {release}" for one in kindred)
            listed_for = f"{PULSAR} {release}" if whole else "other versions"
            yield f"{names[0]} shows {shown} listed for {listed_for}{but}"
    others = Counter(one.implementation for one in listed if one.implementation is not None)
    left = {name: count for name, count in others.items() if name not in named}
    if len(left) > MAX_OTHERS:
        total = counted(sum(left.values()), "known deviation")
        yield f"{total} concern {len(left)} implementations that were not judged"
        return
    for name, count in left.items():
        verb = "concerns" if count == 1 else "concern"
        yield f"{counted(count, 'known deviation')} {verb} {name}, which was not judged"


def _case_paths(sheet: Sheet, place: int, file: Path, entry: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the paths of an entry's cases, which are relative to the file or a folder above it.

    Errors: `specs.SpecError`.
    """
    for number, name in enumerate(entry.get("cases", ())):
        near = (folder / name for folder in file.absolute().parents)
        found = next(filter(Path.is_file, near), None)
        if found is None:
            problem = f"there is no case {name} next to this file, nor in a folder above it"
            raise sheet.error((place, "cases", number), problem)
        try:
            saved.load_saved(found)
        except saved.BadCase as error:
            raise sheet.error((place, "cases", number), str(error)) from None
        yield found


def _build_deviation(entry: Mapping[str, Any], cases: Sequence[Path]) -> Deviation:
    return Deviation(
        entry["rule"],
        entry["reason"],
        entry["link"],
        entry.get("implementation"),
        tuple(Place(one["path"], one["method"]) for one in entry.get("source", ())),
        tuple(cases),
        entry.get("answers", ""),
        entry.get("readings", {}),
        entry.get("proposed", ""),
    )


def _error_at_rule(sheet: Sheet, place: int, problem: str) -> specs.SpecError:
    return sheet.error((place, "rule"), problem)


def _is_listed(listed: Sequence[Deviation], new: Deviation) -> bool:
    return any((old.rule, old.implementation) == (new.rule, new.implementation) for old in listed)


def deviation_profile(rule: str, version: str) -> str:
    """Return the profile by which a version of Pulsar breaks a rule: its documents, if they state
    the rule, otherwise `UNWRITTEN`.
    """
    documents = profile_of_version([f"pulsar:{version}"])
    stated = any(one.id == rule for one in specs.load().rules_of(documents))
    return documents if stated else UNWRITTEN


def explain_command(case: str, profile: str, readings: Mapping[str, str]) -> str:
    """Return the command that explains a case by a profile and readings."""
    words = ["pulsar-conformance", "explain", case, "--judge-by", profile]
    for name, value in readings.items():
        words += ["--reading", f"{name}={value}"]
    return shlex.join(words)


def known_failure_lines(trial: Trial, followed: str, *, named: bool) -> Iterator[str]:
    """Yield lines about the rules that a deviation's case breaks by profiles other than `followed`.

    For each of these profiles, a line has the command that explains the case. Nothing is yielded
    for other cases. If the case's file names the profile `followed` (`named` is true), nothing is
    yielded either for a case that is a known failure by that profile.
    """
    case = Path("fixtures", *saved.case_file_path(trial).parts[-3:]).as_posix()
    if not fixtures.bundled_path(case).is_file():
        return
    found: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for entry in (one for file in sorted(LISTS.glob("*.yaml")) for one in deviation_entries(file)):
        if case in entry.get("cases", ()):
            rule, name = entry["rule"], entry["implementation"]
            profile = deviation_profile(rule, name.rpartition(" ")[2])
            command = explain_command(case, profile, entry.get("readings", {}))
            found.setdefault(profile, {}).setdefault(command, []).append((rule, name))
    own = found.pop(followed, {})
    if not found or (own and named):
        return
    yield "  this case is a known failure by other profiles; to explain it by one of them:"
    for profile, commands in found.items():
        for command, broken in commands.items():
            rules, names = ([*dict.fromkeys(one)] for one in zip(*broken, strict=True))
            yield from paragraph(f"{', '.join(rules)} by {profile} ({_names_text(names)})", 2)
            yield f"    {command}"


def _names_text(names: Sequence[str]) -> str:
    """Return the names of implementations, or the first name and the number of other names."""
    if len(names) <= MAX_NAMES:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1} others"
