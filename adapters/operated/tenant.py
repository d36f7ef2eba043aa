"""The tenant in which a story is played on a user's cluster, and the changes to undo afterwards."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from secrets import token_hex
from typing import Any
from urllib.parse import quote

from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.admin_api.http import FORBIDDEN_STATUSES, NoAnswer
from pulsar_conformance.adapters.admin_api.remote import AdminApi
from pulsar_conformance.adapters.admin_api.requests import ADMIN
from pulsar_conformance.adapters.admin_api.waiting import ConditionTimeout, ConditionWaiter
from pulsar_conformance.adapters.operated.cluster_state import ClusterState

TENANT_PREFIX = "conformance-"
TENANT_NAME = re.compile(rf"{TENANT_PREFIX}[0-9a-f]{{8}}")
NAMESPACE_CHARACTERS = re.compile(r"[-=:.\w]+")
"""Pattern of the characters that are allowed in a namespace's name."""

WAS_DYNAMIC, WAS_NOT_DYNAMIC = "was:", "unset:"
"""Prefixes of namespaces whose names record a setting's former value.

`was:` precedes a dynamic value. `unset:` precedes a value that was in effect without a dynamic one.
"""

NOT_FOUND_STATUS = 404
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a process to end; the first is the keyboard interrupt."""

WHY_MAIN_THREAD = "only that thread can delay signals until every change is undone"
SECONDS = 20.0
"""Maximum time in seconds until something is removed, or until a change reaches every broker."""


class ChangesLeftBehind(Exception):
    """Raised if changes could not be undone; the message lists them with the reason."""


class NotTheMainThread(Exception):
    """Raised before a change to a cluster outside the main thread, which alone gets signals."""


class CannotUndo(Exception):
    """Raised before a change that could not be undone; the message gives the reason."""


class StoryTenant:
    """A tenant with a random name; it records all changes, to undo them in reverse order."""

    def __init__(self, api: AdminApi, state: ClusterState) -> None:
        self.name = f"{TENANT_PREFIX}{token_hex(4)}"
        self._api = api
        self._state = state
        self._alarm = ConditionWaiter()
        self._undo: list[tuple[str, Callable[[], None]]] = []

    def create(self) -> None:
        """Create the tenant. Errors: `NoAnswer`."""
        self._register_undo(
            f"tenant {self.name}", partial(self._delete_path, f"{ADMIN}/tenants/{self.name}")
        )
        self.ask(requests.create_tenant(self.name, self._state.cluster))

    def ask(self, request: requests.Request) -> None:
        """Send a request whose change need not be undone. Errors: `NoAnswer`."""
        self._api.change(*request)

    def namespace(self, name: str, bundles: int | None) -> None:
        """Create a namespace in the tenant. Errors: `NoAnswer`."""
        space = f"{self.name}/{name}"
        self._register_undo(f"namespace {space}", partial(self._delete_namespace, space))
        self.ask(requests.create_namespace(space, bundles))

    def domain(self, name: str, brokers: list[str]) -> None:
        """Register brokers in a failure domain; without brokers, delete the domain. Errors:
        `NoAnswer`.
        """
        cluster = self._state.cluster
        request = requests.set_domain(name, brokers, cluster)
        what = f"failure domain {name}"
        if all(known != what for known, _ in self._undo):
            self._register_undo(what, partial(self._delete_path, request[1]))
        self.ask(request)

    def change_setting(self, name: str, value: str) -> None:
        """Change a setting dynamically. Errors: `NoAnswer`, `CannotUndo`, `ConditionTimeout`."""
        before = self._dynamic_values().get(name)
        kept = before if before is not None else self._values_in_force(name).pop()
        marker = f"{WAS_NOT_DYNAMIC if before is None else WAS_DYNAMIC}{name}={kept}"
        if kept in ("", "null", "Optional.empty") or not NAMESPACE_CHARACTERS.fullmatch(marker):
            raise CannotUndo(f"{name}: its value, {kept or 'empty'}, could not be restored later")
        # The name of a namespace records the former value, so that a later run can report it.
        self.namespace(marker, 1)
        self._register_undo(
            f"setting {name}", partial(self._restore_setting, name, kept, unset=before is None)
        )
        self._set_everywhere(name, value)

    def undo(self) -> None:
        """Undo all changes, even if undoing some raises errors; signals are deferred meanwhile.

        Errors: `ChangesLeftBehind`.
        """
        left, why = [], ""
        with signals_deferred():
            while self._undo:
                what, undone = self._undo.pop()
                try:
                    undone()
                except Exception as error:
                    left.append(what)
                    expected = isinstance(error, NoAnswer | ConditionTimeout)
                    why = str(error) if expected else f"{type(error).__name__}: {error}"
            if left:
                where = self._state.cluster
                problem = f"changes in {where} could not be undone: {', '.join(left)} ({why})"
                raise ChangesLeftBehind(f"{problem}; undo them with pulsar-admin")

    def wait_until(self, holds: Callable[[], bool], condition: str) -> None:
        """Wait until a condition is true. Errors: `ConditionTimeout`, `NoAnswer`."""
        self._alarm.wait_until(holds, condition, SECONDS)

    def _register_undo(self, what: str, undone: Callable[[], None]) -> None:
        """Register the function that undoes a change; call this before the change, which may fail
        halfway.
        """
        self._undo.append((what, undone))

    def _delete_path(self, path: str) -> None:
        self.wait_until(lambda: self._try_to_delete(path), f"{path} is deleted")

    def _delete_namespace(self, space: str) -> None:
        def emptied() -> bool:
            with suppress(NoAnswer):
                for topic in self._api.get(f"{ADMIN}/persistent/{quote(space)}"):
                    _, path, _ = requests.create_topic(topic)
                    self._try_to_delete(f"{path}?force=true")
            return self._try_to_delete(f"{ADMIN}/namespaces/{quote(space)}")

        self.wait_until(emptied, f"{space} is deleted")

    def _try_to_delete(self, path: str) -> bool:
        """Request the deletion of an object; return True if it no longer exists.

        Errors: `NoAnswer` if a retry is pointless.
        """
        try:
            self._api.change("DELETE", path)
        except NoAnswer as error:
            if error.status in (0, *FORBIDDEN_STATUSES):
                raise
            return error.status == NOT_FOUND_STATUS
        return True

    def _set_everywhere(self, name: str, value: str) -> None:
        self.ask(requests.set_dynamic_setting(name, value))
        self.wait_until(
            lambda: self._values_in_force(name) == {value},
            f"{name}={value} applies at every broker",
        )

    def _restore_setting(self, name: str, value: str, *, unset: bool) -> None:
        """Restore the former value of a setting.

        With `unset`, the setting was not dynamic before, so its dynamic value is removed
        afterwards. The former value must be set first, because brokers would otherwise keep the
        story's value.
        """
        self._set_everywhere(name, value)
        if unset:
            self._delete_path(f"{ADMIN}/brokers/configuration/{quote(name)}")

    def _values_in_force(self, name: str) -> set[str]:
        path = f"{ADMIN}/brokers/configuration/runtime"
        brokers = map(self._api.url_of, self._state.sight.owners)
        return {_without_quotes(str(self._api.get(path, base).get(name, ""))) for base in brokers}

    def _dynamic_values(self) -> dict[str, str]:
        values: dict[str, str] = self._api.get(f"{ADMIN}/brokers/configuration/values")
        return values


def _without_quotes(text: str) -> str:
    within = re.fullmatch(r"Optional\[(.*)\]", text)
    return within[1] if within else text


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer signals until the block ends, even if the block raises an error.

    A deferred signal then becomes an interrupt, whose message includes that error.
    """
    came: list[int] = []
    with _handle_signals(lambda number, _: came.append(number), ENDING_SIGNALS):
        try:
            yield
        except Exception as error:
            if came:
                raise KeyboardInterrupt(str(error)) from error
            raise
    if came:
        raise KeyboardInterrupt


