"""Each wrong choice of a load manager breaks the rule about it."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings
from pulsar_conformance.reference.answers.managers import (
    EXTENSIBLE,
    MANAGERS,
    MODULAR,
    SIMPLE,
    manager_of,
)
from sampling import one_in

PROFILES = ("documented-3.0", "documented-2.10")
EVERY = specs.load().rules.values()
RULES = [
    one
    for one in EVERY
    if "manager.choose" in one.operations and {*PROFILES}.intersection(one.profiles)
]
SLIP = MODULAR.replace("Manager", "Manger")


def named(manager):
    return {"manager": manager}


def conf_alone(conf, dynamic):
    return named(manager_of(conf))


def conf_first(conf, dynamic):
    return named(manager_of(dynamic if conf is None else conf))


def dynamic_alone(conf, dynamic):
    return named(manager_of(dynamic))


def follows_anything_dynamic(conf, dynamic):
    return named(manager_of(conf if dynamic is None else dynamic))


def modular_by_default(conf, dynamic):
    name = conf if dynamic is None else dynamic
    return {"refused": "no"} if dynamic == EXTENSIBLE else named(MANAGERS.get(name, "modular"))


def refuses_mistakes(conf, dynamic):
    name = conf if dynamic is None else dynamic
    known = name in MANAGERS and dynamic != EXTENSIBLE
    return named(MANAGERS[name]) if known else {"refused": "no such class"}


def takes_any_capitals(conf, dynamic):
    lower = {name.lower(): manager for name, manager in MANAGERS.items()}
    name = (conf if dynamic is None else dynamic) or SIMPLE
    return {"refused": "no"} if dynamic == EXTENSIBLE else named(lower.get(name.lower(), "simple"))


def knows_no_extensible_one(conf, dynamic):
    name = conf if dynamic is None else dynamic
    return named("modular" if name == MODULAR else "simple")


WRONG = {
    conf_alone: {"MANAGER-02", "MANAGER-05", "MANAGER-06"},
    conf_first: {"MANAGER-02", "MANAGER-04", "MANAGER-05", "MANAGER-06"},
    dynamic_alone: {"MANAGER-01", "MANAGER-03", "MANAGER-04", "MANAGER-06"},
    follows_anything_dynamic: {"MANAGER-04"},
    modular_by_default: {"MANAGER-05"},
    refuses_mistakes: {"MANAGER-05"},
    takes_any_capitals: {"MANAGER-05"},
    knows_no_extensible_one: {"MANAGER-03"},
}
"""For each wrong choice, the rules that it breaks under the reading that broker.conf counts."""


def trials(rule):
    return draw(checks()[rule].draws, 100, f"managers/{rule}")


def evaluator(rule, readings):
    profile = next(one for one in PROFILES if one in rule.profiles)
    return RuleEvaluator(specs.load().defaults(profile), Readings.of(profile, readings))


def broken(answer, readings):
    """Return the rules that a choice of the load manager breaks."""
    chosen = [rule for rule in RULES if rule.untestable is None and rule.applies(readings)]
    return {
        rule.id
        for rule in chosen
        for trial in trials(rule.id)
        if evaluator(rule, readings)
        .judge(rule.id, trial, [answer(**case) for _, case in trial.questions])
        .violated
    }


@pytest.mark.parametrize("wrong", one_in(3, WRONG), ids=lambda wrong: wrong.__name__)
def test_a_wrong_choice_is_found(wrong):
    assert broken(wrong, {"absent-manager": "conf"}) == WRONG[wrong]


def test_a_manager_that_cannot_be_changed_back_is_found():
    ran = set()

    def stays_modular(conf, dynamic):
        ran.add(manager_of(conf if dynamic is None else dynamic))
        return named("modular" if "modular" in ran else "simple")

    rule = specs.load().rules["MANAGER-06"]
    cases = [{"conf": None, "dynamic": name} for name in (SIMPLE, MODULAR, SIMPLE)]
    answers = [stays_modular(**case) for case in cases]
    assert answers == [named("simple"), named("modular"), named("modular")]
    trial = Trial.of("manager.choose", *cases)
    assert evaluator(rule, {}).judge(rule.id, trial, answers).violated


OPEN = {
    "a blank in broker.conf": (" ", None),
    "nothing in broker.conf": (None, None),
    "a blank after a class": (f"{MODULAR} ", None),
    "a class without its package": ("ModularLoadManagerImpl", None),
    "the released class of the extensible one": (
        "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl",
        None,
    ),
    "a mistake where it does not count": (SLIP, MODULAR),
    "a blank set dynamically": (MODULAR, ""),
}


@pytest.mark.parametrize("place", OPEN)
@pytest.mark.parametrize("manager", ["simple", "modular", "extensible"])
def test_an_answer_that_the_documents_leave_open_breaks_nothing(place, manager):
    conf, dynamic = OPEN[place]
    trial = Trial.of("manager.choose", {"conf": conf, "dynamic": dynamic})
    readings = {"absent-manager": "conf"}
    for rule in RULES:
        if rule.untestable is None and rule.applies(readings):
            assert not evaluator(rule, readings).judge(rule.id, trial, [named(manager)]).violated


SUPPORTED = {
    "refused": ({"refused": "no"}, True),
    "ignored": (named("modular"), True),
    "taken for a mistake": (named("simple"), True),
    "followed": (named("extensible"), False),
}


@pytest.mark.parametrize("way", SUPPORTED)
def test_a_dynamic_setting_of_the_extensible_manager_may_be_refused_or_ignored(way):
    answer, allowed = SUPPORTED[way]
    rule = specs.load().rules["MANAGER-04"]
    trial = Trial.of("manager.choose", {"conf": MODULAR, "dynamic": EXTENSIBLE})
    outcome = evaluator(rule, {}).judge(rule.id, trial, [answer])
    assert outcome.word == ("allowed" if allowed else "violated")


def test_readings_differ_if_broker_conf_names_a_manager_other_than_the_default():
    answers = {
        (reading, conf): Model("documented-2.4", {"absent-manager": reading}).answer(
            "manager.choose", {"conf": conf, "dynamic": None}
        )["manager"]
        for reading in ("conf", "default")
        for conf in (SIMPLE, MODULAR)
    }
    assert answers == {
        ("conf", SIMPLE): "simple",
        ("conf", MODULAR): "modular",
        ("default", SIMPLE): "simple",
        ("default", MODULAR): "simple",
    }
