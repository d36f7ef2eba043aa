"""The readings that an implementation follows are found only from its answers."""

import re
from dataclasses import replace
from random import Random

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.bundled import runnable_adapters
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.catalogue import aims_by_reading
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.compare.characterization import characterize
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.draw import aimed_at
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.readings import documented_readings
from pulsar_conformance.reference import Model, Readings, Settings
from pulsar_conformance.reference.shedding import Cycle
from pulsar_conformance.reference.threshold import Levels
from rich.cells import cell_len
from sampling import one_in

PROFILE = "documented-3.0"
SEED = 0
TRIPLES = 8


class Silent(ReferenceConnection):
    """The model under readings that it does not declare."""

    def __init__(self, choices, profile=PROFILE, says=None):
        super().__init__("silent", profile, choices)
        self.hello = replace(self.hello, name="silent", readings=says or {})

    def exchange(self, operation, batch):
        return [self.altered(operation, case, self._answer(operation, case)) for case in batch]

    def altered(self, operation, case, answer):
        return answer


@pytest.fixture
def connected(monkeypatch):
    """Return a function that replaces every implementation's connection by a given one."""

    def to(connection):
        monkeypatch.setattr(implementations, "connect", lambda *_: connection)
        return connection

    return to


def found_of(connection, profile=PROFILE):
    implementation = Implementation("silent", profile, {})
    return {finding.reading: finding for finding in characterize(implementation, SEED)}


SEEN_BESIDE = {"expensive-measure": {"overload-amount": "one"}}
"""For each reading that matters only with an alternative of another reading, that alternative."""


def alternatives(profile=PROFILE):
    """Return each open alternative that is not the default, for all readings that have aims."""
    usual = specs.load().default_readings(profile)
    return [
        (name, value)
        for name in documented_readings(profile)
        for value in specs.load().open_values(profile, name)
        if name in aims_by_reading() and value != usual[name]
    ]


def indulgent(reading):
    """Return a reading's permissive alternatives, which no answer can rule out."""
    return {one.value for one in specs.load().readings[reading].alternatives if one.open}


def told_by_no_answer(reading, choices, values):
    """True if the model's answers to all aims of a reading are equal under all alternatives."""
    models = [Model(PROFILE, {**choices, reading: value}) for value in values]
    return all(
        models[0].answer(*question) == model.answer(*question)
        for trial in aimed_at(reading, PROFILE, SEED)
        for question in trial.questions
        for model in models[1:]
    )


def check(choices, connected, profile=PROFILE):
    """Check that each followed alternative is found, unless no answer can show it."""
    found = found_of(connected(Silent(choices, profile)), profile)
    for name, followed in Readings.of(profile, choices).choices.items():
        if name not in found or name not in aims_by_reading() or found[name].found == followed:
            continue
        assert found[name].found == "undecided", f"{found[name]}, not {followed}"
        left = found[name].why.split(" or ")
        assert followed in left
        if indulgent(name) & set(left):
            continue
        assert told_by_no_answer(name, choices, left), f"{found[name]}, not {followed}"
    return found


@pytest.mark.parametrize(("name", "value"), one_in(6, alternatives()))
def test_a_single_reading_is_found_out(name, value, connected):
    found = check({name: value, **SEEN_BESIDE.get(name, {})}, connected)
    if indulgent(name):
        assert found[name].why.split(" or ") == list(specs.load().open_values(PROFILE, name))
    else:
        assert found[name].found == value


class Lenient(Silent):
    """Declares no readings, and prefers bundles with little traffic where any order is allowed."""

    def altered(self, operation, case, answer):
        return least_first(case) if operation == "shed.select" else answer


def least_first(case):
    """Return unloads that reach ThresholdShedder's amount by the bundles with the least traffic."""
    model = Model(PROFILE)
    cycle = Cycle(case, Settings(case["settings"], model.defaults), model.readings)
    if not cycle.enabled or cycle.strategy != "ThresholdShedder":
        return model.answer("shed.select", case)
    levels, unload = Levels(cycle), []
    for broker in cycle.brokers.values():
        carried = 0
        for bundle in reversed(cycle.movable(broker)) if levels.is_over(broker) else ():
            if carried < levels.need_of(broker):
                unload.append({"broker": broker.name, "bundle": bundle})
                carried += cycle.traffic(bundle)
    return {"unload": unload}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, one.value)
        for name in documented_readings(PROFILE)
        for one in specs.load().readings[name].alternatives
        if one.open
    ],
)
def test_an_open_alternative_rules_the_others_out(name, value, connected):
    lenient = Lenient if name == "threshold-order" else Silent
    assert found_of(connected(lenient({name: value})))[name].found == value


def test_what_only_releases_and_later_documents_say_is_left_to_nobody_else(connected):
    for name, value in (("threshold-trigger", "reaches"), ("placement-score", "plain")):
        assert value not in specs.load().open_values(PROFILE, name)
        assert value in specs.load().open_values("released-3.0", name)
        found = found_of(connected(Silent({name: value}, says={name: value})))
        assert found[name].fails, found[name]


def triples():
    random, left = Random(4), alternatives()
    drawn = []
    while len(drawn) < TRIPLES:
        choices = dict(random.sample(left, 3))
        if len(choices) == 3:
            drawn.append(choices)
    return drawn


@pytest.mark.parametrize(
    "choices", one_in(4, triples()), ids=lambda choices: " ".join(map("=".join, choices.items()))
)
def test_three_readings_together_are_found_out(choices, connected):
    found = check(choices, connected)
    assert [name for name, value in choices.items() if found[name].found == value]