def interrupted_by_every_signal() -> AbstractContextManager[None]:
    """Turn each signal within the block into an interrupt, so that changes are undone.

    Errors: `NotTheMainThread` outside the main thread, since other threads get no signals.
    """
    return _handle_signals(signal.default_int_handler, ENDING_SIGNALS[1:])


@contextmanager
def _handle_signals(
    handler: Callable[[int, Any], object], numbers: Iterable[int]
) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        raise NotTheMainThread(
            "a cluster can be changed only from the main thread, because " + WHY_MAIN_THREAD
        )
    former = {one: signal.signal(one, handler) for one in numbers}
    try:
        yield
    finally:
        for one, earlier in former.items():
            signal.signal(one, earlier)


def changes_left_behind(api: AdminApi, state: ClusterState) -> Iterator[str]:
    """Yield the changes that earlier runs did not undo, one line per tenant."""
    try:
        tenants = [one for one in api.get(f"{ADMIN}/tenants") if TENANT_NAME.fullmatch(str(one))]
        for tenant in sorted(tenants):
            spaces: list[Any] = api.get(f"{ADMIN}/namespaces/{tenant}")
            domains = [one for one in state.sight.domains if one.startswith(f"{tenant}-")]
            yield _left_behind_text(tenant, sorted(map(str, spaces)), sorted(domains))
    except NoAnswer:
        return


def _left_behind_text(tenant: str, spaces: list[str], domains: list[str]) -> str:
    parts = [f"tenant {tenant}", *(f"failure domain {one}" for one in domains)]
    for space in spaces:
        name = space.partition("/")[2]
        setting, _, value = (
            name.removeprefix(WAS_DYNAMIC).removeprefix(WAS_NOT_DYNAMIC).partition("=")
        )
        if name.startswith(WAS_DYNAMIC):
            parts.append(f"setting {setting}, which was set to {value}")
        elif name.startswith(WAS_NOT_DYNAMIC):
            parts.append(f"setting {setting}, which was not set, with {value} in force")
        parts.append(f"namespace {space}")
    return f"left by a run that was killed or is still running: {', '.join(parts)}"
