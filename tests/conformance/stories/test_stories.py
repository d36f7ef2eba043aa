"""Stories: the model's answers, failures planted in it, and the length of failing stories."""

from fractions import Fraction
from random import Random
from time import process_time

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import case_flaw
from pulsar_conformance.conformance.cases.reduction import shorten_story
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.attribute import own_faults
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.reduce import smallest_case
from pulsar_conformance.conformance.stories.draw_stories import SHEDDING, StoryDraft
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.averages import MEAN, WINDOWS, Samples, average
from pulsar_conformance.reference.cluster import Rates
from pulsar_conformance.reference.story.timers import (
    REPORT_INTERVAL,
    SHEDDING_INTERVAL,
    WRITE_INTERVAL,
)
from sampling import one_in
from standins import machines

RULES = specs.load().rules
PROFILE = "documented-3.0"
EXAMPLES = 100
LONGEST = 8
"""Maximum number of events in a reduced story that shows a failure."""
LONGER = {"ANTI": 14}
"""Larger maximums by area: ANTI needs two namespaces with groups, and brokers in two domains."""

PLANTED = {
    machines.nobody_takes_new_topics: "OWN-01",
    machines.every_second_topic_elsewhere: "OWN-02",
    machines.a_crash_without_assignments: "OWN-03",
    machines.the_dead_keep_what_they_had: "OWN-04",
    machines.a_crash_is_noticed_later: "OWN-05",
    machines.newcomers_own_nothing: "OWN-06",
    machines.released_and_left: "OWN-09",
    machines.requests_are_ignored: "OWN-10",
    machines.sheds_without_a_word: "OWN-12",
    machines.the_first_takes_all: "OWN-14",
    machines.a_new_namespace_is_assigned_whole: "OWN-15",
    machines.the_load_chooses_the_destination: "OWN-16",
    machines.stops_as_if_it_crashed: "OWN-17",
    machines.never_looks: "SHED-09",
    machines.looks_every_minute: "SHED-09",
    machines.follows_at_once: "SHED-10",
    machines.sheds_to_itself: "SHED-11",
    machines.forgets_what_it_shed: "SHED-12",
    machines.cannot_be_switched_off: "SHED-13",
    machines.counts_no_splits: "SPLIT-21",
    machines.leaves_parts_where_they_are: "SPLIT-22",
    machines.unloads_parts_anyway: "SPLIT-23",
    machines.anyone_decides: "MANAGER-09",
    machines.the_dead_lead: "MANAGER-10",
    machines.a_new_leader_starts_afresh: "MANAGER-11",
    machines.the_node_is_never_written_again: "MANAGER-08",
    machines.the_first_never_reports: "REPORT-11",
    machines.reports_no_topics: "REPORT-12",
    machines.writes_once: "DATA-12",
    machines.counts_half_the_samples: "DATA-11",
    machines.knows_no_groups: "ANTI-11",
    machines.keeps_the_first_group: "ANTI-12",
    machines.keeps_the_first_domains: "ANTI-13",
    machines.a_crash_moves_everything: "ANTI-14",
}

OTHERWISE = {
    "OWN-07": {"unload-topic": "moves"},
    "OWN-08": {"unload-topic": "stays"},
    "OWN-11": {"unload-destination": "any"},
    "SPLIT-20": {"split-destination": "any"},
    "SHED-14": {"grace-starts": "shed"},
    "ANTI-15": {"second-domain": "moved"},
    "ANTI-16": {"second-domain": "refused"},
}
"""Rules that apply under one alternative, each with the other alternative for a stand-in."""


def profile_of(rule):
    return PROFILE if PROFILE in rule.profiles else rule.profiles[0]


class Saying(Implementation):
    """The model under the readings `follows`, although it declares the readings `says`."""

    def __init__(self, profile, says, follows):
        super().__init__("reference", profile, says)
        self._connection.close()
        self._follows = Model(profile, follows)

    def answers(self, trials, asking=None):
        return [[self._follows.answer(*one) for one in trial.questions] for trial in trials]


def asked(rule):
    return JudgedImplementation.before_asking(Implementation("reference", profile_of(rule), {}))


