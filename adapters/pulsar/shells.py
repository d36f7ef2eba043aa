"""Stubs: objects of a release's own types that surround the tested class.

A stub replies to a call by the method's name. For other names, it returns something empty: no
policy, no stored data, a completed future. `STANDINS` lists all stubs, each with the reason why it
is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import jpype
from pulsar_conformance.adapters.pulsar.jvm import Java, field, java_class, java_list

Replies = Mapping[str, Any]
"""Replies to calls: values, or functions of a call's arguments, by method or Type.method."""

Reply = Callable[[Java], Java]
"""Function that returns the value of a call."""

STANDINS: Mapping[str, str] = {
    "PulsarService": "a running broker; it returns the configuration and the other stubs",
    "NamespaceService": "needs a running broker; returns the number of bundles in the case",
    "LeaderElectionService": "needs a metadata store; the case decides whether this broker leads",
    "BrokerService": "its own methods apply dynamic settings; only the fields for settings are set",
    "DynamicConfigurationResources, ZooKeeperDataCache": (
        "need a metadata store; the case gives the dynamic settings"
    ),
    "PulsarAdmin": "a client of a cluster; records the requested unloads and splits",
    "PulsarResources, ConfigurationCacheService": "need a metadata store; the case gives "
    "anti-affinity groups, failure domains and isolation policies, and there are no others",
    "The choice among brokers that the anti-affinity filter leaves": (
        "made by the placement strategy, at random among brokers without traffic"
    ),
    "LockManager, ZooKeeperChildrenCache": (
        "need a metadata store; the active brokers are those of the case"
    ),
    "MetadataStore, ZooKeeper": "nothing is stored except the data of the case",
    "OwnershipCache": "needs a metadata store; every new bundle can be acquired",
    "ServiceUnitStateTableView, BrokerRegistry": (
        "need a topic and a metadata store; the case gives the states of bundles, and every broker "
        "is active"
    ),
    "ModularLoadManagerImpl.selectBroker": (
        "the destination of a bundle is decided by "
        "place.select, at random among equals; here it is any broker that does not own the bundle"
    ),
    "NamespaceBundleFactory.invalidateBundleCache": (
        "nothing is really split, so that the bundles of a namespace stay known"
    ),
}
"""The stubs by type or method, each with the reason why it is allowed."""


class StubBuilder:
    """Builder of the stubs for one case, all of which give the same replies."""

    def __init__(self, replies: Replies) -> None:
        self._mockito = java_class("org.mockito.Mockito")
        self._answer = _StubReplies(replies, self._empty_value)
        self._replied = frozenset(replies)
        self._made: dict[str, Java] = {}
        _IN_USE.append(self)

    def stub_of(self, type_name: str) -> Java:
        """Return the stub of a type: the same object every time."""
        if type_name not in self._made:
            settings = self._mockito.withSettings().stubOnly().defaultAnswer(self._answer)
            self._made[type_name] = self._mockito.mock(java_class(type_name), settings)
        return self._made[type_name]

    def partial_stub(self, type_name: str, *arguments: Java) -> Java:
        """Return a real, normally constructed object; only methods with a reply are stubbed."""
        settings = self._mockito.withSettings().stubOnly().useConstructor(*arguments)
        return self._with_replies(type_name, settings)

    def unconstructed_object(self, type_name: str) -> Java:
        """Return a real object without calling its constructor; methods with a reply are stubbed.

        The object gets a logger.
        """
        java = self._with_replies(type_name, self._mockito.withSettings().stubOnly())
        log = field(java, "log")
        if log is not None and log.get(java) is None:
            log.set(java, java_class(str(log.getType().getName())).get(jpype.JString(type_name)))
        return java

    def forget(self) -> None:
        """Release all objects that were returned; stubs no longer answer."""
        self._made.clear()
        self._answer.forget()

    def _with_replies(self, type_name: str, settings: Java) -> Java:
        """Return an object of a type whose methods with a reply are stubbed; all others run
        normally.
        """
        settings = settings.defaultAnswer(self._mockito.CALLS_REAL_METHODS)
        java = self._mockito.mock(java_class(type_name), settings)
        for method in _methods_with_reply(type_name, self._replied):
            _stub(self._mockito.doAnswer(self._answer), java, method)
        return java

    def _empty_value(self, method: Java) -> Reply:
        """Return the default reply of a method: the empty value of its return type."""
        kind = _return_type(method)
        if kind.startswith(FUTURE):
            return _ConstantReply(
                completed_future(
                    java_optional(None) if kind.startswith(f"{FUTURE}<{OPTIONAL}") else None
                )
            )
        if kind.startswith(OPTIONAL):
            return _ConstantReply(java_optional(None))
        if kind.startswith(STUBBED_PACKAGES):
            raw = kind.partition("<")[0]
            return _ConstantReply(None if _is_final(raw) else self.stub_of(raw))
        return lambda invocation: self._default(invocation, method)

    def _default(self, invocation: Java, method: Java) -> Java:
        found = self._mockito.RETURNS_DEFAULTS.answer(invocation)
        if found is None:
            UNREPLIED.add(_reply_names(method)[0])
        return found


_IN_USE: list[StubBuilder] = []


def release_stubs() -> None:
    """Release a case's stubs; otherwise, Java and Python objects would keep each other alive."""
    while _IN_USE:
        _IN_USE.pop().forget()
    UNREPLIED.clear()


UNREPLIED: set[str] = set()
"""Methods, as Type.method, that were called without a reply and returned null.

It covers the calls since the last `release_stubs`.
"""

