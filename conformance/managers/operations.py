"""MANAGER: the load manager that runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.check import Expect
from pulsar_conformance.conformance.common.operation import Operation, same_field
from pulsar_conformance.conformance.common.trial import Asked, Json, Trial
from pulsar_conformance.conformance.drawing import aim, composite
from pulsar_conformance.conformance.managers import channel
from pulsar_conformance.reference.answers.managers import (
    DEFAULT,
    EXTENSIBLE,
    IN_EXTENSIONS,
    MANAGERS,
    MODULAR,
    PACKAGE,
    SIMPLE,
)


@dataclass(frozen=True)
class ManagerSettings:
    """A `manager.choose` case: the load manager's class in broker.conf and the dynamic setting."""

    conf: str | None
    dynamic: str | None


@dataclass(frozen=True)
class ChosenManager:
    """An answer: the load manager that runs, or the refusal to start one."""

    manager: str | None
    refused: str | None

    def __str__(self) -> str:
        return self.manager or f"refused: {self.refused}"


CHOOSE = Operation(
    id="manager.choose",
    view=lambda case, _settings, _readings: ManagerSettings(case["conf"], case["dynamic"]),
    read=lambda _case, answer: ChosenManager(answer.get("manager"), answer.get("refused")),
    matches=same_field("manager"),
    examples=tuple({"conf": None, "dynamic": name} for name in (MODULAR, SIMPLE)),
    refusable=True,
)

APPLY = channel.APPLY

CLASSES = (SIMPLE, MODULAR, EXTENSIBLE)
"""The documented classes of load managers."""

BY_ADMIN = (SIMPLE, MODULAR)
"""Classes of load managers that can be enabled by a dynamic setting."""

NO_CLASSES = ("modular", "SimpleLoadManager", "null", "default", "0", "ünï.Köde", PACKAGE)
OTHER_PACKAGES = ("com.example.", "org.apache.pulsar.broker.loadbalance.", "org.apache.pulsar.")
BLANKS = ("", " ", "\t")


def manager_case(conf: str | None, dynamic: str | None) -> Json:
    """Return a `manager.choose` case."""
    return {"conf": conf, "dynamic": dynamic}


TYPING_ERRORS = ("", "x", "twice", "other case")
"""Typing errors: a replacement for a letter, "twice" to double it, or "other case"."""

classes = st.sampled_from(CLASSES)
by_admin = st.sampled_from(BY_ADMIN)
letter_places = st.integers(0, max(map(len, CLASSES)) - 1)
letters = st.sampled_from(TYPING_ERRORS)


@composite
def typing_errors(draw: st.DrawFn) -> str:
    """Draw a class name with one letter missing, doubled, replaced, or in the wrong case."""
    right, what = draw(classes), draw(letters)
    place = draw(letter_places) % len(right)
    letter = right[place]
    other = {"twice": letter * 2, "other case": letter.swapcase()}.get(what, what)
    return right[:place] + other + right[place + 1 :]


in_other_packages = st.builds(
    lambda package, right: package + right.removeprefix(PACKAGE),
    st.sampled_from(OTHER_PACKAGES),
    classes,
)

mistaken_names: st.SearchStrategy[str] = st.one_of(
    typing_errors(),
    classes.map(str.lower),
    classes.map(str.upper),
    in_other_packages,
    st.sampled_from(NO_CLASSES),
).filter(lambda name: name not in CLASSES)
"""Misspelled class names, names in the wrong case or package, and strings that are no class."""

ambiguous_names: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(BLANKS),
    classes.map(lambda right: f"{right} "),
    classes.map(lambda right: f" {right}"),
    classes.map(lambda right: right.removeprefix(PACKAGE)),
)
"""Names with undocumented effect: blanks, and class names with a blank or without package."""

documented_names: st.SearchStrategy[str | None] = st.sampled_from((None, *CLASSES))

any_name: st.SearchStrategy[str | None] = st.one_of(
    documented_names, mistaken_names, ambiguous_names
)
"""Any value that broker.conf or the dynamic setting can have."""

nine_in_ten = st.integers(0, 9)


def set_in_conf(*names: str) -> st.SearchStrategy[Trial]:
    """Return a strategy for cases with one of `names` in broker.conf, and no dynamic setting."""
    return st.sampled_from(names).map(lambda name: Trial.of(CHOOSE.id, manager_case(name, None)))


def set_dynamically(*names: str) -> st.SearchStrategy[Trial]:
    """Return a strategy for cases with one of `names` set dynamically, and any broker.conf."""
    return st.builds(
        lambda conf, name: Trial.of(CHOOSE.id, manager_case(conf, name)),
        any_name,
        st.sampled_from(names),
    )


