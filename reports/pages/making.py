"""The pages of worked examples, built from fixtures, rules and the model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from jinja2 import Environment, PackageLoader, StrictUndefined
from pulsar_conformance.fixtures import Answer, Case, Example, examples
from pulsar_conformance.reference import Step, fold_steps
from pulsar_conformance.reference.channel import with_numbered_changes
from pulsar_conformance.reports.pages.answers import LINE, format_answers
from pulsar_conformance.reports.pages.cells import TITLES as FIELD_TITLES
from pulsar_conformance.reports.pages.origins import (
    allowing_sections,
    assumed_readings,
    origin_sentences,
)
from pulsar_conformance.reports.pages.outcomes import DerivedExample, ReadingOutcome
from pulsar_conformance.reports.pages.stories import LED, WRITTEN, event_differences, event_table
from pulsar_conformance.reports.pages.tables import Table, case_tables
from pulsar_conformance.specs import Rule, load, schema
from pulsar_conformance.specs.text import as_sentence

INDEX = "README.md"
TAG = re.compile(f"<(?!{LINE[1:]})")
RULE_ID = re.compile(r"\b[A-Z]+-\d\d\b")
STORY, CHANNEL = "cluster.replay", "channel.apply"

ABOUT: Mapping[str, Sequence[str]] = {"DATA": WRITTEN, "REPORT": WRITTEN, "MANAGER": LED}
"""For each area: fields of a story's steps that are shown only in examples of its rules."""

TIED = "a tie: the first by name goes, and another carries as much"

AVERAGE_FIELDS: Mapping[str, str] = {"short-term": "shortTermData", "long-term": "longTermData"}
"""A bundle's field with the average that shedding uses, by alternative of `shed-window`."""

TITLES: Mapping[str, str] = {
    "BUNDLE": "Namespaces, bundles and hashes",
    "SPLIT": "Splitting bundles",
    "USAGE": "Resource usage",
    "SHED": "Shedding, whatever the strategy",
    "OVERLOAD": "OverloadShedder",
    "THRESHOLD": "ThresholdShedder",
    "UNIFORM": "UniformLoadShedder",
    "AVERAGE": "AvgShedder",
    "TRANSFER": "TransferShedder",
    "CONFIG": "Settings and their defaults",
    "DATA": "Samples, windows and averages",
    "PLACE": "Placing bundles",
    "ANTI": "Anti-affinity groups",
    "ISOLATION": "Isolation policies",
    "PLANNED": "Planned destinations",
    "OWN": "Ownership, failover and unloading",
    "CHANNEL": "The channel of bundle states",
    "LOOP": "The long run",
    "MANAGER": "Load managers",
    "REPORT": "Load reports and the monitor's tables",
    "ANSWER": "Answers in general",
}
"""Subject of each area, used as the heading of its page."""


