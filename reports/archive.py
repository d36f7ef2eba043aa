"""An archive of cases with their allowed answers, for tests in any language: `nox -s fixtures`."""

import argparse
import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pulsar_conformance.conformance.cases.legality import example_allows, trial_flaw
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.evaluate import Evidence, RuleEvaluator
from pulsar_conformance.fixtures import Answer, Example, examples
from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.specs import Source, load, operations, schema
from pulsar_conformance.specs.errors import status_of

OUTPUT = Path("reports/out/fixtures")
PACKAGE = "pulsar-conformance"
FORMAT = 1
SHARED = ("message", "shapes")
READ_ME = """\
Worked examples of Apache Pulsar's documented load balancing: questions, and every answer that the
rules of the example allow; another rule may forbid some of them. index.json lists the examples. It
also lists the profiles, readings, operations and shedding strategies, and the alternatives of each
reading that a profile permits. Each example is in cases/OPERATION/ID.json:

  id, title, rules   what the example is about; rules.json has the statements of the rules and their
                     sources, each with the profiles that cite it
  readings           the alternatives that the example assumes; it assumes nothing else
  profiles           profiles for which the example is valid: each has one of its rules, and the
                     model's answer with the profile's default settings is allowed
  questions          to be asked in this order, each {"ask": OPERATION, "case": {...}}
  allowed            a list of alternatives, each with one answer per question;
                     null if only a rule can judge the answer
  judged_by_rules    if "allowed" is null: the reason
  refuted            if "allowed" is null: some answers, in the same form, that break a rule of the
                     example under all its profiles, whatever other readings hold; the list is not
                     complete

schemas/ has the JSON Schemas of cases and answers. An answer is also right if it differs from an
alternative only in the order of unordered lists, or in the field "why".
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Write the archive and its checksum. Return 0, or 2 on failure."""
    to = _arguments(argv).to
    return status_of(lambda: _write(to), OSError)


def _write(to: Path) -> int:
    name = f"{PACKAGE}-fixtures-{version(PACKAGE)}"
    to.mkdir(parents=True, exist_ok=True)
    file = to / f"{name}.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for path, text in archive_entries():
            _add_file(archive, f"{name}/{path}", text.encode())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    file.with_suffix(".gz.sha256").write_text(f"{digest}  {file.name}\n", "utf-8")
    print(f"{len(examples())} cases in {file}")
    return 0


def archive_entries() -> Iterator[tuple[str, str]]:
    """Yield the path and text of each file in the archive."""
    index = [_entry(one) for one in examples()]
    about = {"format": FORMAT, "version": version(PACKAGE), "cases": index, **_known_names()}
    yield "README.txt", READ_ME
    yield "index.json", _text(about)
    yield "rules.json", _text(dict(_rules()))
    for one in examples():
        yield _path(one), _text(_case(one))
    for name in (*SHARED, *(f"operations/{one}" for one in operations())):
        yield f"schemas/{name}.json", _text(schema(name))


def _known_names() -> Mapping[str, Any]:
    """Return the names that users of the archive choose from, such as profiles and operations."""
    known = load()
    asked = (question for one in examples() for question in one.questions)
    strategies = {
        case["strategy"].rpartition(".")[2]
        for operation, case in asked
        if operation.startswith("shed.") and case.get("strategy")
    }
    return {
        "profiles": list(known.profiles),
        "readings": {name: list(one.values) for name, one in known.readings.items()},
        "permitted": {
            profile: {name: list(permitted_values(profile, name)) for name in known.readings}
            for profile in known.profiles
        },
        "operations": list(operations()),
        "strategies": sorted(strategies),
    }


def permitted_values(profile: str, reading: str) -> tuple[str, ...]:
    """Return the values of a reading that can be chosen under a profile."""
    known = load()
    if known.profile(profile).kind == "documented":
        return known.open_values(profile, reading)
    return known.readings[reading].values


