"""How each operation is answered, by area."""

from collections.abc import Mapping

from pulsar_conformance.reference.answers import bundles, settings, shedding, usage
from pulsar_conformance.reference.door import Answer

ANSWERS: Mapping[str, Answer] = {
    **settings.ANSWERS,
    **bundles.ANSWERS,
    **usage.ANSWERS,
    **shedding.ANSWERS,
}
"""By the operation's name, in the order of the protocol."""