NULL_RETURNED_BY = re.compile(r'because the return value of "([\w.$]+\.)?(\w+\.\w+)\(')
"""Pattern of the method that returned null, in the message of a NullPointerException."""


def stub_error(error: Java) -> str | None:
    """Return the reason if a stub caused an exception; None if the release caused it.

    Stubs cause exceptions of Mockito, Python exceptions that Java passed on, and exceptions due to
    a null from a method without a reply.
    """
    while error is not None:
        text = str(error.toString())
        if text.startswith(("org.mockito.", "org.jpype.")):
            return text
        returned = NULL_RETURNED_BY.search(text)
        if returned and returned[2] in UNREPLIED:
            return f"no stub has a reply for {returned[2]}: {text}"
        error = error.getCause()
    return None


FUTURE = "java.util.concurrent.CompletableFuture"
OPTIONAL = "java.util.Optional"
STUBBED_PACKAGES = (
    "org.apache.pulsar.",
    "org.apache.bookkeeper.",
    "org.apache.zookeeper.",
    "java.util.concurrent.",
)
"""Packages whose types are stubbed."""


@cache
def _return_type(method: Java) -> str:
    """Return a method's return type with its type arguments."""
    raw, whole = method.getReturnType(), method.getGenericReturnType()
    _, _, arguments = str(whole.getTypeName()).partition("<")
    return f"{raw.getName()}<{arguments}"


@cache
def _is_final(type_name: str) -> bool:
    modifier = java_class("java.lang.reflect.Modifier")
    return bool(modifier.isFinal(java_class(type_name).class_.getModifiers()))


def completed_future(value: Java = None) -> Java:
    """Return a completed future, since the release waits for its result."""
    return java_class(FUTURE).completedFuture(value)


def java_optional(value: Java) -> Java:
    """Return an Optional that contains the value; an empty Optional for None."""
    return java_class(OPTIONAL).ofNullable(value)


@cache
def _methods_with_reply(type_name: str, names: frozenset[str]) -> Sequence[Java]:
    """Return the methods of a type or its superclasses whose names are in `names`.

    `names` contains the names of all methods for which a reply is defined.
    """
    modifier, found = java_class("java.lang.reflect.Modifier"), []
    java = java_class(type_name).class_
    while java is not None:
        for method in java.getDeclaredMethods():
            fixed = modifier.PRIVATE | modifier.STATIC | modifier.FINAL
            if names.intersection(_reply_names(method)) and not int(method.getModifiers()) & fixed:
                found.append(method)
        java = java.getSuperclass()
    return found


def _stub(stubber: Java, shell: Java, method: Java) -> None:
    """Stub a method for all arguments."""
    method.setAccessible(True)
    kinds = [str(one.getName()) for one in method.getParameterTypes()]
    method.invoke(stubber.when(shell), java_list(map(_any_argument, kinds)).toArray())


def _any_argument(kind: str) -> Java:
    """Return a matcher that accepts every argument of a type."""
    value = java_class("org.mockito.ArgumentMatchers").any()
    return EMPTY_PRIMITIVES[kind]() if kind in EMPTY_PRIMITIVES else value


EMPTY_PRIMITIVES: Mapping[str, Callable[[], Java]] = {
    "boolean": lambda: java_class("java.lang.Boolean").FALSE,
    "int": lambda: java_class("java.lang.Integer").valueOf(0),
    "long": lambda: java_class("java.lang.Long").valueOf(0),
}
"""A value of each primitive type, for parameters of methods that have a reply."""


class _ConstantReply:
    """A constant reply, which Mockito returns without calling Python."""

    def __init__(self, value: Java) -> None:
        self._value = value
        self._given = 0

    def __call__(self, invocation: Java) -> Java:
        self._given += self._value is not None
        if self._given == CALLS_BEFORE_MOCKITO:
            value = jpype.JObject(self._value, java_class("java.lang.Object"))
            stubber = java_class("org.mockito.Mockito").doReturn(value)
            _stub(stubber, invocation.getMock(), invocation.getMethod())
        return self._value


CALLS_BEFORE_MOCKITO = 3
"""Number of calls after which Mockito takes over a constant reply.

The handover takes as long as this number of calls.
"""


@cache
def _reply_names(method: Java) -> tuple[str, str]:
    """Return the two names by which a method may have a reply: Type.method and method."""
    name = str(method.getName())
    return f"{method.getDeclaringClass().getSimpleName()}.{name}", name


@jpype.JImplements("org.mockito.stubbing.Answer", deferred=True)
class _StubReplies:
    """Reply to each call of a stub: the one registered for the method's name, otherwise `other`'s.

    Each method's reply is looked up once.
    """

    def __init__(self, replies: Replies, other: Callable[[Java], Reply]) -> None:
        self._replies = replies
        self._other = other
        self._found: dict[Java, Reply] = {}

    def forget(self) -> None:
        """Release all replies."""
        self._replies, self._found = {}, {}

    @jpype.JOverride
    def answer(self, invocation: Java) -> Java:
        """Return the value of a call."""
        method = invocation.getMethod()
        if method not in self._found:
            self._found[method] = self._reply(method)
        return self._found[method](invocation)

    def _reply(self, method: Java) -> Reply:
        for name in _reply_names(method):
            if name in self._replies:
                reply = self._replies[name]
                if callable(reply) and not isinstance(reply, jpype.JObject):
                    return lambda invocation: reply(*invocation.getArguments())
                return _ConstantReply(reply)
        return self._other(method)