def test_all_readings_taken_otherwise_are_found_out(connected):
    check(dict(alternatives()), connected)


@pytest.mark.parametrize("profile", ["documented-2.10", "unwritten-3.0"])
def test_the_readings_of_a_profile_are_found_out(profile, connected):
    check({}, connected, profile)


def test_readings_that_no_document_of_the_profile_knows_are_left_out():
    assert "lower-boundary" in documented_readings("documented-3.0")
    assert "lower-boundary" not in documented_readings("documented-2.10")
    assert "overload-trigger" not in documented_readings("documented-2.4")
    assert documented_readings("unwritten-3.0") == documented_readings("documented-3.0")


def test_each_reading_is_aimed_at_or_it_is_said_why_not():
    every = specs.load()
    waiting = {
        (document.id, section.title, sentence.number)
        for document in every.documents.values()
        for section in document.sections
        for sentence in section.sentences
        if sentence.awaits is not None
    }
    for name, reading in every.readings.items():
        rules = [rule for rule in every.rules.values() if name in rule.reading]
        untestable = bool(rules) and all(rule.untestable for rule in rules)
        awaited = any(
            (source.document, source.section, number) in waiting
            for alternative in reading.alternatives
            for source in alternative.sources
            for number in source.sentences
        )
        assert name in aims_by_reading() or untestable or awaited, f"no case aims at {name}"


class Wavering(Silent):
    """Sheds at exactly the threshold if it is 50 %, and not at other thresholds."""

    def altered(self, operation, case, answer):
        threshold = case.get("settings", {}).get("loadBalancerBrokerOverloadedThresholdPercentage")
        if operation != "shed.select" or threshold != 50:
            return answer
        return Model(PROFILE, {"overload-trigger": "reaches"}).answer(operation, case)


class Stubborn(Silent):
    """Splits a bundle at 0x55555555 if it should be split by range into equal halves."""

    def altered(self, operation, case, answer):
        lower, _, upper = case.get("bundle", "__").partition("_")
        whole = operation == "bundles.split" and case["algorithm"] == "range_equally_divide"
        third = "0x55555555"
        return {"bundles": [f"{lower}_{third}", f"{third}_{upper}"]} if whole else answer


def test_who_follows_now_one_and_now_the_other_is_mixed(connected):
    finding = found_of(connected(Wavering({})))["overload-trigger"]
    assert (finding.found, finding.fails) == ("mixed", True)
    assert {value for _, values in finding.disagreeing for value in values} == {
        "exceeds",
        "reaches",
    }


def test_what_is_mixed_is_reported_by_two_cases(connected, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    connected(Wavering({}))
    assert main(["run", "--adapter", "reference", "--characterize"]) == 1
    [told] = [one for one in capsys.readouterr().out.splitlines() if "FAIL: overload-tr" in one]
    files = re.findall(r"\S+\.json", told)
    assert len(files) == 2
    assert all((tmp_path / one).is_file() for one in files)
    assert "give --reading overload-trigger=exceeds or --reading" in told


def test_who_follows_none_is_shown_which_rule_is_broken(connected):
    found = found_of(connected(Stubborn({})))
    assert (found["range-halves"].found, found["range-halves"].fails) == ("none", True)
    assert "SPLIT-10" in found["range-halves"].why
    failing = [name for name, finding in found.items() if finding.fails]
    assert set(failing) <= {"range-halves", "split-key"}, "which are told by splits in the middle"


def test_who_does_not_follow_what_it_says_fails(connected, capsys):
    says = {"overload-trigger": "reaches", "grace-edge": "free"}
    connected(Silent({"grace-edge": "free"}, says=says))
    assert main(["run", "--adapter", "reference", "--characterize"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert [line.split() for line in lines if line.startswith(" grace-edge")] == [
        ["grace-edge", "free", "free"]
    ]
    assert [line for line in lines if "FAIL" in line][1:] == [
        "  FAIL: overload-trigger: it follows exceeds, but declares reaches"
    ]


def test_every_name_is_shown_whole(capsys):
    assert main(["run", "--adapter", "reference", "--characterize"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(cell_len, lines)) <= 80
    rows = [line.split() for line in lines if line.startswith(" ") and line[1:2].strip()]
    shown = {row[0]: row[2] for row in rows if len(row) == 3}
    usual = specs.load().default_readings(PROFILE)
    for name in documented_readings(PROFILE):
        assert shown[name] in (usual[name], "undecided")
    undecided = [name for name in documented_readings(PROFILE) if shown[name] == "undecided"]
    told = [line.split(":")[1].strip() for line in lines if line.startswith("  undecided: ")]
    assert told == undecided


@pytest.mark.parametrize("adapter", one_in(4, runnable_adapters()[0][1:]))
def test_a_sample_follows_what_it_says(adapter):
    implementation = Implementation(adapter, PROFILE, {})
    try:
        findings = characterize(implementation, SEED)
    finally:
        implementation.close()
    assert [finding for finding in findings if finding.fails] == []
    assert [finding for finding in findings if finding.found == finding.declared]


def test_what_is_not_offered_is_undecided(connected):
    connection = connected(Silent({}))
    connection.hello = replace(connection.hello, strategies=("UniformLoadShedder",))
    found = found_of(connection)
    assert found["overload-trigger"].why == "it does not offer OverloadShedder"
    assert found["uniform-trigger"].found == "both"
    assert not found["overload-trigger"].fails
