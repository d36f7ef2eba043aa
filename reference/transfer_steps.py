"""Derivation steps of TransferShedder: the conditions, and why each bundle goes or stays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from math import sqrt

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import (
    Fraction,
    Rate,
    plain,
    quantity,
    throughput,
    total,
)
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.shedding import (
    HITS,
    LIFETIME,
    MAX_REPORTED_BUNDLES,
    MAX_SHEDDING_BROKERS,
    TRANSFER_ENABLED,
    TRANSFER_TARGET,
    Cycle,
)
from pulsar_conformance.reference.shedding_steps import keep_all_steps, last_unload_text
from pulsar_conformance.reference.transfer import (
    UNDERLOADED,
    Balance,
    Transfer,
    TransferPlan,
    assignment_under_policies,
    data_age,
    kept_by_policy,
    measured_throughput,
    transferable,
)
from pulsar_conformance.specs.text import first_of

MAX_NAMED_BROKERS = 5
"""Maximum number of brokers that a step names; longer lists are cut."""

NEVER_REPORTED = "it was never measured; only the modular load manager assumes rates then (DATA-04)"
"""Why TransferShedder leaves a bundle without samples where it is. [TRANSFER-17]"""


def transfer_conditions(cycle: Cycle) -> Iterator[Step]:
    """Yield as steps the loads, each condition, and the number of hits."""
    plan = TransferPlan(cycle)
    balance = plan.balance
    for name in cycle.brokers:
        if name not in balance.load:
            yield Step("ignored", f"{name}: its data are {_age_text(cycle, name)}")
    if balance.load:
        yield from _condition_steps(balance)
    needed = plain(cycle.settings.number(HITS))
    yield Step("hits", f"{quantity(plan.hits, 'cycle')} in a row, more than {needed} needed")
    if plan.obstacle:
        yield Step("decision", f"nothing is moved: {plan.obstacle}")


def _age_text(cycle: Cycle, name: str) -> str:
    age, longest = data_age(cycle, name), cycle.settings.number(LIFETIME)
    return f"{quantity(age, 'second')} old, more than {plain(longest)} ({LIFETIME})"


def _condition_steps(balance: Balance) -> Iterator[Step]:
    loads = " + ".join(plain(one) for one in balance.load.values())
    count = len(balance.load)
    mean, target = plain(balance.mean), plain(balance.target)
    yield Step("mean load", f"({loads}) / {count} = {mean} %")
    yield Step("standard deviation", f"{_deviation_text(balance)} ({TRANSFER_TARGET})")
    share = f"min({plain(UNDERLOADED)}, {plain(balance.target / 100)} / 2)"
    bound = f"{mean} x {share} = {plain(balance.low_bound)} %"
    low = ", ".join(balance.underloaded)
    each = f"every broker has traffic, and at least {bound}"
    yield Step("underloaded", f"{low}: no traffic, or under {bound}" if low else f"none: {each}")
    threshold = plain(balance.cycle.settings.number(OVERLOAD_THRESHOLD))
    most = f"{mean} + {target} = {plain(balance.mean + balance.target)} %"
    both = f"over {threshold} % and over {most}"
    high = ", ".join(balance.overloaded)
    yield Step("overloaded", f"{high}: {both}" if high else f"none: no broker is {both}")


def _deviation_text(balance: Balance) -> str:
    over = ">" if balance.deviates else "<="
    return f"{plain(Fraction(sqrt(balance.variance)))} points {over} {plain(balance.target)}"


def transfers_of_broker(plan: TransferPlan, name: str) -> Iterator[Step]:
    """Yield as steps the traffic that a broker has to move, and why each bundle goes or stays."""
    cycle, broker = plan.cycle, plan.cycle.brokers[name]
    attempt = next((one for one in plan.attempts if one.source == name), None)
    movable = transferable(cycle, broker)
    kept_by = partial(_why_not_transferable, cycle, frozenset(movable))
    if attempt is None:
        why = "" if plan.obstacle else _why_not_tried(plan, name)
        yield from keep_all_steps(cycle, broker, why, plan.obstacle, kept_by)
        return
    yield _amount_step(plan, attempt)
    if not attempt.bundles:
        yield Step("decision", f"{name} {_why_none_goes(plan, attempt, movable)}: it keeps all")
    left = _left_before(cycle, attempt, movable)
    for bundle in sorted(broker.bundles, key=lambda one: (-measured_throughput(cycle, one), one)):
        carried = f"{bundle} = {throughput(measured_throughput(cycle, bundle))}"
        if bundle in attempt.bundles:
            named = f", to {attempt.target}" if cycle.settings.flag(TRANSFER_ENABLED) else ""
            yield Step("goes", f"{carried}{named}")
        else:
            why = kept_by(bundle) or _why_unfit(cycle, bundle, attempt.target, left[bundle])
            yield Step("stays", f"{carried}, {why}")


def _amount_step(plan: TransferPlan, attempt: Transfer) -> Step:
    """Return the step that converts half of the difference of two brokers' loads to traffic."""
    load, target = plan.balance.load, attempt.target
    high, low = (plain(load[one]) for one in (attempt.source, target))
    traffic = throughput(plan.balance.traffic[attempt.source])
    before = plan.attempts[: plan.attempts.index(attempt)]
    taken = any(one.bundles for one in before)
    which = f"{target}, the {'next ' if taken else ''}least loaded"
    amount = throughput(attempt.amount)
    if not load[attempt.source]:
        return Step("to move", f"half of {high} - {low} % = {amount}, to {which}")
    return Step("to move", f"({high} - {low}) / 2 / {high} of {traffic} = {amount}, to {which}")