def without_dynamic_setting() -> st.SearchStrategy[Trial]:
    """Return a strategy for cases with anything in broker.conf, and no dynamic setting."""
    return any_name.map(lambda conf: Trial.of(CHOOSE.id, manager_case(conf, None)))


@composite
def mistaken(draw: st.DrawFn) -> Trial:
    """Draw a case in which the setting in effect has a mistaken or an ambiguous class name."""
    name = draw(mistaken_names if draw(nine_in_ten) else ambiguous_names)
    beside = documented_names if draw(st.booleans()) else any_name
    case = manager_case(draw(beside), name) if draw(st.booleans()) else manager_case(name, None)
    return Trial.of(CHOOSE.id, case)


managers_between = st.lists(st.one_of(by_admin, mistaken_names), max_size=2)


@composite
def set_and_set_back(draw: st.DrawFn) -> Trial:
    """Draw cases that set, in the same place, one manager, then others, then the first again."""
    first, conf, dynamic = draw(by_admin), draw(documented_names), draw(st.booleans())
    names = [
        first,
        *draw(managers_between),
        next(name for name in BY_ADMIN if name != first),
        first,
    ]
    cases = [manager_case(conf, name) if dynamic else manager_case(name, None) for name in names]
    return Trial.of(CHOOSE.id, *cases)


def modular_in_conf_alone(_random: Random) -> Json:
    """Return a case with the modular manager in broker.conf, and no dynamic setting."""
    return manager_case(MODULAR, None)


AIMED = (aim("absent-manager", CHOOSE.id, modular_in_conf_alone),)


NAMES_WITHOUT_PACKAGE = {name.removeprefix(PACKAGE) for name in MANAGERS}


def is_undocumented_class(name: str) -> bool:
    """True if a name is certainly not a documented class.

    This is uncertain for three kinds of names: blanks, which no document mentions; a class without
    its package, as some documents print it; and the extensible manager's class in its released
    package, which differs from the documented one.
    """
    bare = name.strip()
    elsewhere = bare.endswith("." + EXTENSIBLE.removeprefix(PACKAGE))
    return (
        bool(bare) and bare not in MANAGERS and bare not in NAMES_WITHOUT_PACKAGE and not elsewhere
    )


def class_in_effect(case: ManagerSettings, expect: Expect) -> str | None:
    """Return the class in effect, under the reading `absent-manager`; None for the default."""
    if case.dynamic is not None:
        return case.dynamic
    return case.conf if expect.readings["absent-manager"] == "conf" else None


def _given_no_mistake_beside(case: ManagerSettings, expect: Expect) -> None:
    """Assume that a dynamic setting is not combined with a mistake in broker.conf."""
    beside = None if case.dynamic is None else case.conf
    expect.given(beside is None or beside in MANAGERS, "broker.conf has no mistake")


def _demand_manager(manager: str, answer: ChosenManager, expect: Expect, why: str) -> None:
    expect.that(answer.manager == manager, f"{manager}: {why}", answer)


@CHOOSE.check("MANAGER-01", draws=set_in_conf(SIMPLE, MODULAR))
def broker_conf_decides(case: ManagerSettings, answer: ChosenManager, expect: Expect) -> None:
    """Without a dynamic setting, broker.conf selects the simple or the modular manager."""
    if case.dynamic is None and case.conf in (SIMPLE, MODULAR):
        expect.reached()
        _demand_manager(MANAGERS[case.conf], answer, expect, f"broker.conf names {case.conf}")


@CHOOSE.check("MANAGER-02", draws=set_dynamically(SIMPLE, MODULAR))
def a_dynamic_setting_decides(case: ManagerSettings, answer: ChosenManager, expect: Expect) -> None:
    """The simple or modular manager runs if the dynamic setting names it."""
    _given_no_mistake_beside(case, expect)
    if case.dynamic in (SIMPLE, MODULAR):
        expect.reached()
        _demand_manager(
            MANAGERS[case.dynamic], answer, expect, f"{case.dynamic} is set dynamically"
        )


@CHOOSE.check("MANAGER-03", draws=set_in_conf(EXTENSIBLE))
def broker_conf_enables_the_extensible_manager(
    case: ManagerSettings, answer: ChosenManager, expect: Expect
) -> None:
    """Without a dynamic setting, the extensible manager runs if broker.conf names it."""
    if case.dynamic is None and expect.reached(case.conf == EXTENSIBLE):
        _demand_manager("extensible", answer, expect, f"broker.conf names {case.conf}")


