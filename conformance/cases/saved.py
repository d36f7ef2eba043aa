"""Reads and writes case files: failing cases that a run saved, and cases provided by users."""

from __future__ import annotations

import io
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import STANDARD_INPUT
from pulsar_conformance.conformance.cases.legality import missing_setting, trial_flaw
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common import WORKSPACE
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.reference import Derivation, MissingSetting, Model
from pulsar_conformance.specs.errors import UserError, hint_at_file, why_unreadable
from pulsar_conformance.specs.model import EARLIER, FIELDS_OF_SAVED_CASES

if TYPE_CHECKING:
    from pulsar_conformance.specs.judged import JudgedVersion

FOLDER = WORKSPACE / "cases"
FINGERPRINT_DIGITS = 12
"""Number of hexadecimal digits of the fingerprint in a file's name."""


class BadCase(UserError):
    """Raised for an unusable case file; the message gives the file and the reason."""


class SavedTrial(NamedTuple):
    """A trial from a case file, with the violated rule and the profile if the file names them."""

    trial: Trial
    rule: str | None
    profile: str | None = None
    excluded: Mapping[str, list[str]] | None = None
    """By adapter: the alternatives, as `name=value`, that its answers had excluded."""
    readings: Mapping[str, str] | None = None
    """The alternative of each reading by which the answers were judged."""


@dataclass(frozen=True)
class SearchResult:
    """The results of a campaign for one rule; a campaign is completed before the run starts."""

    drawn: int = 0
    """Number of cases asked, not counting `faults`."""
    reached: int = 0
    """Number of cases to which the rule applied, not counting `faults`."""
    faults: tuple[Trial, ...] = ()
    """Some of the cases that violate the rule; the run asks them again."""


NOT_SEARCHED = SearchResult()


@dataclass(frozen=True)
class Campaign:
    """The results of a campaign; the run bases its verdicts on them."""

    about: Mapping[str, Any]
    """Description of the campaign for the verdict stream's first line."""
    found: Mapping[tuple[str, str, str], SearchResult]
    """Results by adapter, profile and rule."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Campaign:
        """Parse a campaign from the result of `as_json`."""
        found = {
            (one["adapter"], one["profile"], one["rule"]): SearchResult(
                one["drawn"],
                one["reached"],
                tuple(trial for each in one["faults"] if (trial := trial_of(each))),
            )
            for one in data["found"]
        }
        return cls(data["about"], found)

    def as_json(self) -> dict[str, Any]:
        """Return the campaign as JSON data."""
        found = [
            {
                **dict(zip(("adapter", "profile", "rule"), key, strict=True)),
                "drawn": one.drawn,
                "reached": one.reached,
                "faults": [case_content(trial) for trial in one.faults],
            }
            for key, one in self.found.items()
        ]
        return {"about": dict(self.about), "found": found}


def load_campaign(file: Path) -> Campaign:
    """Read the results of a campaign."""
    return Campaign.from_json(json.loads(file.read_bytes()))


def case_file_path(trial: Trial) -> Path:
    """Return the path for a trial's file: operation as folder, fingerprint as file name."""
    return FOLDER / trial.operation / f"{trial.fingerprint[:FINGERPRINT_DIGITS]}.json"


def save(trial: Trial, root: Path, about: Mapping[str, Any]) -> Path:
    """Save a failing trial atomically, with some of `FIELDS_OF_SAVED_CASES`; return the relative
    path.
    """
    assert set(about) <= {*FIELDS_OF_SAVED_CASES}, sorted(about)
    relative = case_file_path(trial)
    target = root / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}.partial")
    text = json.dumps({**case_content(trial), **about}, indent=1, ensure_ascii=False) + "\n"
    partial.write_bytes(text.encode("utf-8", "backslashreplace"))
    partial.replace(target)
    return relative


