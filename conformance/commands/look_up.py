"""Commands that look up specifications: `rules`, `rule`, `profiles`, `readings`, `schema`, and the
list of `settings`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE, add_profile
from pulsar_conformance.specs import JSON, Alternative, Rule, Setting, Source, Specs, UnknownName
from pulsar_conformance.specs.broker import broker_settings
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.text import columns, counted, enumerated, paragraph, written_value

SHARED_SCHEMAS = ("message", "shapes")
"""Names of the schemas of protocol messages and of structures that operations share."""

MARKS = {"*": "followed by", " ": "allowed by", "-": "not allowed by"}
"""Marks of an alternative, and what they say about a profile."""

UNDER_OTHERS = "an implementation that follows another alternative is not judged by this rule"


@dataclass(frozen=True)
class LookUp:
    """A command that prints specifications."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    lines: Callable[[argparse.Namespace], Iterator[str]]

    def run(self, args: argparse.Namespace) -> int:
        """Print the matching entries. Errors: `UnknownName`."""
        print("\n".join(self.lines(args)))
        return 0


def _rules_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pattern",
        nargs="*",
        metavar="PATTERN",
        help="IDs of rules, as in 'OVERLOAD-*', or a word of their titles and statements",
    )
    add_profile(parser, "list only the rules of these documents or of this release", default=None)


def _rule_list_lines(args: argparse.Namespace) -> Iterator[str]:
    """Yield a line per rule."""
    known = specs.load()
    matching = {rule.id for pattern in args.pattern for rule in _rules_found(known, pattern)}
    judged = known.rules_of(args.profile) if args.profile else known.rules.values()
    rows = [
        (rule.id, rule.word, rule.title)
        for rule in judged
        if rule.id in matching or not args.pattern
    ]
    yield from columns(rows)
    yield counted(len(rows), "rule")


def _rules_found(known: Specs, pattern: str) -> Sequence[Rule]:
    """Return the rules with matching IDs or, if there are none, the rules whose text has the word.

    Errors: `UnknownName` if no rule has the word, either.
    """
    try:
        return known.rules_matching(pattern)
    except UnknownName:
        word = pattern.casefold()
        texts = ((one, f"{one.title} {one.statement}".casefold()) for one in known.rules.values())
        if found := [one for one, text in texts if word in text]:
            return found
        raise


def _rule_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        metavar="ID",
        help="the ID of a rule, such as OVERLOAD-02; in its sources, sentences are numbered from "
        "1 within each section, without headings; a list item, a row of a table and a line with a "
        "setting each start a new sentence",
    )
    add_profile(parser, "show the sources in these documents", default=None)


def _rule_lines(args: argparse.Namespace) -> Iterator[str]:
    """Yield a rule's statement, sources and conditions."""
    known = specs.load()
    if set(args.id) & set("*?["):
        raise UserError(f"{args.id} is a pattern; see pulsar-conformance rules '{args.id}'")
    if args.id not in known.rules:
        raise UnknownName(args.id, "rule", known.rules)
    rule = known.rules[args.id]
    if args.profile and rule not in known.rules_of(args.profile):
        raise UserError(f"{args.profile} does not have the rule {rule.id}")
    yield from paragraph(f"{rule.title}.", len(rule.id) + 2, f"{rule.id}  ")
    yield ""
    yield from paragraph(rule.statement, 2)
    yield ""
    yield from columns(
        [
            (f"  {label}", text)
            for label, text in _labelled_properties(known, rule, args.profile)
            if text
        ]
    )


def _labelled_properties(
    known: Specs, rule: Rule, profile: str | None
) -> Iterator[tuple[str, str]]:
    """Yield a rule's properties except its statement, with labels; `profile` limits the sources."""
    yield "level", rule.level
    own = known.sources_in(profile, rule) if profile else ()
    if profile and rule.sources and not own:
        yield "", f"no document of {profile} states it; earlier documents do:"
    for source in own or rule.sources:
        yield "source", _place_text(source)
        yield "", known.documents[source.document].url
    yield "seen", rule.why or ""
    yield "judged by" if rule.judged_by else "untestable", rule.untestable or ""
    anyone = "any of " if rule.any_operation else ""
    yield "asks", anyone + ", ".join(rule.operations) if rule.operations else ""
    yield "settings", ", ".join(rule.settings)
    yield "managers", ", ".join(rule.managers)
    follows = ", ".join(f"{name}={value}" for name, value in rule.reading.items())
    yield "reading", f"{follows}; {UNDER_OTHERS}" if follows else ""
    yield "presupposes", ", ".join(rule.presupposes)
    for clause in rule.clauses if len(rule.clauses) > 1 else ():
        yield "clause", clause.says
    judging = [one for one in known.profiles if rule in known.rules_of(one)]
    without = [one for one in judging if _is_without_reading(known, rule, one)]
    yield "profiles", ", ".join(one for one in judging if one not in without)
    if without:
        yield (
            "",
            f"{enumerated(without)} does not allow {follows}, so no implementation is judged by it",
        )
    from pulsar_conformance import fixtures  # slow to import, and only used here

    for example in fixtures.examples():
        if rule.id in example.rules:
            yield "example", example.id
    listed = Path(fixtures.__file__).parent / "deviations"
    texts = {file.stem: file.read_text("utf-8") for file in sorted(listed.glob("*.yaml"))}
    yield "broken by", ", ".join(_known_to_break(rule.id, texts))
    for name in rule.presupposes:
        if broken_by := ", ".join(_known_to_break(name, texts)):
            where = _where_faults_count(rule, known.rules[name])
            yield "presupposed", f"{name} is broken by {broken_by}; {where}"


