"""`pulsar-conformance check ADAPTER`: test whether an implementation follows the protocol."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial

from pulsar_conformance.adapters.arguments import (
    UNUSABLE_STATUS,
    add_adapter,
    add_judging_options,
    limits_within,
    readings_in_arguments,
)
from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.protocol import JSON
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.reference.answers.shedding import NEWER_STRATEGIES, STRATEGIES
from pulsar_conformance.specs import UnknownName, load
from pulsar_conformance.specs.text import counted

UNKNOWN_OPERATION = "no.such_operation"
"""An operation that no implementation offers."""


@dataclass
class ProtocolResults:
    """The results of a protocol check: a line for each check, and whether all checks passed."""

    lines: list[str] = field(default_factory=list)
    ok: bool = True

    def good(self, text: str) -> None:
        """Record a check that passed."""
        self.lines.append(f"ok    {text}")

    def note(self, text: str) -> None:
        """Record a note that is not a failure."""
        self.lines.append(f"note  {text}")

    def bad(self, text: str) -> None:
        """Record a check that failed."""
        self.lines.append(f"FAIL  {text}")
        self.ok = False

    def attempt(self, title: str, connection: Connection, check: Callable[[], str]) -> None:
        """Run one check and record the result; if the connection is closed, only add a note."""
        if connection.closed:
            self.note(f"not tried, because the connection is closed: {title}")
            return
        try:
            wrong = check()
        except AdapterError as error:
            wrong = _indented_message(error)
        if wrong:
            self.bad(f"{title}: {wrong}")
        else:
            self.good(title)


def check_adapter(
    name: str, profile: str, readings: Mapping[str, str], limits: Limits | None = None
) -> ProtocolResults:
    """Test whether an implementation follows the protocol.

    `readings` are the readings that it must follow instead of the profile's own.
    """
    found = ProtocolResults()
    try:
        every = {**load().default_readings(profile), **readings}
        connection = connect(name, profile, every, limits)
    except AdapterError as error:
        title = "says hello in protocol 1" if error.phase == "hello" else "starts"
        if error.phase == "hello":
            found.good("starts")
        found.bad(f"{title}: {_indented_message(error)}")
        return found
    with connection:
        found.good("starts")
        hello = connection.hello
        label = f"{hello.name} {hello.version}".strip()
        found.good(f"says hello in protocol 1: {label}, batches of {hello.batch}")
        _check_operations(found, connection)
        _check_declared_readings(found, connection, profile, readings)
        operations = _known_operations(connection)
        for operation in operations:
            found.attempt(
                f"answers {operation}", connection, partial(_check_one_case, connection, operation)
            )
        if operations:
            _check_batches(found, connection, operations)
        title = "answers an operation that it does not know with an error"
        found.attempt(title, connection, partial(_check_unknown_operation, connection))
        found.attempt("ends on bye", connection, partial(_send_bye, connection))
    return found


def _indented_message(error: AdapterError) -> str:
    """Return an error's message without adapter and phase, its further lines indented."""
    text = str(error).removeprefix(f"{error.adapter}: ").removeprefix(f"{error.phase}: ")
    return text.replace("\n", "\n      ")


def _cases(connection: Connection, operation: str) -> Sequence[JSON]:
    """Return the operation's examples or, if the adapter answers only cases of its own, these
    cases.
    """
    own = connection.hello.own
    if own is None:
        return OPERATIONS[operation].examples
    rows = (row for rows in own.values() for row in rows)
    return [case for row in rows for name, case in row if name == operation]


def _known_operations(connection: Connection) -> list[str]:
    return [name for name in OPERATIONS if name in connection.hello.operations]


