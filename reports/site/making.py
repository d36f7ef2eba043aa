"""The pages of the site as Markdown, built from specifications, fixtures and reports."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from pulsar_conformance.conformance.cases.deviations import UNWRITTEN
from pulsar_conformance.conformance.common import check
from pulsar_conformance.fixtures import examples
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.numbers import plain
from pulsar_conformance.reports.pages.making import TITLES, ShownExample, template_environment
from pulsar_conformance.reports.pages.outcomes import DerivedExample
from pulsar_conformance.reports.runs.formats import badge
from pulsar_conformance.reports.site import mutants, shapes, subjects
from pulsar_conformance.reports.site.pictures import pictures
from pulsar_conformance.reports.site.results import (
    PUBLISHED,
    ListedDeviation,
    Result,
    deviations,
    deviations_by_release,
    long_run_violation_texts,
    results,
    version_numbers,
    version_steps,
)
from pulsar_conformance.reports.table import WORDS
from pulsar_conformance.specs import AREAS, Rule, Specs, load, operations, schema
from pulsar_conformance.specs.claims import claiming_rules
from pulsar_conformance.specs.text import anchor, counted

GUIDES = Path(__file__).parent / "guides"
CHANGES = Path(__file__).parents[1] / "changes"
CHANGELOG = Path("CHANGELOG.md")
CONVERSATION = Path(__file__).parent / "reference" / "protocol.md"
"""File with the first part of the page about the protocol, to which guides also link."""
EXAMPLES = "../../examples/README.md"
"""Path by which guides link to worked examples, which are on the pages of rules on the site."""
PROFILES = ("documented-3.0", "documented-5.0")
"""Profiles whose exchanges are shown on the page about the protocol, the preferred one first."""
MAX_EXAMPLE_LENGTH = 50_000
"""Maximum length in characters of an example on a page; a longer one is only linked."""
ADDRESS = re.compile(r"https?://[^\s<>]*[^\s<>.,;:)]")
"""Pattern of a URL in a text, without punctuation at the end of the sentence."""


class Site:
    """The data of all pages, read only once."""

    def __init__(self) -> None:
        self.specs: Specs = load()
        every = self.specs.rules.values()
        self.by_area = {area: [one for one in every if one.area == area] for area in AREAS}
        self.results: Sequence[Result] = results()
        self.deviations: Mapping[str, Sequence[ListedDeviation]] = deviations()
        self.shown: Mapping[str, Sequence[ShownExample]] = _by_rule()
        self.templates = template_environment("pulsar_conformance.reports.site")
        self.templates.filters["linked"] = lambda text: ADDRESS.sub(_link, text)
        self.templates.globals.update(
            areas=AREAS,
            labels=document_labels(self.specs),
            long_run=long_run_violation_texts(),
            longest=MAX_EXAMPLE_LENGTH,
            deviations=self.deviations,
            seeded=mutants.seeded_defects(),
            killed=mutants.killed_mutants(),
            pictures=lambda shown: list(pictures(shown)),
            results=self.results,
            shown=self.shown,
            anchor=anchor,
            counted=counted,
            titles=TITLES,
            words=WORDS,
        )

    def pages(self) -> Iterator[tuple[str, str]]:
        """Yield the path and the text of each page."""
        yield from self._rules()
        yield from self._results()
        yield from self._documents()
        yield from self._reference()
        for guide in sorted(GUIDES.glob("*.md")):
            yield f"guides/{guide.name}", guide.read_text("utf-8").replace(EXAMPLES, "../index.md")
        for file in sorted(one for one in CHANGES.iterdir() if one.is_file()):
            name = "index.md" if file.name == "README.md" else file.name
            yield f"changes/{name}", file.read_text("utf-8")
        yield "changelog.md", CHANGELOG.read_text("utf-8")
        yield "playground.md", self._page("playground")
        yield "index.md", self._page("index", counts=_counts(self.specs))

    def configuration(self) -> str:
        """Return the settings of the site generator, in which the navigation lists every rule."""
        pages = {
            "rules": self.by_area,
            "documents": self.specs.documents.values(),
            "releases": deviations_by_release(),
            "changes": sorted((one.stem for one in CHANGES.glob("*-to-*.md")), key=version_numbers),
        }
        return self.templates.get_template("zensical.toml.jinja").render(**pages)

    def _page(self, template: str, **given: object) -> str:
        return self.templates.get_template(f"{template}.md.jinja").render(**given)

    def _rules(self) -> Iterator[tuple[str, str]]:
        order = list(self.specs.rules.values())
        yield "rules/index.md", self._page("rules", by_area=self.by_area, count=len(order))
        for area, rules in self.by_area.items():
            yield f"rules/{area.lower()}.md", self._page("area", area=area, rules=rules)
        for before, rule, after in zip([None, *order], order, [*order[1:], None], strict=False):
            profiles = [one for one in self.specs.profiles if rule in self.specs.rules_of(one)]
            about = {
                "check": subjects.check_of(rule.id),
                "profiles": profiles,
                "repetitions": subjects.repeated_sentences(rule),
            }
            near = {"before": before, "after": after}
            yield f"rules/{rule.id}.md", self._page("rule", rule=rule, **about, **near)

    def _results(self) -> Iterator[tuple[str, str]]:
        judged = {rule for one in self.results for rule in one.verdicts}
        rules = [rule for rule in self.specs.rules.values() if rule.id in judged]
        profiles = {
            one: {rule.id for rule in self.specs.rules_of(one)} for one in self.specs.profiles
        }
        found = {one.word(rule.id) for one in self.results for rule in rules}
        choices = [word for word in WORDS if word in found]
        shown = {"rules": rules, "every": len(self.specs.rules)}
        yield "matrix.md", self._page("matrix", **shown, choices=choices, profiles=profiles)
        for one in self.results:
            page = f"implementations/{one.slug}"
            yield f"{page}.md", self._page("implementation", result=one)
            yield f"{page}.svg", badge(one.report)
            yield f"{page}.json", (PUBLISHED / one.file).read_text("utf-8")
        yield (
            "implementations/index.md",
            self._page("implementations", steps=version_steps(self.results)),
        )
        yield (
            "deviations.md",
            self._page("deviations", releases=deviations_by_release(), unwritten=UNWRITTEN),
        )
        for file, entries in deviations_by_release().items():
            page = f"deviations/{file.replace('.', '-')}.md"
            yield page, self._page("deviations_of", file=file, entries=entries)

    def _documents(self) -> Iterator[tuple[str, str]]:
        yield "documents/index.md", self._page("documents")
        for document in self.specs.documents.values():
            claims = subjects.claims_by_section(document.id)
            yield (
                f"documents/{document.id}.md",
                self._page("document", document=document, claims=claims),
            )

    def _protocol(self) -> str:
        hello = shapes.fields_of(schema("message")["$defs"]["implementation"])
        asked = list(_exchanges(self.specs))
        tolerance = {"points": plain(check.POINTS), "share": f"{float(check.SHARE):.5f}"}
        page = {
            "operations": asked,
            "hello": hello,
            "shared": shapes.shared_shapes(),
            "conversation": CONVERSATION.read_text("utf-8"),
        }
        return self._page("protocol", **page, tolerance=tolerance)

    def _reference(self) -> Iterator[tuple[str, str]]:
        yield "reference/protocol.md", self._protocol()
        yield "reference/settings.md", self._page("settings")
        yield "reference/readings.md", self._page("readings")
        yield "reference/commands.md", self._page("commands", commands=list(subjects.commands()))
        yield "reference/python.md", self._page("python", names=list(subjects.public_names()))


def document_labels(every: Specs) -> Mapping[str, str]:
    """Return a unique label for each document: title, version and, if needed, form of the copy."""
    found = every.documents.values()
    named = {one.id: f"{one.title} ({one.version})" for one in found}
    often = Counter(named.values())
    copies = {
        one.id: f"{one.title} ({one.version}, copy as {one.id.rpartition('-')[2]})"
        for one in found
        if one.copy_of and often[named[one.id]] > 1
    }
    return {**named, **copies}


def _link(address: re.Match[str]) -> str:
    """Return a link with a short text: the number of a pull request, or the name of a file."""
    parts = address[0].rstrip("/").split("/")
    number = parts[-2] in ("pull", "issues")
    return f"[{'#' * number}{parts[-1]}]({address[0]})"


def _by_rule() -> Mapping[str, Sequence[ShownExample]]:
    """Return the worked examples of each rule, those mainly about the rule first."""
    found: dict[str, list[ShownExample]] = defaultdict(list)
    for example in examples():
        shown = ShownExample(DerivedExample.of(example))
        for rule in example.rules:
            found[rule].append(shown)
    return {rule: sorted(every, key=partial(_place_of, rule)) for rule, every in found.items()}


def _place_of(rule: str, shown: ShownExample) -> tuple[int, bool]:
    """Return a sort key: the rule's place in the example, and whether the area is another."""
    area = rule.partition("-")[0].lower()
    return shown.example.rules.index(rule), not shown.example.id.startswith(area)


