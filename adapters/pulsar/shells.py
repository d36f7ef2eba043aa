"""Shells: objects of a release's own types that stand around the class under test.

A shell answers by the name of the method that is called. What nobody told it is empty: no policy,
no stored data, a future that is done. `STANDINS` lists every one, with why it may stand in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jpype
from pulsar_conformance.adapters.pulsar.jvm import Java, field, named

Replies = Mapping[str, Any]
"""Method, or Type.method, to what it returns, or to a function of the method's arguments."""

STANDINS: Mapping[str, str] = {
    "PulsarService": "a running broker; it hands out the configuration and the other shells",
    "NamespaceService": "needs a running broker; counts the bundles that the case says there are",
    "LeaderElectionService": "needs a metadata store; whether this broker leads is the case's",
    "BrokerService": "its own methods take dynamic settings; of its fields only those of settings "
    "are there",
    "DynamicConfigurationResources, ZooKeeperDataCache": "need a metadata store; what is set "
    "dynamically is the case's",
    "PulsarAdmin": "a client of a cluster; notes what it is told to unload or split",
    "PulsarResources, ConfigurationCacheService": "need a metadata store; of policies there are "
    "anti-affinity groups, and failure domains, where the case has them",
    "The choice among brokers that the anti-affinity filter leaves": "the placement strategy's, "
    "and it draws by chance among brokers that carry nothing",
    "LockManager, ZooKeeperChildrenCache": "need a metadata store; the brokers that are up are "
    "those of the case",
    "MetadataStore, ZooKeeper": "nothing is stored but what the case gives",
    "OwnershipCache": "needs a metadata store; every new bundle may be owned",
    "ModularLoadManagerImpl.selectBroker": "where a bundle goes is the question of place.select, "
    "and the release draws by chance among equals; it is a broker that does not own the bundle",
    "NamespaceBundleFactory.invalidateBundleCache": "nothing is split in earnest, so the bundles "
    "of a namespace stay known",
}
"""What stands in, by type or method, and why it may."""


class Shells:
    """Makes shells; those that one hands out answer by the same replies."""

    def __init__(self, replies: Replies) -> None:
        self._mockito = named("org.mockito.Mockito")
        self._answer = _Answer(replies, self._empty)
        self._real = _Answer(replies, lambda invocation: invocation.callRealMethod())
        self._made: dict[str, Java] = {}

    def of(self, type_name: str) -> Java:
        """An object of a type that does nothing but answer; one for each type."""
        if type_name not in self._made:
            settings = self._mockito.withSettings().stubOnly().defaultAnswer(self._answer)
            self._made[type_name] = self._mockito.mock(named(type_name), settings)
        return self._made[type_name]

    def around(self, type_name: str, *arguments: Java) -> Java:
        """A real object, made by its own constructor; the methods that have a reply give that."""
        settings = self._mockito.withSettings().stubOnly().useConstructor(*arguments)
        return self._mockito.mock(named(type_name), settings.defaultAnswer(self._real))

    def unmade(self, type_name: str) -> Java:
        """Like `around`, but no constructor runs: its fields have to be set, save the logger."""
        settings = self._mockito.withSettings().stubOnly().defaultAnswer(self._real)
        java = self._mockito.mock(named(type_name), settings)
        log = field(java, "log")
        if log is not None and log.get(java) is None:
            log.set(java, named(str(log.getType().getName())).get(jpype.JString(type_name)))
        return java

    def _empty(self, invocation: Java) -> Java:
        """Nothing, in the type that the method returns."""
        kind = _returned(invocation.getMethod())
        if kind.startswith(FUTURE):
            return done(some(None) if kind.startswith(f"{FUTURE}<{OPTIONAL}") else None)
        if kind.startswith(SHELLED):
            raw = kind.partition("<")[0]
            return None if _final(raw) else self.of(raw)
        return self._mockito.RETURNS_DEFAULTS.answer(invocation)


FUTURE = "java.util.concurrent.CompletableFuture"
OPTIONAL = "java.util.Optional"
SHELLED = (
    "org.apache.pulsar.",
    "org.apache.bookkeeper.",
    "org.apache.zookeeper.",
    "java.util.concurrent.",
)
"""Where the types are of which a shell is handed out."""


@cache
def _returned(method: Java) -> str:
    """What a method returns, with its type arguments."""
    raw, whole = method.getReturnType(), method.getGenericReturnType()
    _, _, arguments = str(whole.getTypeName()).partition("<")
    return f"{raw.getName()}<{arguments}"


@cache
def _final(type_name: str) -> bool:
    modifier = named("java.lang.reflect.Modifier")
    return bool(modifier.isFinal(named(type_name).class_.getModifiers()))


def done(value: Java = None) -> Java:
    """A completed future; a pending one would be waited for without end."""
    return named(FUTURE).completedFuture(value)


def some(value: Java) -> Java:
    """An Optional that holds a value, or an empty one for None."""
    return named(OPTIONAL).ofNullable(value)


@jpype.JImplements("org.mockito.stubbing.Answer", deferred=True)
class _Answer:
    """Answers a call by the name of its method."""

    def __init__(self, replies: Replies, other: Callable[[Java], Java]) -> None:
        self._replies = replies
        self._names = {key.rpartition(".")[2] for key in replies}
        self._other = other

    @jpype.JOverride
    def answer(self, invocation: Java) -> Java:
        """What the method returns."""
        method = invocation.getMethod()
        name = str(method.getName())
        if name not in self._names:
            return self._other(invocation)
        for key in (f"{method.getDeclaringClass().getSimpleName()}.{name}", name):
            if key in self._replies:
                reply = self._replies[key]
                told = callable(reply) and not isinstance(reply, jpype.JObject)
                return reply(*invocation.getArguments()) if told else reply
        return self._other(invocation)