def broken(rule, subject, examples=EXAMPLES):
    """Return the drawn stories that break a rule, and no rule that it presupposes."""
    trials = draw_trials(rule.id, subject.resolved.profile, 0, examples)
    found = own_faults(AppliedRule(rule, subject), trials)
    return [trial for trial, fault in zip(trials, found, strict=True) if fault]


def rules_in_time(profile, subject):
    every = (rule for rule in specs.load().rules_of(profile) if rule.untestable is None)
    stories = (rule for rule in every if "cluster.replay" in rule.operations)
    return [rule for rule in stories if subject.inapplicable(rule) is None]


def shortest(rule, subject, trial):
    [question] = smallest_case(AppliedRule(rule, subject), trial).questions
    return question.case["events"]


@pytest.mark.parametrize("machine", one_in(8, PLANTED), ids=lambda machine: machine.__name__)
def test_a_planted_failure_is_found_and_reduced_to_few_events(machine, monkeypatch):
    rule = RULES[PLANTED[machine]]
    machine(monkeypatch)
    subject = asked(rule)
    failing = broken(rule, subject)
    assert failing
    most = LONGER.get(rule.area, LONGEST)
    trial = min(failing, key=lambda one: len(one.questions[0].case["events"]))
    assert len(shortest(rule, subject, trial)) <= most


@pytest.mark.parametrize("rule_id", OTHERWISE)
def test_another_reading_is_found_and_reduced_to_few_events(rule_id):
    rule = RULES[rule_id]
    subject = JudgedImplementation.before_asking(Saying(PROFILE, rule.reading, OTHERWISE[rule_id]))
    failing = broken(rule, subject)
    assert failing
    assert len(shortest(rule, subject, failing[0])) <= LONGEST


def test_every_rule_about_stories_has_a_planted_failure():
    rules = [rule for rule in RULES.values() if "cluster.replay" in rule.operations]
    assert {rule.id for rule in rules} == {*PLANTED.values(), *OTHERWISE}


def test_load_shed_to_a_busier_broker_is_found(monkeypatch):
    machines.sheds_to_the_busiest(monkeypatch)
    assert broken(RULES["SHED-11"], asked(RULES["SHED-11"]))


FOLLOWING = {
    machines.never_looks: {"SHED-09"},
    machines.forgets_what_it_shed: {"SHED-12"},
    machines.sheds_without_a_word: {"OWN-12"},
    machines.leaves_parts_where_they_are: {"SPLIT-22"},
    machines.the_dead_lead: {"MANAGER-10"},
    machines.measures_the_idlest_resource: set(),
}
"""For each failure, the rules about time that it breaks; a wrong single decision breaks none."""


@pytest.mark.parametrize("machine", one_in(3, FOLLOWING), ids=lambda machine: machine.__name__)
def test_consequences_of_a_failure_are_not_reported_as_further_failures(machine, monkeypatch):
    machine(monkeypatch)
    subject = JudgedImplementation.before_asking(Implementation("reference", PROFILE, {}))
    failed = {rule.id for rule in rules_in_time(PROFILE, subject) if broken(rule, subject, 25)}
    assert failed == FOLLOWING[machine]


def test_the_unbroken_machine_passes():
    subject = JudgedImplementation.before_asking(Implementation("reference", PROFILE, {}))
    for rule in rules_in_time(PROFILE, subject):
        assert not broken(rule, subject, 25), rule.id


def test_any_part_of_a_story_is_a_story():
    random, model = Random(1), Model(PROFILE)
    for _ in range(30):
        draft = StoryDraft(random, dict(SHEDDING), large=False)
        draft.start_brokers(2)
        for _ in range(40):
            draft.any_event()
        kept = [event for event in draft.events if random.random() < 0.6]
        case = {"settings": draft.settings, "events": kept}
        assert case_flaw("cluster.replay", case, model.defaults) is None
        steps = model.answer("cluster.replay", case)["steps"]
        assert len(steps) == len(kept)