@dataclass(frozen=True)
class ShownExample:
    """A worked example in the form in which a page shows it."""

    worked: DerivedExample

    @property
    def example(self) -> Example:
        """The worked example."""
        return self.worked.example

    @cached_property
    def questions(self) -> list[tuple[str, list[Table], Table, int]]:
        """Each question: operation, case tables, derivation, number of consecutive repetitions."""
        found: list[tuple[str, list[Table], Table, int]] = []
        before: tuple[str, Case] | None = None
        for question, derived in zip(self.example.questions, self.worked.derivations, strict=True):
            if question == before:
                operation, numbers, steps, times = found.pop()
                found.append((operation, numbers, steps, times + 1))
            else:
                operation, case = question
                concerned = self._shown_steps(operation, derived.steps)
                tables = case_tables(case, defaults=load().defaults(self.worked.profile))
                numbers = [one for one in tables if not _lists_events(operation, one)]
                found.append(
                    (operation, numbers, derivation_table(tuple(fold_steps(concerned))), 1)
                )
            before = question
        return found

    def _shown_steps(self, operation: str, steps: Sequence[Step]) -> Sequence[Step]:
        """Return the steps of a derivation that are shown.

        For `settings.defaults`, these are only the steps on settings that the example's rules are
        about.
        """
        if operation != "settings.defaults":
            return steps
        rules = [load().rules[rule] for rule in self.example.rules]
        names = {name for rule in rules for name in rule.settings}
        return [step for step in steps if step.label in names]

    @property
    def operations(self) -> list[str]:
        """The operations of the example's questions."""
        return list(dict.fromkeys(operation for operation, _ in self.example.questions))

    @property
    def allowed(self) -> list[str]:
        """The allowed answers as texts."""
        return [format_answers(answers) for answers in self.example.allowed or ()]

    @property
    def released(self) -> list[tuple[str, str]]:
        """Each version with an answer that the documents do not allow, as text."""
        each = self.example.released.items()
        return [(version, format_answers(one.answers)) for version, one in each]

    @property
    def model_answer(self) -> str:
        """The model's answer as text."""
        return format_answers(self.worked.answers)

    @cached_property
    def other_rules(self) -> list[Rule]:
        """Rules that the case also exercises, besides those that the example names."""
        return list(self.worked.other_rules())

    @cached_property
    def outcomes(self) -> list[tuple[str, str, str, str, str]]:
        """Each alternative that changes the answer: reading, value, meaning, allowing sections, new
        answer.
        """
        return [
            (
                one.reading,
                one.alternative.value,
                one.alternative.meaning,
                allowing_sections(self.worked.profile, one.reading, one.alternative),
                self._other_answers(one),
            )
            for one in self.worked.outcomes()
        ]

    def _other_answers(self, outcome: ReadingOutcome) -> str:
        """Return the model's answers under another alternative, as text.

        For a story, only the steps that differ are given. If a broker is chosen at random, all
        possible choices are given.
        """
        if len(outcome.drawn) > 1:
            return f"broker: {' or '.join(outcome.drawn)}, drawn"
        if self.operations != [STORY]:
            answers = format_answers(self._as_by_hand(outcome.answers))
            return f"{answers} ({TIED})" if outcome.tied else answers
        [(_, case)] = self.example.questions
        return event_differences(case, self.worked.answers[0], outcome.answers[0], self._about)

    def _as_by_hand(self, answers: Sequence[Answer]) -> list[Answer]:
        """Return the model's answers under another alternative, limited to relevant fields.

        Left out are fields that the answer by hand lacks and whose values the alternative does not
        change.
        """
        if not self.example.allowed:
            return [*answers]
        three = zip(answers, self.worked.answers, self.example.allowed[0], strict=True)
        return [_without_unchanged(*one) for one in three]

    @property
    def rules_named_by_hand(self) -> list[Rule]:
        """Rules that only the calculation by hand names on the page."""
        shown = {*self.example.rules, *(one.id for one in self.other_rules)}
        rules, written = load().rules, "\n".join(self.example.arithmetic)
        named = dict.fromkeys(one for one in RULE_ID.findall(written) if one in rules)
        return [rules[one] for one in named if one not in shown]

    @property
    def rules_on_hidden_fields(self) -> list[str]:
        """The rules that judge the case by fields of a story that its table does not show."""
        if self.operations != [STORY]:
            return []
        unseen = {area for area, names in ABOUT.items() if {*names}.isdisjoint(self._about)}
        return [one.id for one in self.other_rules if one.area in unseen]

    @property
    def _about(self) -> list[str]:
        """Fields of a story's steps that are shown because of the example's rules."""
        found = (ABOUT.get(one.partition("-")[0], ()) for one in self.example.rules)
        return [name for fields in found for name in fields]

    @property
    def other_event_results(self) -> list[str]:
        """Texts for the other allowed answers to a story, each with the events whose results
        differ.
        """
        [(_, case)] = self.example.questions
        answers = [answer for [answer] in self.example.allowed or ()]
        return [event_differences(case, answers[0], other, self._about) for other in answers[1:]]

    @cached_property
    def event_table(self) -> Table | None:
        """A story's events as a table, with the results by hand or, without any, the model's.

        None if the example is not a story.
        """
        if self.operations != [STORY]:
            return None
        [(_, case)] = self.example.questions
        [answer] = self.example.allowed[0] if self.example.allowed else self.worked.answers
        return event_table(case, answer, self._about)

    @cached_property
    def answer_tables(self) -> list[Table]:
        """The answer to a single `channel.apply` question as tables; empty otherwise."""
        if self.operations != [CHANNEL] or len(self.example.questions) > 1:
            return []
        [[answer]] = self.example.allowed or [self.worked.answers]
        return list(case_tables(with_numbered_changes(answer), "answer"))

    @property
    def assumed_frames(self) -> str:
        """The time frames that other alternatives use but for which some bundles have no average.

        The names are joined with "and"; empty if there are none.
        """
        bundles = [
            bundle
            for operation, case in self.example.questions
            if operation.startswith("shed.")
            for cycle in case.get("cycles", [case])
            for bundle in cycle.get("bundles", {}).values()
        ]
        return " and ".join(
            value
            for value, frame in AVERAGE_FIELDS.items()
            if any(taken == value for _, taken, *_ in self.outcomes)
            and any(frame not in bundle for bundle in bundles)
        )

    @property
    def assumptions(self) -> list[str]:
        """A sentence on each reading that the answer assumes but the example's profile does not."""
        return list(assumed_readings(self.example, self.worked.profile))

    @property
    def has_steps(self) -> bool:
        """True if a derivation has steps to show."""
        return any(steps.rows for _, _, steps, _ in self.questions)


