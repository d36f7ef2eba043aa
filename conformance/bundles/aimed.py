"""Splits and bundles that tell readings apart."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.bundles import draw_namespaces as namespaces
from pulsar_conformance.conformance.bundles import draw_splits as splits
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import loads, names
from pulsar_conformance.conformance.drawing.aims import Aim, aim
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.reference.candidates import MAX_MEGABYTES, MAX_MESSAGES
from pulsar_conformance.reference.ranges import HashRange, hex_of, namespace_of
from pulsar_conformance.reference.splitting import POSITIONS, RANGE


def _one_bundle(settings: Json, latest: Json, long_term: Json | None) -> Json:
    [bundle] = names.bundles(Random(0), 1)
    data = {} if long_term is None else {bundle: {"longTermData": long_term}}
    counts = {"topics": 5, "producerCount": 1, "consumerCount": 1}
    report = {"bundles": [bundle], "lastStats": {bundle: {**latest, **counts}}}
    return {
        "settings": settings,
        "leader": True,
        "brokers": {"broker-1": report},
        "bundles": data,
        "namespaceBundles": {namespace_of(bundle): 1},
    }


def busy_once(random: Random) -> Json:
    """A bundle above the message rate only in the long term, or only at the latest."""
    quiet, busy = {"msgRateIn": 10}, {"msgRateIn": 500}
    latest, long_term = random.choice(((quiet, busy), (busy, quiet)))
    return _one_bundle({MAX_MESSAGES: 100}, latest, loads.average(long_term, 10, 1000))


def between_the_megabytes(random: Random) -> Json:
    """A bundle that carries more than 100 decimal megabytes, and fewer than 100 binary ones."""
    rate = {"msgThroughputIn": random.choice((101, 102, 104)) * loads.MEGABYTE}
    return _one_bundle({MAX_MEGABYTES: 100}, rate, loads.average(rate, 10, 1000))


def never_measured_in_kilobytes(random: Random) -> Json:
    """A bundle without data, and a limit between 100 decimal and 100 binary kilobytes."""
    limit = random.choice((0.101, 0.0965))
    latest = {"msgThroughputIn": 101_000}
    return _one_bundle({MAX_MEGABYTES: limit}, latest, None)


@st.composite
def as_many_partitions_as_bundles(draw: st.DrawFn) -> Trial:
    """The partitions of one topic in as many bundles."""
    count = draw(st.sampled_from([64, 128, 256]))
    ends, partitions = names.equal_boundaries(count), names.partitions(draw(randoms), count)
    return Trial.of("bundles.locate", namespaces.locating(ends, partitions))


def _whole_range(_random: Random) -> Json:
    return splits.splitting(splits.WHOLE, RANGE, topics=names.topics(Random(0), 4))


def several_positions(random: Random) -> Json:
    """Positions that all lie inside a bundle, so that nothing else is wrong with them."""
    part = HashRange.parse(splits.WHOLE)
    inside = random.sample(range(part.lower + 1, part.upper), random.choice((2, 3, 5)))
    return splits.splitting(part.name, POSITIONS, positions=list(map(hex_of, inside)))


AIMED = (
    Aim("split-key", "bundles.split", splits.selected_by(splits.SUPPORTED)),
    aim("split-ways", "bundles.split", several_positions),
    aim("split-rate-window", "bundles.split_candidates", busy_once),
    aim("range-halves", "bundles.split", _whole_range),
    aim("megabyte", "bundles.split_candidates", between_the_megabytes),
    Aim("partitions", "bundles.locate", as_many_partitions_as_bundles()),
    aim("kilobyte", "bundles.split_candidates", never_measured_in_kilobytes),
)