@pytest.mark.parametrize("interval", [SHEDDING_INTERVAL, REPORT_INTERVAL, WRITE_INTERVAL])
def test_a_story_with_an_interval_of_0_minutes_is_invalid(interval):
    draft = StoryDraft(Random(3), {**SHEDDING, interval: 0}, large=False)
    draft.start_brokers(1)
    draft.tick(1)
    case = {"settings": draft.settings, "events": draft.events}
    why = case_flaw("cluster.replay", case, Model(PROFILE).defaults)
    assert why == f"case.settings.{interval}: {interval} cannot be 0"


def test_a_story_of_200_events_takes_less_than_a_second():
    draft = StoryDraft(Random(2), dict(SHEDDING), large=True)
    draft.start_brokers(6)
    draft.add_unrelated_namespaces()
    while len(draft.events) < 200:
        draft.any_event()
    begun = process_time()
    Model(PROFILE).answer("cluster.replay", draft.case())
    assert process_time() - begun < 1


@pytest.mark.parametrize("kind", MEAN)
def test_samples_averaged_one_by_one_give_the_average_of_all(kind):
    random = Random(4)
    taken, samples = [], Samples(kind)
    for _ in range(1500):
        rates = Rates(*(Fraction(random.choice((0, 1, 7))) for _ in range(4)))
        taken.append(random.choice((rates, taken[-1] if taken else rates)))
        samples.add(taken[-1])
        if len(taken) in (1, 2, 9, 10, 11, 40, 999, 1000, 1001, 1500):
            for frame, window in WINDOWS.items():
                known = average(taken, window, MEAN[kind], rates)
                assert Rates.read(samples.data[frame]) == known.rates
                assert samples.data[frame]["numSamples"] == known.samples


def test_a_story_is_explained_with_its_numbers():
    draft = StoryDraft(Random(3), dict(SHEDDING), large=False)
    draft.start_brokers()
    for size in (60, 35):
        draft.use(draft.space(), size)
    draft.start_brokers()
    draft.tick(2)
    told = Model(PROFILE).derive("cluster.replay", draft.case()).lines()
    words = "\n".join(" ".join(line.split()) for line in told)
    assert "to shed (95 - 85) + 5 = 15 % of 95 MB/s = 14.25 MB/s" in words
    assert "shop/ns-1/0x00000000_0xffffffff assigned to broker-2" in words


def long_story():
    draft = StoryDraft(Random(5), dict(SHEDDING), large=True)
    draft.start_brokers(6)
    while len(draft.events) < 200:
        draft.any_event()
    return Trial.of("cluster.replay", draft.case())


def test_events_are_left_out_until_each_one_matters():
    trial, asks = long_story(), []
    events = trial.questions[0].case["events"]
    needed = [events[place] for place in (3, 90, 91, 199)]

    def failing(trials):
        asks.append(len(trials))
        kept = [one.questions[0].case["events"] for one in trials]
        return [all(event in one for event in needed) for one in kept]

    [(_, case)] = shorten_story(trial, failing).questions
    assert case["events"] == needed
    assert len(asks) < 60


@pytest.mark.parametrize("verdict", [True, False])
def test_shortening_a_story_ends_whatever_fails(verdict):
    trial = long_story()
    short = shorten_story(trial, lambda trials: [verdict] * len(trials))
    assert (short == trial) is not verdict


def test_ticks_are_joined_and_a_crash_with_a_return_becomes_a_restart():
    events = [
        {"tick": {"minutes": 1}},
        {"tick": {"minutes": 2}},
        {"broker_down": {"broker": "b1"}},
        {"broker_up": {"broker": "b1", "capacity": 1}},
    ]
    trial = Trial.of("cluster.replay", {"settings": {}, "events": events})

    def waits_and_ends_up(trials):
        kept = [one.questions[0].case["events"] for one in trials]
        return [
            sum(event["tick"]["minutes"] for event in one if "tick" in event) == 3
            and any({"broker_down", "restart"} & event.keys() for event in one)
            and any({"broker_up", "restart"} & event.keys() for event in one)
            for one in kept
        ]

    [(_, case)] = shorten_story(trial, waits_and_ends_up).questions
    assert case["events"] == [{"tick": {"minutes": 3}}, {"restart": {"broker": "b1"}}]