@CHOOSE.check("MANAGER-04", draws=set_dynamically(EXTENSIBLE))
def no_dynamic_setting_enables_the_extensible_manager(
    case: ManagerSettings, answer: ChosenManager, expect: Expect
) -> None:
    """Setting the extensible manager dynamically is refused, ignored, or treated as a mistake."""
    expect.given(case.dynamic == EXTENSIBLE, "the extensible manager is set dynamically")
    ignored = class_in_effect(ManagerSettings(case.conf, None), expect)
    sure = ignored is None or ignored in MANAGERS or is_undocumented_class(ignored)
    expect.given(sure, "it is clear which manager broker.conf selects")
    allowed = {DEFAULT, MANAGERS.get(ignored or SIMPLE, DEFAULT)}
    if case.conf is None:
        allowed.add("modular")  # No document says which value broker.conf has by default.
    if expect.reached("extensible" not in allowed):
        right = answer.refused is not None or answer.manager in allowed
        expect.that(right, f"a refusal, or {' or '.join(sorted(allowed))}", answer)


@CHOOSE.check("MANAGER-05", draws=mistaken())
def any_mistake_gives_the_simple_manager(
    case: ManagerSettings, answer: ChosenManager, expect: Expect
) -> None:
    """If the setting in effect names a class that does not exist, the simple manager runs."""
    name = class_in_effect(case, expect)
    if name is not None and expect.reached(is_undocumented_class(name)):
        _demand_manager(DEFAULT, answer, expect, f"'{name}' is not a load manager")


@CHOOSE.check_together("MANAGER-06", draws=set_and_set_back())
def a_manager_that_is_set_again_runs_again(
    exchanges: Sequence[Asked[ManagerSettings, ChosenManager]], expect: Expect
) -> None:
    """A manager that is set a second time runs again, even if others ran in between."""
    names = [class_in_effect(one.case, expect) for one in exchanges]
    expect.given(len(set(names)) > 1, "the manager is changed in between")
    expect.given(names[0] == names[-1], "the original manager is set again")
    expect.given(exchanges[0].case == exchanges[-1].case, "in the same place")
    _given_no_mistake_beside(exchanges[0].case, expect)
    name = names[0]
    if name in (SIMPLE, MODULAR):
        expect.reached()
        _demand_manager(MANAGERS[name], exchanges[-1].answer, expect, f"{name} is set again")


@CHOOSE.check("MANAGER-07", draws=without_dynamic_setting())
def the_simple_manager_runs_otherwise(
    case: ManagerSettings, answer: ChosenManager, expect: Expect
) -> None:
    """Without a dynamic setting, the simple manager runs, even if broker.conf names another."""
    if expect.reached(case.dynamic is None):
        _demand_manager(DEFAULT, answer, expect, "no dynamic setting names a load manager")


@CHOOSE.check("MANAGER-12", draws=mistaken())
def a_mistake_in_broker_conf_is_ignored(
    case: ManagerSettings, answer: ChosenManager, expect: Expect
) -> None:
    """Without a dynamic setting, the simple manager runs if broker.conf names no known class."""
    if _names_no_manager(case, expect):
        expect.that(
            answer.manager == DEFAULT, f"{DEFAULT}: '{case.conf}' is not a load manager", answer
        )


@CHOOSE.check("MANAGER-13", draws=mistaken())
def a_mistake_in_broker_conf_is_refused(
    case: ManagerSettings, answer: ChosenManager, expect: Expect
) -> None:
    """Without a dynamic setting, no manager runs if broker.conf names no known class."""
    if _names_no_manager(case, expect):
        refused = answer.refused is not None
        expect.that(refused, f"a refusal: '{case.conf}' is not a load manager", answer)


@CHOOSE.check("MANAGER-14", draws=set_in_conf(IN_EXTENSIONS))
def broker_conf_enables_the_class_of_extensions(
    case: ManagerSettings, answer: ChosenManager, expect: Expect
) -> None:
    """Without a dynamic setting, broker.conf can enable the extensible manager's released class."""
    if case.dynamic is None and expect.reached(case.conf == IN_EXTENSIONS):
        _demand_manager("extensible", answer, expect, f"broker.conf names {case.conf}")


def _names_no_manager(case: ManagerSettings, expect: Expect) -> bool:
    wrong = case.dynamic is None and case.conf is not None and is_undocumented_class(case.conf)
    return expect.reached(wrong)
