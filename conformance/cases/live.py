"""A running cluster as seen by its admin API: reports, settings and placement constraints."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from pulsar_conformance.adapters.admin_api.http import NoAnswer
from pulsar_conformance.adapters.admin_api.remote import Access, AdminApi
from pulsar_conformance.adapters.admin_api.requests import ADMIN
from pulsar_conformance.adapters.operated.looking import ClusterObserver, Observation
from pulsar_conformance.adapters.operated.sight import ObservedState
from pulsar_conformance.conformance.cases.effects import EXTENSIBLE, MANAGER, manager_by_settings
from pulsar_conformance.conformance.cases.load_reports import BadSnapshot, SavedReport, saved_report
from pulsar_conformance.conformance.cases.placing import Constraints, policies_of
from pulsar_conformance.conformance.cases.settings import DYNAMIC, SettingsRead
from pulsar_conformance.conformance.cases.settings_files import read_written_settings
from pulsar_conformance.specs.broker import known_releases
from pulsar_conformance.specs.errors import UserError

UNNEEDED_PARTS = {"causes of unloading", "splits"}
"""Parts of an observed cluster that cases can do without; errors in reading them do not matter."""


@dataclass(frozen=True)
class ObservedCluster:
    """The parts of a cluster's state, at one moment, from which a case is built."""

    reports: Mapping[str, SavedReport]
    runtime: Mapping[str, Any]
    """The leader's configuration, as its admin API returns it; empty if it cannot be read."""
    constraints: Constraints
    troubles: Mapping[str, str]
    """The parts that could not be read, each with the reason."""
    version: str
    """The leader's version of Pulsar; empty if unknown."""


def observe(api: AdminApi, cluster: str | None) -> ObservedCluster:
    """Read a cluster without changing anything. Errors: `NoAnswer`, `NoCluster`, `BadSnapshot`."""
    with closing(ClusterObserver.of(api, cluster)) as looker:
        look = looker.observe(ObservedState())
        troubles = {what: why for what, why in look.troubles.items() if what not in UNNEEDED_PARTS}
        leader = api.url_of(look.sight.leader) if look.sight.leader else None
        runtime = _object_or_empty(
            api, f"{ADMIN}/brokers/configuration/runtime", leader, "settings", troubles
        )
        if not look.reports and manager_by_settings(runtime) == EXTENSIBLE:
            raise BadSnapshot(
                f"{MANAGER} selects the extensible load manager, whose brokers return no "
                "load reports; save the load data from its topics, and use explain FOLDER"
            )
        if not look.reports:
            raise BadSnapshot("; ".join(look.troubles.values()) or "no broker is active")
        path = f"{ADMIN}/clusters/{quote(looker.cluster)}/namespaceIsolationPolicies"
        policies = _object_or_empty(api, path, None, "isolation policies", troubles)
        reports = {
            name: saved_report(f"{name}, load-report", one) for name, one in look.reports.items()
        }
        return ObservedCluster(
            reports,
            runtime,
            _read_constraints_of_cluster(look, policies),
            troubles,
            _reported_version(api, leader),
        )


def observe_url(url: str, cluster: str | None) -> ObservedCluster:
    """Read the cluster at an admin URL without changing anything. Errors: `BadSnapshot`."""
    try:
        with closing(AdminApi(Access.of(url, None, None))) as api:
            return observe(api, cluster)
    except NoAnswer as error:
        raise BadSnapshot(str(error)) from None


def _reported_version(api: AdminApi, broker: str | None) -> str:
    """Return the Pulsar version that a broker reports; empty if it reports none."""
    with suppress(NoAnswer):
        return str(api.get(f"{ADMIN}/brokers/version", broker, text=True) or "")
    return ""


def _read_constraints_of_cluster(look: Observation, policies: Mapping[str, Any]) -> Constraints:
    return Constraints(
        policies_of("isolation policies", policies, stored=True) if policies else (),
        {name: sorted(brokers) for name, brokers in look.sight.domains.items()},
        {one: name for name, members in look.sight.groups.items() for one in sorted(members)},
        _unreported_bundles(look),
    )


def _unreported_bundles(look: Observation) -> dict[str, list[str]]:
    """Return the bundles of each broker that were assigned since the reports were written."""
    reported = {
        bundle
        for one in look.reports.values()
        for bundle in (one.get("bundles") or () if isinstance(one, dict) else ())
    }
    return {
        broker: sorted(held - reported)
        for broker, held in look.sight.owners.items()
        if broker in look.reports and held - reported
    }


def _object_or_empty(
    api: AdminApi, path: str, base: str | None, part: str, troubles: dict[str, str]
) -> Mapping[str, Any]:
    """Read a JSON object; if it cannot be read, add the reason to `troubles` and return {}.

    A status of 404 is not an error: it means that there are no policies.
    """
    try:
        found = api.get(path, base)
    except NoAnswer as error:
        if error.status != 404:
            troubles[part] = str(error)
        return {}
    return found if isinstance(found, dict) else {}


def read_running_broker(url: str, release: str | None) -> tuple[SettingsRead, bool]:
    """Read a broker's settings from its admin URL, changing nothing.

    The settings are read as `release` reads them. Without a release, they are read as the version
    that the broker reports or, if it reports none, as the newest known release; the second result
    is true in the last case. Errors: `UserError`.
    """
    dynamic = None
    try:
        with closing(AdminApi(Access.of(url, None, None))) as api:
            written = api.get(f"{ADMIN}/brokers/configuration/runtime")
            with suppress(NoAnswer):
                dynamic = api.get(f"{ADMIN}/brokers/configuration/values")
            if release is None:
                with suppress(NoAnswer):
                    release = str(api.get(f"{ADMIN}/brokers/version", text=True))
    except NoAnswer as error:
        raise UserError(str(error)) from None
    found = read_written_settings(url, written, release or known_releases()[-1], as_broker=True)
    named = dynamic if isinstance(dynamic, dict) else {}
    places = {name: f"{url}{DYNAMIC}" for name in found.values if name in named}
    return replace(found, places={**found.places, **places}, reread=None), release is None