def case_content(trial: Trial) -> dict[str, Any]:
    """Return a trial in the format of a case file; the inverse of `trial_of`."""
    lines = trial.as_json()
    content = lines[0] if len(lines) == 1 else {"trial": lines}
    before = Trial(trial.before).as_json()
    return {EARLIER: before, **content} if before else content


def load_saved(file: Path, defaults: Mapping[str, Any] | None = None) -> SavedTrial:
    """Read a case file: `{"ask", "case"}`, or `{"trial": [...]}` for several questions.

    If the file has `"after": [...]`, the implementation is first restarted and asked the questions
    in this list. Errors: `BadCase`; if a profile's `defaults` are given, also for an invalid case.
    """
    content = _read_bytes(file, str(file))
    (number, data), *others = _values_in(str(file), content)
    if others:
        where = f", the second on line {others[0][0]}" if others[0][0] > number else ""
        raise BadCase(
            f"{file}: it has {len(others) + 1} cases{where}; give one, or a trial with all of them"
        )
    trial = trial_of(data)
    if trial is None:
        raise BadCase(f"{file}: {_why_no_trial(data)}{hint_at_file(content)}")
    problem = None if defaults is None else trial_flaw(trial, defaults)
    if problem:
        raise BadCase(f"{file}: {problem}")
    fields = (data.get(name) for name in ("rule", "profile", "excluded", "readings"))
    return SavedTrial(trial, *fields)


def _values_in(name: str, content: bytes, otherwise: str = "") -> list[tuple[int, Any]]:
    """Return the cases in a file, each with the number of the line on which it begins.

    Errors: `BadCase` if there is no case, with a hint about the file's format or, if the format is
    unknown, with the hint `otherwise`.
    """
    from pulsar_conformance.adapters.questions import BadLine, json_values

    found: list[tuple[int, Any]] = []
    for one in json_values(io.BytesIO(content)):
        if isinstance(one, BadLine) and found:
            raise BadCase(f"{name}, line {one.number}: {one.problem}")
        if isinstance(one, BadLine):
            raise BadCase(f"{name}: {one.problem}{hint_at_file(content, otherwise)}")
        number, value = one
        each = value if isinstance(value, list) and value else [value]
        found += ((number, part) for part in each)
    if not found:
        raise BadCase(f"{name}: it isn't JSON{hint_at_file(content, otherwise)}")
    return found


def trial_of(data: Any) -> Trial | None:
    """Return the trial in a case file's content; None if the content has another form."""
    lines = data.get("trial", [data]) if isinstance(data, dict) else None
    before = data.get(EARLIER, []) if isinstance(data, dict) else None
    if not isinstance(lines, list) or not lines or not isinstance(before, list):
        return None
    for line in (*before, *lines):
        if not isinstance(line, dict) or not isinstance(line.get("ask"), str) or "case" not in line:
            return None
    return Trial.from_json(lines).after(Trial.from_json(before).questions)


def _why_no_trial(data: Any) -> str:
    from pulsar_conformance.specs.questions import FORM, why_no_question

    return why_no_question(data) or f"it is not of the form {FORM}"


def load_earlier_cases(root: Path) -> list[SavedTrial]:
    """Return all cases that earlier runs saved below `root`, sorted by path.

    Errors: `BadCase` if a file is damaged, or if a path that must be a folder is a file.
    """
    folder = root / FOLDER
    for place in (folder.parent, folder, *(folder / name for name in OPERATIONS)):
        if place.exists() and not place.is_dir():
            raise BadCase(
                f"{place}: it is a file, but failing cases are saved in a folder of that "
                "name; move it away"
            )
    return [load_saved(file) for file in sorted((root / FOLDER).glob("*/*.json"))]


