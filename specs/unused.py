"""Parts of a case that no answer depends on, because the setting or field does not exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_conformance.specs.schemas import schema
from pulsar_conformance.specs.setting_names import why_unknown


def unused_parts(case: object) -> Iterator[str]:
    """Yield text on each setting of a case and each field of its brokers that has no effect.

    These are settings that no release or document has, and fields that the protocol lacks.
    """
    settings = case.get("settings") if isinstance(case, Mapping) else None
    for name in settings if isinstance(settings, Mapping) else ():
        why = why_unknown(name)
        if why is not None:
            yield f"{name} is not used: {why or 'it is not a setting of load balancing'}"
    brokers = case.get("brokers") if isinstance(case, Mapping) else None
    for broker, fields in brokers.items() if isinstance(brokers, Mapping) else ():
        known = schema("shapes")["$defs"]["broker"]["properties"]
        for name in fields if isinstance(fields, Mapping) else ():
            if name not in known:
                yield f"{name} of {broker} is not used: the protocol has no such field"