def _without_unchanged(other: Answer, own: Answer, hand: Answer) -> Answer:
    """Return the answer `other` without fields that `hand` lacks and in which it equals `own`."""
    found = {}
    for name, value in other.items():
        ours, by_hand = own.get(name), hand.get(name)
        if name not in hand and value == ours:
            continue
        if isinstance(value, dict) and isinstance(ours, dict) and isinstance(by_hand, dict):
            found[name] = _without_unchanged(value, ours, by_hand)
        else:
            found[name] = value
    return found


def _lists_events(operation: str, table: Table) -> bool:
    """True if a table lists the events of a story."""
    return operation == STORY and table.headings[0] == "events"


def derivation_table(steps: Sequence[Step]) -> Table:
    """Return the steps of a derivation as a table; steps with indented steps below are bold.

    Fields have the headings that they have in the tables of cases.
    """
    depths = [len(step.label) - len(step.label.lstrip()) for step in steps]
    below = [*depths[1:], 0]
    labels = [FIELD_TITLES.get(step.label.strip(), step.label.strip()) for step in steps]
    rows = (
        (f"**{label}**" if deeper > depth else label, step.text)
        for step, label, depth, deeper in zip(steps, labels, depths, below, strict=True)
    )
    return Table(("step", ""), tuple(rows))


def pages() -> dict[str, str]:
    """Return the pages as Markdown, by file name: one per area with examples, and the index."""
    by_area: dict[str, list[ShownExample]] = defaultdict(list)
    for example in examples():
        area = PurePosixPath(example.file).stem.upper()
        by_area[area].append(ShownExample(DerivedExample.of(example)))
    templates = template_environment("pulsar_conformance.reports.pages")
    area_page = templates.get_template("area.md.jinja")
    index = templates.get_template("index.md.jinja")
    found = {
        f"{area.lower()}.md": area_page.render(
            area=area, title=TITLES.get(area, area.title()), shown=shown
        )
        for area, shown in by_area.items()
    }
    return {**found, INDEX: index.render(areas=by_area, titles=TITLES)}


def template_environment(package: str) -> Environment:
    """Return the template environment of a package, with the filters of all pages."""
    made = Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters["cell"] = _escaped
    made.filters["as_sentence"] = as_sentence
    made.globals.update(
        specs=load(), question=_question, origin=origin_sentences, allowing=allowing_sections
    )
    return made


def _escaped(text: str) -> str:
    """Return a text escaped for a table cell, so that it cannot start a tag or end the cell."""
    return TAG.sub("&lt;", text).replace("|", "\\|").replace("\n", " ")


def _question(operation: str) -> str:
    """Return the question that an operation asks, which is the title of its schema."""
    return str(schema(f"operations/{operation}")["title"])