def _exchanges(every: Specs) -> Iterator[Mapping[str, object]]:
    """Yield each operation with its fields, its rules, and an example of question and answer."""
    for name in operations():
        profile, rules = next(_profiles_asking(every, name))
        case = shapes.example_case(name, profile)
        whole = schema(f"operations/{name}")
        model = Model(profile)
        yield {
            "name": name,
            "title": str(whole["title"]),
            "says": str(whole.get("description", "")),
            "asked": shapes.format_json({"id": 2, "ask": name, "cases": [case]}),
            "answered": shapes.format_json({"id": 2, "answers": [model.derive(name, case).answer]}),
            "case": shapes.fields_of(whole["$defs"]["case"], name),
            "answer": shapes.fields_of(whole["$defs"]["answered"], name),
            "own": shapes.own_shapes(name),
            "rules": rules,
            "settings": sorted({one for rule in rules for one in rule.settings}),
        }


def _profiles_asking(every: Specs, operation: str) -> Iterator[tuple[str, list[Rule]]]:
    """Yield each of `PROFILES` that has rules about an operation, with these rules."""
    for profile in PROFILES:
        rules = [rule for rule in every.rules_of(profile) if operation in rule.operations]
        if rules:
            yield profile, rules


def _counts(specs: Specs) -> Mapping[str, int]:
    """Return the numbers on the first page; sentences repeated in several documents count once."""
    sentences = {
        (document.id, section.title, one.number): one.sha256
        for document in specs.documents.values()
        for section in document.sections
        for one in section.sentences
    }
    return {
        "rules": len(specs.rules),
        "stated": sum(bool(rule.sources) for rule in specs.rules.values()),
        "sentences": len(set(sentences.values())),
        "claimed": len({sentences[place] for place in claiming_rules(specs)}),
        "examples": len(examples()),
        "by_hand": sum(one.required_answers is not None for one in examples()),
        "readings": len(specs.readings),
        "settings": len({*specs.settings, *specs.annotated}),
        "operations": len(operations()),
    }
