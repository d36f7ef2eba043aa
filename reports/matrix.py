"""The page that shows which rules each release of Pulsar breaks.

`python -m pulsar_conformance.reports.matrix` writes it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_lowercase

from pulsar_conformance.reports.runs.requirements import frozen_requirements
from pulsar_conformance.reports.site.results import version_numbers
from pulsar_conformance.specs import load
from pulsar_conformance.specs.lines import read_sheet

PUBLISHED = Path("reports", "published")
PAGE = PUBLISHED / "README.md"
DEVIATIONS_FOLDER = Path("fixtures", "deviations")
DEVIATIONS = f"../../{DEVIATIONS_FOLDER.as_posix()}"

BROKEN = "known_deviation"
WORDS = {"pass": "kept", "not_applicable": "-", "unexercised": "not reached"}
"""Words for some verdicts in the table; `-` also marks rules that a release's documents lack."""

INTRODUCTION = """# Which rules each release breaks

Each release of Pulsar is judged by the documents of its line. "breaks" links to the known
deviations of the release, which give the place in Pulsar's source and the smallest case. A rule
marked `-` is not in these documents, or does not apply. Rules of a release that fail for the same
reason have the same letter; the reason is below the table. An answer may agree with the title of
such a rule, and break the rule only for that reason. `pulsar-conformance rule ID` prints a rule.
The reports contain every verdict, and `pulsar-conformance report summary FILE` summarizes a report.
Reports named `cluster-*` are about running clusters. The folder `others` is about releases without
a list of deviations; the guide to released Pulsar explains each of their failures. A run also
judges the cases that earlier runs saved and, if its release has no list of deviations, the cases in
the lists of other releases, since a case on which one implementation fails may reveal a fault of
another.

`python -m pulsar_conformance.reports.matrix` writes this page, and a test fails when it is stale.

"""

REPORTS_TEXT = """A report names the version of the requirement set by which it judges, and stays
valid for it. If a newer set is named here, the rules have changed since: `specs/requirements` has
the changes of each version, and the command judges by the newest."""
"""Text above the table of reports."""


def verdicts_by_release() -> dict[str, dict[str, str]]:
    """Return the verdict on each rule, by release, the oldest release first."""
    found = {}
    for file in PUBLISHED.glob("pulsar-*.json"):
        release = file.name.removeprefix("pulsar-").rpartition("-documented-")[0]
        lines = json.loads(file.read_text("utf-8"))["verdicts"]
        found[release] = {line["rule"]: line["verdict"] for line in lines}
    return {release: found[release] for release in sorted(found, key=version_numbers)}


def reasons_by_release(
    verdicts: Mapping[str, Mapping[str, str]],
) -> dict[str, dict[str, str]]:
    """Return the reason for each broken rule, by release. Errors: `SpecError`."""
    lists = {
        release: read_sheet(DEVIATIONS_FOLDER, f"pulsar-{release}.yaml").data
        for release in verdicts
    }
    return {
        release: {
            one["rule"]: " ".join(one["reason"].split())
            for one in listed
            if verdicts[release].get(one["rule"]) == BROKEN
        }
        for release, listed in lists.items()
    }


def _shared_reasons(reasons: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the reasons why a release breaks several rules, each with the broken rules."""
    found: dict[str, list[str]] = {}
    for of_release in reasons.values():
        rules: dict[str, list[str]] = defaultdict(list)
        for rule, reason in of_release.items():
            rules[reason].append(rule)
        for reason, some in rules.items():
            if len(some) > 1:
                found[reason] = list(dict.fromkeys((*found.get(reason, ()), *some)))
    return found


def release_matrix() -> str:
    """Return the page: a table of broken rules, a list of the rules that no release breaks, and a
    table of the reports.
    """
    lines = (*_lines(verdicts_by_release()), *published_report_lines(PUBLISHED))
    return INTRODUCTION + "".join(f"{line}\n" for line in lines)


def published_report_lines(folder: Path) -> Iterator[str]:
    """Yield a section that says by which requirement set each report of a folder judges, whether
    that is the newest set of its profile, and how the report is recreated.
    """
    yield from ("", "## The reports", "", REPORTS_TEXT, "")
    yield "| report | judged by | the newest set | recreated by |"
    yield "| --- | --- | --- | --- |"
    files = (*folder.glob("*.json"), *folder.glob("others/*.json"))
    for file in sorted(files, key=lambda one: (len(one.parts), one.name)):
        name = file.relative_to(folder).as_posix()
        report = json.loads(file.read_text("utf-8"))
        profile, version = (report["requirements"][one] for one in ("profile", "version"))
        newest = max(one.version or 0 for one in frozen_requirements(profile))
        about = "the same" if version == newest else f"{profile}-{newest}"
        chosen = report["implementation"]["adapter"].removeprefix("pulsar:")
        command = f"`nox -s publish -- {chosen}`"
        yield f"| [{name}]({name}) | {profile}-{version} | {about} | {command} |"


def _lines(verdicts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    reasons = reasons_by_release(verdicts)
    shared = _shared_reasons(reasons)
    letters = dict(zip(shared, ascii_lowercase, strict=False))
    marks = {reason: f" {letters[reason]}" for reason in shared}
    broken = [
        one for one in load().rules if BROKEN in {each.get(one) for each in verdicts.values()}
    ]
    yield f"| rule | {' | '.join(verdicts)} |"
    yield f"| --- |{' --- |' * len(verdicts)}"
    for rule in broken:
        cells = (
            _cell(each.get(rule), release) + marks.get(reasons[release].get(rule, ""), "")
            for release, each in verdicts.items()
        )
        yield f"| `{rule}` {load().rules[rule].title} | {' | '.join(cells)} |"
    counts = (list(each.values()).count(BROKEN) for each in verdicts.values())
    yield f"| broken rules | {' | '.join(map(str, counts))} |"
    different = (len({*each.values()}) for each in reasons.values())
    yield f"| different reasons for them | {' | '.join(map(str, different))} |"
    judged = (sum(one in (BROKEN, "pass") for one in each.values()) for each in verdicts.values())
    yield f"| rules that apply | {' | '.join(map(str, judged))} |"
    kept = [
        one
        for one in load().rules
        if one not in broken and "pass" in {each.get(one) for each in verdicts.values()}
    ]
    yield from ("", "The reasons for which a release breaks several rules:", "")
    for reason, rules in shared.items():
        yield f"- <b>{letters[reason]}</b>: {', '.join(rules)}: {reason}"
    yield ""
    yield f"No release breaks any of the other {len(kept)} rules that apply: {', '.join(kept)}."
    yield ""
    yield from (f"[{release}]: {DEVIATIONS}/pulsar-{release}.yaml" for release in verdicts)


def _cell(verdict: str | None, release: str) -> str:
    if verdict == BROKEN:
        return f"[breaks][{release}]"
    return WORDS.get(verdict or "not_applicable", verdict or "")


def main() -> None:
    """Write the page to its file."""
    PAGE.write_text(release_matrix(), "utf-8", newline="\n")


if __name__ == "__main__":
    main()