def _why_not_tried(plan: TransferPlan, name: str) -> str:
    """Return why a broker was not to shed any bundles, as text that follows its name."""
    cycle, moves = plan.cycle, plan.moves
    if name not in plan.balance.load:
        return f"has load data that are {_age_text(cycle, name)}"
    for one in moves:
        if one.target == name:
            return f"takes bundles from {one.source}"
    most = cycle.settings.number(MAX_SHEDDING_BROKERS)
    if len(moves) >= most:
        used = f", used up by {_brokers_text([one.source for one in moves])}" if moves else ""
        return f"gets no turn, as {MAX_SHEDDING_BROKERS} is {plain(most)}{used}"
    after = plan.balance
    for one in moves:
        carried = total(cycle.rates(bundle).throughput for bundle in one.bundles)
        after = after.after(one.source, one.target, carried)
    if not after.uneven:
        return (
            f"gets no turn, as the load is even enough after the moves ({_deviation_text(after)})"
        )
    return "gets no turn, as every other broker has had one or takes bundles"


def _why_none_goes(plan: TransferPlan, attempt: Transfer, movable: Sequence[str]) -> str:
    """Return why no bundle moves between the two brokers of a pair.

    `movable` are the bundles that may leave the broker, most traffic first.
    """
    cycle, target = plan.cycle, attempt.target
    if not cycle.brokers[attempt.source].bundles:
        return "has no bundles"
    if not movable:
        return "has no bundle that may leave it"
    if not attempt.amount:
        return f"has no more load than {target}"
    smallest = measured_throughput(cycle, movable[-1])
    if smallest > attempt.amount:
        least = f"the smallest that may leave it carries {throughput(smallest)}"
        return f"has no bundle that fits, as {least}, more than {throughput(attempt.amount)}"
    if all(_why_not_permitted(cycle, one, target) for one in movable):
        return f"has no bundle that policies let {target} take"
    return f"has no bundle that fits and that policies let {target} take"


def _left_before(cycle: Cycle, attempt: Transfer, movable: Sequence[str]) -> Mapping[str, Rate]:
    """Return the traffic still to move when each bundle in `movable` was considered."""
    left, found = attempt.amount, {}
    for bundle in movable:
        found[bundle] = left
        if bundle in attempt.bundles:
            left -= measured_throughput(cycle, bundle)
    return found


def _why_not_transferable(cycle: Cycle, movable: Collection[str], bundle: str) -> str:
    """Return why a bundle may not leave its broker; empty if it may."""
    if reason := kept_by_policy(cycle, bundle):
        return reason
    if moved := cycle.moved_with(bundle):
        return last_unload_text(cycle, bundle, moved)
    if bundle in movable:
        return ""
    if not measured_throughput(cycle, bundle):
        return "it carries nothing" if cycle.measured(bundle) else NEVER_REPORTED
    top = plain(cycle.settings.number(MAX_REPORTED_BUNDLES))
    return f"not among the {top} bundles with the most traffic ({MAX_REPORTED_BUNDLES})"


def _why_unfit(cycle: Cycle, bundle: str, target: str, left: Rate) -> str:
    """Return why a bundle that may leave its broker does not go to `target`."""
    refused = _why_not_permitted(cycle, bundle, target)
    if measured_throughput(cycle, bundle) <= left:
        return refused
    over = f"more than the {throughput(left)} left" if left else "nothing is left to move"
    return f"{over}; {refused}" if refused else over


def _why_not_permitted(cycle: Cycle, bundle: str, target: str) -> str:
    """Return why policies do not let a broker take a bundle; empty if they do."""
    assignment = assignment_under_policies(cycle, bundle)
    if assignment is None or target in assignment.spread.best:
        return ""
    namespace = namespace_of(bundle)
    if target not in assignment.permitted:
        permitted = _brokers_text(assignment.permitted) or "no broker"
        return f"not for {target}: isolation policies permit {permitted} for {namespace}"
    spread = assignment.spread
    best = f"{_brokers_text(spread.best)} for {namespace}"
    return f"not for {target}: the anti-affinity group {spread.group} allows {best}"


def _brokers_text(names: Sequence[str]) -> str:
    """Format a list of brokers, shortened if it is long."""
    return first_of(names, MAX_NAMED_BROKERS)
