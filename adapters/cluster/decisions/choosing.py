"""Answers to manager.choose: a first broker gets the class as a dynamic setting, then a second
starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jpype
from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.cluster.decisions.leader import AskedLeader
from pulsar_conformance.adapters.pulsar.configuration import Configurations
from pulsar_conformance.adapters.pulsar.operations.managers import (
    MANAGERS,
    SETTING,
    is_name_mistake,
)
from pulsar_conformance.adapters.pulsar.release import Answer, Case, RejectedRequest, Unsupported


def choose(leader: AskedLeader, case: Case) -> Answer:
    """Return the load manager that a newly started broker runs.

    Errors: `RejectedRequest` if the admin API rejects the setting, or the broker does not start.
    """
    leader.begin({})
    if case["dynamic"] is not None:
        leader.ask(requests.set_dynamic_setting(SETTING, case["dynamic"]))
    # The running broker switches its load manager, too, so data of its former manager do not
    # matter.
    leader.cluster.wait_notified()
    try:
        overrides = {**leader.overrides, **_class_in_file(leader, case)}
        name = leader.cluster.manager_of(leader.defaults, overrides)
    except jpype.JException as error:
        if is_name_mistake(error):
            raise RejectedRequest(f"the broker does not start: {error.toString()}") from None
        raise
    if name not in MANAGERS:
        raise Unsupported(
            f"the broker runs the load manager {name}, for which this operation has no answer"
        )
    return {"manager": MANAGERS[name]}


def _class_in_file(leader: AskedLeader, case: Case) -> Mapping[str, Any]:
    """Return the setting for the load manager's class, with its value in broker.conf or default."""
    if case["conf"] is not None:
        return {SETTING: case["conf"]}
    if SETTING in leader.defaults:
        return {SETTING: leader.defaults[SETTING]}
    return {SETTING: str(Configurations({}).default(SETTING))}