@dataclass(frozen=True)
class ProvidedQuestions:
    """Questions from a user, asked together, with the file's profile and readings, if any."""

    place: str
    """The file; if it has several questions, also the line and the question's number in it."""
    trial: Trial
    profile: str | None = None
    readings: Mapping[str, str] = field(default_factory=dict)
    ways: Mapping[str, str] = field(default_factory=dict)
    """Alternatives, by way (`specs/ways.yaml`), in which the version differs from `profile`."""
    settings: str = ""
    """The file with the settings; empty if they are in the file with the questions."""
    version: str = ""
    """The Pulsar version that the questions are about; empty if it is the profile's release."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """The IDs of the case's brokers, by their names in the case."""


ZNODES_HINT = (
    "save the output of ZooKeeper's shell for each broker in a separate file, BROKER.json, and "
    "give the folder"
)
FORMS_HINT = "give a case, a log of the load balancer or a folder of load reports"


def read_questions_of_user(file: str) -> list[ProvidedQuestions]:
    """Read questions from a file, or from standard input if `file` is "-".

    The input is one or more JSON values, on any number of lines. Each value is `{"ask", "case"}`,
    `{"trial": [...]}` or a list of these. Cases are not validated.

    Errors: `BadCase`.
    """
    name = "standard input" if file == STANDARD_INPUT else file
    text = sys.stdin.buffer.read() if file == STANDARD_INPUT else _read_bytes(Path(file), name)
    otherwise = ZNODES_HINT if b"/loadbalance/brokers/" in text else FORMS_HINT
    found = _values_in(name, text, otherwise)
    if len(found) == 1:
        return [_provided_questions(name, found[0][1], text)]
    in_line = Counter(number for number, _ in found)
    passed: Counter[int] = Counter()
    asked: list[ProvidedQuestions] = []
    for number, value in found:
        passed[number] += 1
        which = f", question {passed[number]}" if in_line[number] > 1 else ""
        place = f"{name}, line {number}{which}"
        asked.append(_provided_questions(place, value, b"" if asked else text))
    return asked