def _is_without_reading(known: Specs, rule: Rule, profile: str) -> bool:
    """True if a profile's documents do not allow the alternatives under which a rule is judged."""
    if known.profile(profile).kind != "documented":
        return False
    every = rule.reading.items()
    return any(value not in known.open_values(profile, name) for name, value in every)


def _where_faults_count(rule: Rule, presupposed: Rule) -> str:
    """Return text that says which of two rules is charged with a case that breaks both."""
    told = f"a case that breaks both rules counts against {presupposed.id}"
    if not set(presupposed.operations).isdisjoint(rule.operations):
        return told
    asked = " or ".join(presupposed.operations)
    plug_ins = ", such as a plug-in," if presupposed.area == "USAGE" else ""
    other = f"if an implementation{plug_ins} does not offer {asked}"
    return f"{told}, but against {rule.id} {other}"


def _known_to_break(rule: str, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the implementations that list a rule among their known deviations.

    `texts` has the text of each list. The texts are searched, because parsing them would take
    seconds.
    """
    for name, text in texts.items():
        if f"- rule: {rule}\n" in text:
            yield name


def _place_text(source: Source) -> str:
    """Format a source as document, section and sentence numbers."""
    section = f" § {source.section}" if source.section else ""
    several = "sentences" if len(source.sentences) > 1 else "sentence"
    return f"{source.document}{section}, {several} {', '.join(map(str, source.sentences))}"


def _no_arguments(_parser: argparse.ArgumentParser) -> None:
    pass


def _profile_lines(_args: argparse.Namespace) -> Iterator[str]:
    """Yield each profile with its title and the number of its rules that can be tested."""
    known = specs.load()
    rows = []
    for name, profile in known.profiles.items():
        rules = known.rules_of(name)
        left = sum(rule.untestable is not None for rule in rules)
        more = f"; {counted(left, 'more rule')} cannot be tested" if left else ""
        rows.append((name, counted(len(rules) - left, "rule"), f"{profile.title}{more}"))
    yield from columns(rows)


def _readings_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="*", metavar="NAME", help="only these readings")
    parser.add_argument(
        "--judge-by",
        "--profile",
        action="append",
        dest="profiles",
        metavar="PROFILE",
        help=f"mark the alternatives of this profile ({DEFAULT_PROFILE}); repeat the option to "
        "compare profiles",
    )


def _reading_lines(args: argparse.Namespace) -> Iterator[str]:
    """Yield each reading with its alternatives, marked for one or for several profiles."""
    known = specs.load()
    profiles = list(dict.fromkeys(args.profiles or [DEFAULT_PROFILE]))
    for one in profiles:
        known.profile(one)
    for name in args.name or known.readings:
        if name not in known.readings:
            raise UnknownName(name, "reading", known.readings)
        reading = known.readings[name]
        yield from paragraph(reading.question, 2, f"{name}: ")
        marks = {
            one.value: [_mark(known, profile, name, one) for profile in profiles]
            for one in reading.alternatives
        }
        if len(profiles) == 1:
            rows = [
                (f"  {marks[one.value][0]} {one.value}", one.meaning)
                for one in reading.alternatives
            ]
            yield from columns(rows)
        else:
            for one in reading.alternatives:
                yield from paragraph(one.meaning, 4, f"  {one.value}: ")
                yield from _marked_by(profiles, marks[one.value])
    yield from _meaning_of_marks(profiles)


def _marked_by(profiles: Sequence[str], marks: Sequence[str]) -> Iterator[str]:
    """Yield a line per mark, with the profiles that give an alternative this mark."""
    rows = []
    for mark, said in MARKS.items():
        if named := [one for one, its in zip(profiles, marks, strict=True) if its == mark]:
            rows.append((f"    {said}", ", ".join(named)))
    yield from columns(rows)


def _meaning_of_marks(profiles: Sequence[str]) -> Iterator[str]:
    """Yield text that explains the marks, and how to choose an alternative or compare profiles."""
    if len(profiles) > 1:
        yield from paragraph("--reading NAME=VALUE chooses another alternative that is allowed")
        return
    [profile] = profiles
    yield from paragraph(f"* the alternative of {profile}; --reading NAME=VALUE chooses another")
    yield from paragraph(f"- not allowed by {profile}")
    yield from paragraph("repeat --judge-by PROFILE to compare profiles")


def _mark(known: Specs, profile: str, reading: str, alternative: Alternative) -> str:
    """Return the mark of an alternative: `*` if it is the profile's own, `-` if it is not
    allowed.
    """
    if alternative.value == known.default_readings(profile)[reading]:
        return "*"
    return "-" if known.why_closed(profile, reading, alternative.value) else " "


def _schema_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operation",
        nargs="?",
        metavar="OPERATION",
        help="a schema: shed.select or another operation, message or shapes; without "
        "a name, all schemas are listed",
    )
    parser.add_argument(
        "--example",
        action="store_true",
        help="instead of the schema, print a question that ask, explain and run --replay accept; "
        "the model's answer goes to standard error",
    )


def _schema_lines(args: argparse.Namespace) -> Iterator[str]:
    """Yield the JSON Schema of an operation's case and answer, or the list of schemas."""
    known = (*specs.operations(), *SHARED_SCHEMAS)
    name = args.operation
    if name is None:
        yield from columns([(one, specs.schema(_schema_file(one))["title"]) for one in known])
        return
    if name not in known:
        raise UnknownName(name, "schema of the protocol", known)
    if args.example:
        yield from _example_lines(name)
    else:
        yield json.dumps(specs.schema(_schema_file(name)), indent=2, ensure_ascii=False)


def _example_lines(name: str) -> Iterator[str]:
    """Yield an operation's example question; print the model's answer to standard error."""
    from pulsar_conformance.reference import Model
    from pulsar_conformance.reports.site.shapes import example_case, format_json

    if name in SHARED_SCHEMAS:
        raise UserError(f"{name} is not an operation, so it has no example; name an operation")
    case = example_case(name)
    yield format_json({"ask": name, "case": case})
    answer = Model(DEFAULT_PROFILE).answer(name, case)
    print(f"answer: {json.dumps(answer, ensure_ascii=False)}", file=sys.stderr)


def _schema_file(name: str) -> str:
    return name if name in SHARED_SCHEMAS else f"operations/{name}"


def setting_lines(args: argparse.Namespace) -> Iterator[str]:
    """Yield the documented settings whose names match the patterns. Errors: `UnknownName`."""
    known_specs = specs.load()
    defaults = known_specs.defaults(args.profile)
    documents = {*known_specs.documents_of(args.profile)}
    known = {**known_specs.annotated, **known_specs.settings}
    for pattern in args.pattern:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UnknownName(pattern, "setting", known)
    others = 0
    for name in dict.fromkeys((*known_specs.settings, *known)):
        setting, annotated = known[name], known_specs.annotated.get(name, known[name])
        named = name in known_specs.settings or documents.intersection(annotated.documents)
        matches = any(fnmatchcase(name, pattern) for pattern in args.pattern)
        if matches or (named and not args.pattern):
            yield name
            yield from paragraph(setting.meaning, 2)
            facts = (
                ("  takes", _format_type(setting)),
                ("  default", _default_text(name, defaults)),
                *_describe_annotations(annotated, documents),
            )
            yield from columns(facts)
        else:
            others += not args.pattern
    if others:
        yield ""
        yield from paragraph(
            f"The documents of {args.profile} do not name {counted(others, 'other setting')}; "
            "all are listed by pulsar-conformance settings '*'"
        )


def _describe_annotations(setting: Setting, documents: set[str]) -> Iterator[tuple[str, str]]:
    """Yield a setting's annotations in the given documents."""
    if setting.dynamic is None or not documents.intersection(setting.documents):
        return
    yield "  dynamic", "yes" if setting.dynamic else "no; brokers read it when they start"
    if documents.intersection(setting.deprecated_in):
        instead = f"; {setting.replaced_by} replaces it" if setting.replaced_by else ""
        yield "  deprecated", f"yes{instead}"


def _format_type(setting: Setting) -> str:
    """Format a setting's type, unit and bounds."""
    said = [setting.type, setting.unit or ""]
    if setting.range:
        said.append("between {:g} and {:g}".format(*setting.range))
    if setting.choices:
        said.append("one of " + ", ".join(map(str, setting.choices)))
    return ", ".join(filter(None, said))


def _default_text(name: str, defaults: dict[str, JSON]) -> str:
    """Format a setting's default as in broker.conf: the profile's or, without one, Pulsar's own."""
    if name in defaults:
        return written_value(defaults[name])
    released = broker_settings()[name].defaults if name in broker_settings() else {}
    values = dict.fromkeys(written_value(one) for one in released.values())
    if not any(values):
        return "none is documented"
    return f"none is documented; in released Pulsar, {', then '.join(filter(None, values))}"


RULES = LookUp(_rules_arguments, _rule_list_lines)
RULE = LookUp(_rule_arguments, _rule_lines)
PROFILES = LookUp(_no_arguments, _profile_lines)
READINGS = LookUp(_readings_arguments, _reading_lines)
SCHEMA = LookUp(_schema_arguments, _schema_lines)
