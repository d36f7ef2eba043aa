"""SHED: what holds for every shedding strategy."""

from __future__ import annotations

from collections import Counter

from pulsar_conformance.conformance.checks import facts
from pulsar_conformance.conformance.draws import shedding as draws
from pulsar_conformance.conformance.expect import SHARE, Expect
from pulsar_conformance.conformance.judge import Asked
from pulsar_conformance.conformance.registry import check
from pulsar_conformance.conformance.views import Unloading
from pulsar_conformance.reference.overload import need_of
from pulsar_conformance.reference.shedding import STRATEGY, Cycle

ORDERED = ("OverloadShedder", "ThresholdShedder")


@check("SHED-01", draws=draws.cycles(draws.switched_off))
def nothing_is_shed_when_switched_off(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """With shedding switched off, nothing is unloaded."""
    switched_on = case.settings.flag("loadBalancerSheddingEnabled")
    if expect.reached(not switched_on):
        expect.nothing(answer, "shedding is switched off")


@check("SHED-02", draws=draws.cycles(draws.any_strategy))
def only_owned_bundles_go(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker gives up bundles that it owns."""
    owned = {(name, b) for name, broker in case.brokers.items() for b in broker.bundles}
    expect.reached(case.enabled and bool(owned))
    wrong = (
        f"{bundle} of {broker}" for broker, bundle in answer.pairs if (broker, bundle) not in owned
    )
    expect.nothing(wrong, "the broker does not own it")


@check("SHED-03", draws=draws.cycles(draws.any_strategy))
def each_bundle_goes_once(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """No bundle is unloaded twice in one cycle."""
    expect.reached(case.enabled and any(broker.bundles for broker in case.brokers.values()))
    counted = Counter(bundle for _, bundle in answer.pairs)
    expect.nothing((b for b, count in counted.items() if count > 1), "unloaded more than once")


@check("SHED-04", draws=draws.changed(draws.after_splits, draws.lately_unloaded))
def recently_unloaded_bundles_stay(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A bundle that was unloaded within the grace period is left where it is."""
    blocked = {b for broker in case.brokers.values() for b in broker.bundles if case.blocked(b)}
    expect.reached(case.enabled and bool(blocked))
    wrong = (bundle for _, bundle in answer.pairs if bundle in blocked)
    expect.nothing(wrong, f"unloaded within the last {case.grace} minutes")


def _alike(asked: list[Asked], expect: Expect) -> None:
    """The same cluster, asked twice, is shed alike."""
    (case, _), (_, named) = asked
    expect.given(case.enabled and named.cycle.enabled, "shedding runs")
    expect.given(case.case["brokers"] == named.cycle.case["brokers"], "one cluster")
    tied = any(facts.tied(case, broker) for broker in case.brokers.values())
    expect.given(not tied, "no two bundles of a broker carry alike")


def _as_named(asked: list[Asked], expect: Expect) -> None:
    _alike(asked, expect)
    (_, answer), (_, named) = asked
    if expect.reached(bool(named.pairs)):
        same = sorted(answer.pairs) == sorted(named.pairs)
        expect.that(same, f"as {named.cycle.strategy}: {named}", answer)


@check("SHED-05", draws=draws.pairs(draws.unnamed, draws.threshold_without_ties), together=True)
def threshold_shedder_is_the_default(asked: list[Asked], expect: Expect) -> None:
    """With no strategy named anywhere, what ThresholdShedder would unload is unloaded."""
    expect.given(len(asked) == 2, "a cycle with a strategy and one without")
    named, unnamed = asked
    nowhere = unnamed.case.case["strategy"] is None and STRATEGY not in unnamed.case.settings.given
    expect.given(nowhere, "no strategy is named")
    expect.given(named.case.strategy == "ThresholdShedder", "against ThresholdShedder")
    _as_named([unnamed, named], expect)


@check("SHED-06", draws=draws.pairs(draws.by_settings, draws.without_ties), together=True)
def the_setting_selects_the_strategy(asked: list[Asked], expect: Expect) -> None:
    """A strategy that the setting names sheds as it does when the case names it."""
    expect.given(len(asked) == 2, "a cycle by the case's strategy and one by the setting's")
    named, by_setting = asked
    expect.given(named.case.case["strategy"] is not None, "the case names a strategy")
    expect.given(by_setting.case.case["strategy"] is None, "the setting names it")
    expect.given(named.case.strategy == by_setting.case.strategy, "it is the same")
    _as_named([by_setting, named], expect)


@check("SHED-07", draws=draws.cycles(draws.overload, draws.threshold))
def bundles_with_more_traffic_go_first(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """No bundle goes before, or instead of, one of its broker's that carries more."""
    expect.given(case.enabled and case.strategy in ORDERED, "the strategy takes the busiest first")
    one = case.strategy == "OverloadShedder" and expect.readings["overload-amount"] == "one"
    expect.given(not one, "more than one bundle may go")
    for broker in case.brokers.values():
        given = [b for b in facts.own(answer, broker) if not case.blocked(b)]
        kept = [bundle for bundle in case.movable(broker) if bundle not in given]
        expect.reached(bool(given) and len(given) + len(kept) > 1)
        later = max(kept, key=case.traffic, default=None)
        for bundle in reversed(given):
            less, more = case.traffic(bundle), case.traffic(later or bundle)
            allowed = f"{later} = {case.written(more)} before {bundle} = {case.written(less)}"
            expect.that(less >= more * (1 - SHARE), allowed, answer)
            later = bundle if later is None or less > more else later


@check("SHED-08", draws=draws.cycles(draws.overloaded_under_others))
def overloaded_brokers_shed_under_every_strategy(
    case: Cycle, answer: Unloading, expect: Expect
) -> None:
    """An overloaded broker gives up its excess, whichever strategy is set."""
    expect.given(case.enabled and case.strategy != "OverloadShedder", "another strategy is set")
    for broker in case.brokers.values():
        sure = facts.overloaded(case, broker) and facts.able(case, broker)
        if not sure:
            continue
        if expect.reached(facts.loaded(case, broker)):
            allowed = f"{broker.name}, which is overloaded, sheds"
            expect.that(bool(answer.of(broker)), allowed, answer)
        one, need = expect.readings["overload-amount"] == "one", need_of(case, broker)
        if not one and facts.carried(case, case.movable(broker)) >= need:
            of = f"traffic shed by {broker.name}, which is overloaded,"
            expect.at_least(facts.shed(answer, broker), need, of, case.written)