def _read_bytes(file: Path, name: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadCase(f"{name}: {why_unreadable(error, file)}") from None


def _provided_questions(place: str, data: Any, whole: bytes) -> ProvidedQuestions:
    """Return the questions in a JSON value. Errors: `BadCase`, with a hint based on `whole`."""
    trial = trial_of(data)
    if trial is None:
        hint = hint_at_file(whole, FORMS_HINT) if whole else ""
        raise BadCase(f"{place}: {_why_no_trial(data)}{hint}")
    profile, readings = data.get("profile"), data.get("readings")
    return ProvidedQuestions(
        place,
        trial,
        profile if isinstance(profile, str) else None,
        readings if isinstance(readings, dict) else {},
        _parse_ways(place, data.get("ways", {})),
    )


def _parse_ways(place: str, chosen: Any) -> Mapping[str, str]:
    """Return the alternative that a case file chooses for each way it names. Errors: `BadCase`."""
    known = specs.load().ways
    if isinstance(chosen, dict):
        found = ((known.get(name), taken) for name, taken in chosen.items())
        if all(way is not None and taken in way.alternatives for way, taken in found):
            return chosen
    raise BadCase(f"{place}: `ways` has an unknown way or alternative; leave `ways` out")


def adapted_to_version(
    provided: ProvidedQuestions, version: str
) -> tuple[ProvidedQuestions, tuple[str, ...]]:
    """Return questions adapted to a Pulsar version, and notes on how it differs from its profile.

    Errors: `BadCase` if no profile describes the version's shedding strategy, `specs.UnknownName`
    if `version` is not a version.
    """
    from pulsar_conformance.conformance.cases.setting_types import takes_settings
    from pulsar_conformance.specs.broker import broker_settings
    from pulsar_conformance.specs.judged import (
        STRATEGY,
        caveat_text,
        default_in_version,
        judged_version,
        nearest_profile,
        version_of_released,
        way_clause,
    )

    profile, judged = nearest_profile(version), judged_version(version)
    notes = [*filter(None, [caveat_text(version)]), f"Pulsar {version} is explained by {profile}"]
    if judged is None:
        asked = replace(provided, profile=profile, readings={}, ways={}, version=version)
        return asked, tuple(notes)
    questions, told = [], [way_clause(*one) for one in judged.ways.items()]
    for operation, case in provided.trial.questions:
        if takes_settings(operation) and isinstance(case, dict):
            settings = case.get("settings") or {}
            named = case.get("strategy") or settings.get(STRATEGY)
            named = named or default_in_version(broker_settings()[STRATEGY], version)
            strategy = str(named).rpartition(".")[2]
            if operation.startswith("shed.") and (why := judged.why_unlike(strategy)):
                raise BadCase(
                    f"{provided.place}: no profile describes {strategy} of Pulsar {version}: "
                    f"{why}; for the decision of Pulsar {version_of_released(profile)} instead, "
                    f"replace --release {version} with --judge-by {profile}"
                )
            chosen = {STRATEGY: case["strategy"]} if case.get("strategy") else {}
            told = [*judged.differences({**settings, **chosen})]
            case = _case_with_strategy_of(
                {**case, "settings": judged.completed_settings(settings)}, judged
            )
        questions.append(Question(operation, case))
    trial = Trial(tuple(questions), provided.trial.before)
    notes += (f"Pulsar {version} differs from {profile}: {one}" for one in told)
    asked = replace(provided, trial=trial, profile=profile, readings={}, ways=judged.ways)
    return replace(asked, version=version), tuple(notes)


def with_strategy_of_version(trial: Trial, version: str) -> Trial:
    """Return a trial with OverloadShedder in place of a strategy that a version lacks."""
    from pulsar_conformance.specs.judged import judged_version

    judged = judged_version(version) if version else None
    if judged is None:
        return trial
    questions = (
        Question(one, _case_with_strategy_of(case, judged)) for one, case in trial.questions
    )
    return Trial(tuple(questions), trial.before)


def _case_with_strategy_of(case: Any, judged: JudgedVersion) -> Any:
    """Return a case with OverloadShedder in place of a strategy that a version lacks."""
    from pulsar_conformance.specs.judged import OVERLOAD, STRATEGY

    if not isinstance(case, dict):
        return case
    if case.get("strategy") and judged.strategy_instead({STRATEGY: case["strategy"]}):
        case = {**case, "strategy": OVERLOAD}
    settings = case.get("settings")
    instead = judged.strategy_instead(settings) if isinstance(settings, dict) else {}
    return {**case, "settings": {**settings, **instead}} if instead else case


def derivations_for(place: str, trial: Trial, model: Model, settings: str = "") -> list[Derivation]:
    """Return the derivation of the model's answer to each question, in the order of the questions.

    Errors: `BadCase` if a case is invalid or lacks a setting. The message starts with `place`; if
    the settings are invalid, it starts with `settings`, the name of the file with the settings.
    """
    missing = missing_setting(trial, model.defaults)
    problem = trial_flaw(trial, model.defaults)
    if problem and not missing:
        of_settings = settings and problem.startswith("case.settings")
        raise BadCase(f"{settings if of_settings else place}: {problem}")
    if not missing:
        try:
            return [model.derive(*question) for question in trial.questions]
        except MissingSetting as under_these_readings:
            missing = under_these_readings.name
    raise BadCase(f"{place}: {_how_to_set(missing, trial.operation, model.profile)}")


def _how_to_set(setting: str, operation: str, profile: str) -> str:
    """Return the message about a missing setting, with ways to provide it."""
    bundled = specs.load()
    line = profile.partition("-")[2]
    of_documents = [f"documented-{line}", *reversed([*bundled.profiles])]
    for name in of_documents if bundled.profile(profile).released else ():
        if name in bundled.profiles and setting in bundled.defaults(name):
            told = f"{profile} does not describe {setting}, which {operation} needs here"
            return f"{told}; add --judge-by {name}, or send the case to pulsar:VERSION with ask"
    needs = f"{operation} needs {setting}, which has no documented default"
    return f"{needs}; give --setting {setting}=VALUE"