def holds_example(example: Example, profile: str) -> bool:
    """True if a profile judges a rule of the example and its model gives an allowed answer.

    A release's profile judges only rules that name the profile. Its defaults and readings apply
    unless the example gives others. False if the profile does not permit a reading of the example.
    """
    known = load()
    judged = {rule.id for rule in known.rules_of(profile)}
    if known.profile(profile).released:
        judged = {name for name in judged if profile in known.rules[name].profiles}
    if judged.isdisjoint(example.rules) or not example.holds_in(known, profile):
        return False
    if any(
        value not in permitted_values(profile, name) for name, value in example.readings.items()
    ):
        return False
    model = Model(profile, example.readings)
    trial = Trial.asking(example.questions)
    if trial_flaw(trial, model.defaults, model.readings) is not None:
        return False
    try:
        answers = [model.answer(*question) for question in example.questions]
    except MissingSetting:
        return False
    return example.required_answers is None or example_allows(example, answers)


def _path(example: Example) -> str:
    return f"cases/{example.questions[0][0]}/{example.id}.json"


def _entry(example: Example) -> Mapping[str, Any]:
    return {
        "id": example.id,
        "file": _path(example),
        "operations": list(dict.fromkeys(operation for operation, _ in example.questions)),
        "rules": list(example.rules),
        "judged": example.required_answers is not None,
    }


def _case(example: Example) -> Mapping[str, Any]:
    profiles = [one for one in load().profiles if holds_example(example, one)]
    return {
        "id": example.id,
        "title": example.title,
        "rules": list(example.rules),
        "readings": dict(example.readings),
        "profiles": profiles,
        "questions": [{"ask": operation, "case": case} for operation, case in example.questions],
        "allowed": None
        if example.required_answers is None
        else [list(one) for one in example.required_answers],
        **_judged_by_rules(example, profiles),
        "arithmetic": list(example.arithmetic),
    }


def _judged_by_rules(example: Example, profiles: Sequence[str]) -> Mapping[str, Any]:
    """Return why only rules judge an example, and answers that break one of its rules."""
    if example.required_answers is not None:
        return {}
    refuted = [[one] for one in refuted_answers(example, profiles)]
    return {"judged_by_rules": example.judged_by_rules, "refuted": refuted}


def refuted_answers(example: Example, profiles: Sequence[str]) -> list[Answer]:
    """Return the simple answers that break a rule of an example under each of these profiles.

    They break the rule whatever the other readings are.
    """
    return [
        one
        for one in _simple_answers(example)
        if profiles and all(_breaks_a_rule(example, one, profile) for profile in profiles)
    ]


def _simple_answers(example: Example) -> Iterator[Answer]:
    """Yield simple answers to an example with one cycle of shedding.

    They unload nothing, one bundle, all bundles of a broker, or all bundles.
    """
    [(operation, case), *others] = example.questions
    if others or not operation.startswith("shed.") or "brokers" not in case:
        return
    owned = [
        [{"broker": name, "bundle": one} for one in broker.get("bundles", ())]
        for name, broker in case["brokers"].items()
    ]
    every = [one for bundles in owned for one in bundles]
    found = [[], *([one] for one in every), *(one for one in owned if len(one) > 1), every]
    yield from ({"unload": one} for one in found)


def _breaks_a_rule(example: Example, answer: Answer, profile: str) -> bool:
    known = load()
    model = Model(profile, example.readings)
    judged = [one for one in known.rules_of(profile) if one.id in example.rules]
    evaluator = RuleEvaluator(model.defaults, model.readings)
    evidence = Evidence(evaluator, judged, Trial.asking(example.questions), [answer])
    open_values = {name: permitted_values(profile, name) for name in known.readings}
    return not evidence.allows(
        open_values | {name: [one] for name, one in example.readings.items()}
    )


def _rules() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for rule in load().rules.values():
        sources = [
            {
                "document": one.document,
                "section": one.section,
                "sentences": list(one.sentences),
                "profiles": list(_profiles_citing(one)),
            }
            for one in rule.sources
        ]
        about = {"title": rule.title, "level": rule.level, "statement": rule.statement}
        yield rule.id, {**about, "sources": sources}


def _profiles_citing(source: Source) -> Iterator[str]:
    """Yield the profiles that cite a source directly, not as a copy in another document."""
    known = load()
    if known.documents[source.document].copy_of is None:
        yield from (profile for profile in known.profiles if known.has_source(profile, source))


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _add_file(archive: tarfile.TarFile, path: str, content: bytes) -> None:
    """Add a file with a fixed time and user, so that equal content gives equal archives."""
    entry = tarfile.TarInfo(path)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fixtures", description=__doc__)
    parser.add_argument(
        "--to",
        type=Path,
        default=OUTPUT,
        metavar="DIR",
        help="the folder for the archive (%(default)s)",
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
