"""Requests to Pulsar's own class for namespaces, without web server or access checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jpype
from pulsar_conformance.adapters.pulsar.jvm import Java, call, field, java_class, java_list, methods
from pulsar_conformance.adapters.pulsar.namespaces import bundles_request
from pulsar_conformance.adapters.pulsar.release import RejectedRequest, Unanswered
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import FUTURE, completed_future

NAMESPACES = "org.apache.pulsar.broker.admin.v2.Namespaces"
POLICIES = "org.apache.pulsar.common.policies.data.Policies"
CREATE_METHODS = ("validatePoliciesAsync", "validatePolicies")
SPLIT_METHODS = ("internalSplitNamespaceBundleAsync", "internalSplitNamespaceBundle")
"""Names of the method that decides on a split request; they differ between releases."""

GUARDS = (
    "validateSuperUserAccess",
    "validateSuperUserAccessAsync",
    "validatePoliciesReadOnlyAccess",
    "validatePoliciesReadOnlyAccessAsync",
    "validateGlobalNamespaceOwnership",
    "validateGlobalNamespaceOwnershipAsync",
    "validateClusterForTenant",
    "validateClusterForTenantAsync",
)
"""Checks of authorization and of clusters; they are replaced by stubs that allow everything."""


class Admin:
    """Sends requests about one namespace, as an authorized user would."""

    def __init__(
        self, configuration: Java, namespace: Java, replies: Mapping[str, Any] | None = None
    ) -> None:
        self._namespace = namespace
        self._answered: list[Java] = []
        given = {**_guard_stubs(), "resume": self._record_response, "pulsar": self._pulsar}
        self.service: Service = Service(configuration, replies={**given, **(replies or {})})
        self._java = self.service.shells.unconstructed_object(NAMESPACES)
        field(self._java, "namespaceName").set(self._java, namespace)

    def boundaries(self, bundles: int | None) -> list[str]:
        """Return the boundaries that a new namespace gets. Errors: `RejectedRequest`."""
        policies = java_class(POLICIES)()
        if bundles is not None:
            policies.bundles = bundles_request(bundles)
        with raising_rejections():
            policies = call(self._java, "getDefaultPolicesIfNull", policies)
            wait_for(
                call(self._java, self._existing_method(CREATE_METHODS), self._namespace, policies)
            )
        return [str(one) for one in policies.bundles.getBoundaries()]

    def split(self, part: str, algorithm: str | None, positions: Sequence[int]) -> None:
        """Request the split of a bundle. Errors: `RejectedRequest`."""
        name = self._existing_method(SPLIT_METHODS)
        arguments = list(self._arguments(name, part, algorithm, positions))
        with raising_rejections():
            wait_for(call(self._java, name, *arguments))
            for one in self._answered:
                if isinstance(one, jpype.JException):
                    raise one

    def _existing_method(self, names: Sequence[str]) -> str:
        return next(name for name in names if methods(self._java, name))

    def _arguments(
        self, name: str, part: str, algorithm: str | None, positions: Sequence[int]
    ) -> Iterator[Java]:
        """Yield the arguments of a split request in the order that the release expects."""
        texts = iter((part, algorithm))
        for kind in methods(self._java, name)[0].getParameterTypes():
            simple = str(kind.getSimpleName())
            if simple == "String":
                text = next(texts)
                yield None if text is None else jpype.JString(text)
            elif simple == "boolean":
                yield jpype.java.lang.Boolean.FALSE
            elif simple == "List":
                yield java_list(map(jpype.JLong, positions)) if positions else None
            else:
                yield self.service.shells.stub_of(str(kind.getName()))

    def _pulsar(self) -> Java:
        return self.service.pulsar

    def _record_response(self, response: Java) -> bool:
        self._answered.append(response)
        return True


def _guard_stubs() -> Mapping[str, Any]:
    """Return stubs that grant all permissions and accept all clusters."""
    policies = java_class(POLICIES)()
    found: dict[str, Any] = {
        "clientAppId": "",
        "getNamespacePolicies": policies,
        "getNamespacePoliciesAsync": completed_future(policies),
    }
    for name in GUARDS:
        for method in methods(java_class(NAMESPACES), name):
            later = str(method.getReturnType().getName()) == FUTURE
            found[name] = completed_future() if later else None
    return found


def wait_for(outcome: Java) -> None:
    """Wait for a future. Errors: `Unanswered` if nothing can ever complete it."""
    if outcome is None:
        return
    if not outcome.isDone():
        raise Unanswered("the request is never answered, because its failure is not passed on")
    outcome.join()


@contextmanager
def raising_rejections() -> Iterator[None]:
    """Raise `RejectedRequest` if the admin API rejects a request in the block.

    Other errors are raised without the exceptions that wrap them.
    """
    try:
        yield
    except jpype.JException as error:
        cause = error
        while cause.getCause() is not None and _is_wrapper(cause):
            cause = cause.getCause()
        if _is_refusal(cause):
            raise RejectedRequest(str(cause.getMessage())) from None
        raise cause from None


def _is_wrapper(error: Java) -> bool:
    return str(error.getClass().getSimpleName()) in ("CompletionException", "ExecutionException")


def _is_refusal(error: Java) -> bool:
    """True if an error is due to the request: an HTTP status below 500, or an illegal argument."""
    kind = error.getClass()
    while kind is not None:
        name = str(kind.getSimpleName())
        if name == "WebApplicationException":
            return bool(error.getResponse().getStatus() < SERVER_ERROR)
        if name == "IllegalArgumentException":
            return True
        kind = kind.getSuperclass()
    return False


SERVER_ERROR = 500