def _check_operations(results: ProtocolResults, connection: Connection) -> None:
    """Check that the operations in the hello message exist and that there is at least one."""
    offered = connection.hello.operations
    for name in offered:
        if name not in OPERATIONS:
            near = get_close_matches(name, OPERATIONS, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            results.bad(f"names operations that exist: there is no {name}{meant}")
    asked = _known_operations(connection)
    if not asked:
        known = ", ".join(OPERATIONS)
        results.bad(f"names an operation that can be asked: it offers none of {known}")
    elif set(offered) <= set(OPERATIONS):
        results.good(f"names operations that exist: {', '.join(asked)}")


def _check_declared_readings(
    results: ProtocolResults, connection: Connection, profile: str, pinned: Mapping[str, str]
) -> None:
    """Check the declared readings; note unused ones and undocumented strategies."""
    hello = connection.hello
    try:
        load().check_readings(hello.readings)
    except UnknownName as error:
        results.bad(f"declares readings that exist: {error}")
    else:
        for unused in load().unused_readings(profile, hello.readings, pinned):
            results.note(f"by {profile}, declares {unused}")
    sheds = [name for name in hello.operations if name.startswith("shed.")]
    if hello.strategies == () and sheds:
        missing = 'but names no strategy, such as "OverloadShedder", in strategies'
        results.note(f"offers {', '.join(sheds)}, {missing}: no rule about shedding will be judged")
    for strategy in hello.strategies or ():
        name = strategy.rpartition(".")[2]
        if name not in (documented := {**STRATEGIES, **NEWER_STRATEGIES}):
            near = get_close_matches(name, documented, n=1, cutoff=0.75)
            meant = f"; did you mean {near[0]}?" if near else ""
            judged = "which no document mentions: it is judged only by rules for every strategy"
            results.note(f"offers {strategy}, {judged}{meant}")


def _check_one_case(connection: Connection, operation: str) -> str:
    answer = connection.ask(operation, _cases(connection, operation)[:1])[0]
    return f"it failed on a legal case: {answer['failed']}" if "failed" in answer else ""


def _check_batches(results: ProtocolResults, connection: Connection, operations: list[str]) -> None:
    """Check that a batch is answered completely and in order.

    The batch has all examples of one operation: the operation with the most examples, among the
    quick operations if there are any.
    """
    quick = [name for name in operations if name not in connection.hello.costly] or operations
    operation = max(quick, key=lambda name: len(_cases(connection, name)))
    cases = _cases(connection, operation)
    title = f"answers a batch in order ({counted(len(cases), 'case')} of {operation})"
    results.attempt(title, connection, partial(_check_order, connection, operation, cases))
    equal = partial(_check_equal_cases, connection, operation, cases[0])
    results.attempt("answers each of several equal cases", connection, equal)


def _check_equal_cases(connection: Connection, operation: str, case: JSON) -> str:
    connection.ask(operation, [case] * 3)
    return ""


def _send_bye(connection: Connection) -> str:
    connection.bye()
    return ""


def _check_order(connection: Connection, operation: str, cases: Sequence[JSON]) -> str:
    """Return an error if a batch is answered in the wrong order; empty if the order is right."""
    alone = [_without_why(connection.ask(operation, [case])[0]) for case in cases]
    together = [_without_why(answer) for answer in connection.ask(operation, cases)]
    if together == alone or sorted(map(repr, together)) != sorted(map(repr, alone)):
        return ""
    return "in a batch, the cases got each other's answers"


def _without_why(answer: dict[str, JSON]) -> dict[str, JSON]:
    return {name: answer[name] for name in sorted(answer) if name != "why"}


def _check_unknown_operation(connection: Connection) -> str:
    """Return an error unless an unknown operation is answered by `error` or `unsupported`."""
    try:
        answer = connection.ask(UNKNOWN_OPERATION, [{}])[0]
    except AdapterError as error:
        if error.code:
            return ""
        raise
    return "" if "unsupported" in answer else f"it answered {UNKNOWN_OPERATION} with {answer}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `check`."""
    add_adapter(parser)
    add_judging_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print a line per check; return 0 if all passed, else 2."""
    given = readings_in_arguments(args)
    found = check_adapter(args.adapter, args.profile, given, limits_within(args.time_limit))
    print("\n".join(found.lines))
    print(f"{args.adapter} {'follows the protocol' if found.ok else 'cannot be used as it is'}")
    return 0 if found.ok else UNUSABLE_STATUS
