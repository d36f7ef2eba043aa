"""Branches of bundles.create, bundles.locate and bundles.split."""

from release_cases.common import branch, hexed, topic

TOP = 0xFFFFFFFF
ALGORITHMS = [
    "range_equally_divide",
    "topic_count_equally_divide",
    "specified_positions_divide",
    "flow_or_qps_equally_divide",
]


@branch("bundles.create", weight=2)
def so_many_bundles(rng, version):
    """NamespacesBase.getBundles / PoliciesUtil.getBundles: equal segments, the last one takes the rest."""
    return {
        "bundles": rng.choice(
            [1, 2, 3, 4, 5, 6, 7, 10, 16, 64, 100, 128, 129, 1000, 4096, rng.randrange(1, 3000)]
        ),
        "settings": rng.choice([{}, {"loadBalancerNamespaceMaximumBundles": 8}]),
    }


@branch("bundles.create", weight=2)
def default_number_of_bundles(rng, version):
    """NamespacesBase.getDefaultPolicesIfNull: config().getDefaultNumberOfNamespaceBundles(), refused at 0 or less."""
    value = rng.choice([1, 2, 4, 7, 32, 0, -1, -2147483648, "8", None, 2.5, 8.0, " 6 ", ""])
    return {
        "bundles": None,
        "settings": rng.choice([{}, {"defaultNumberOfNamespaceBundles": value}]),
    }


@branch("bundles.locate", weight=3)
def hashes_at_boundaries(rng, version):
    """NamespaceBundles.getBundle: binary search; a hash on a boundary belongs to the bundle that
    begins there.
    """
    inner = sorted(rng.sample(range(1, TOP), rng.choice([0, 1, 5, 40])))
    cuts = [0] + inner + [TOP]
    hashes = [
        max(min(rng.choice(cuts) + rng.choice([-1, 0, 1]), TOP - 1), 0)
        for _ in range(rng.randrange(1, 6))
    ]
    return {
        "boundaries": [hexed(cut) for cut in cuts],
        "topics": list(dict.fromkeys(topic(value) for value in hashes)),
    }


@branch("bundles.locate")
def hash_at_the_top(rng, version):
    """NamespaceBundles.getBundle: the search finds the last boundary for a hash at the top, where
    no bundle begins.
    """
    cuts = rng.choice([[0, TOP], [0, 1 << 31, TOP], [0, TOP - 1, TOP]])
    topics = [topic(TOP)] + ([topic(TOP - 1)] if rng.random() < 0.5 else [])
    return {"boundaries": [hexed(cut) for cut in cuts], "topics": topics}


@branch("bundles.locate", weight=2)
def names_of_topics(rng, version):
    """TopicName.get, NamespaceBundles.findBundle: the hash of the complete name, with any domain and characters."""
    start = rng.choice(
        [
            "persistent://t/ns/",
            "non-persistent://t/ns/",
            "persistent://t/c/ns/",
            "persistent://public/default/",
        ]
    )
    ends = [
        "a",
        "a-partition-0",
        "ümlaut",
        "日本",
        "a b",
        "a%20b",
        "a/b",
        "A",
        "x" * 300,
        "__change_events",
        "a:b",
        "a|b",
    ]
    return {
        "boundaries": [hexed(cut) for cut in [0, 1 << 30, 1 << 31, 3 << 30, TOP]],
        "topics": [start + rng.choice(ends) for _ in range(rng.randrange(1, 4))],
    }


def inside(rng, low, high, count, style):
    """Return topics whose hashes are in the bundle, distributed in the given style."""
    width = high - low
    if style == "edge":
        hashes = [low, low + 1 if width > 1 else low, max(high - 1, low)] * count
    elif style == "middle":
        hashes = [low + width // 2 + rng.choice([-1, 0, 1]) for _ in range(count)]
    elif style == "neighbours":
        first = rng.randrange(low, high)
        hashes = [min(first + step, high - 1) for step in range(count)]
    else:
        hashes = [rng.randrange(low, high) for _ in range(count)]
    return list(dict.fromkeys(topic(max(low, min(value, TOP))) for value in hashes[:count]))


def bundle(rng):
    """Return the bounds of a bundle: an ordinary one, the whole range, a narrow one, or the last."""
    low = rng.choice([0, 0x40000000, rng.randrange(TOP - 10)])
    return rng.choice(
        [
            (0, TOP),
            (low, min(low + rng.choice([1, 2, 3, 4, 7]), TOP)),
            (low, min(low + rng.choice([1 << 30, 12345]), TOP)),
            (TOP - rng.choice([1, 2, 3, 1000]), TOP),
            (1 << 31, TOP),
        ]
    )


def split(rng, low, high, algorithm, topics, positions=(), settings=None, by=None):
    return {
        "bundle": f"{hexed(low)}_{hexed(high)}",
        "algorithm": algorithm,
        "by": by or rng.choice(["admin", "broker"]),
        "settings": settings or {},
        "topics": topics,
        "positions": [hexed(value) for value in positions],
    }


@branch("bundles.split", weight=2)
def split_by_range(rng, version):
    """RangeEquallyDivideBundleSplitAlgorithm, NamespaceBundleFactory.canSplitBundle: low + (high - low) / 2."""
    low, high = bundle(rng)
    return split(
        rng,
        low,
        high,
        rng.choice([None, ALGORITHMS[0]]),
        inside(rng, low, high, rng.choice([0, 1, 2, 3]), "any"),
    )


@branch("bundles.split", weight=4)
def split_by_topic_count(rng, version):
    """TopicCountEquallyDivideBundleSplitAlgorithm: half-way between the middle two topics; refused
    at the bundle's lower end.
    """
    low, high = bundle(rng)
    topics = inside(
        rng,
        low,
        high,
        rng.choice([0, 1, 2, 2, 3, 4, 5, 9]),
        rng.choice(["any", "edge", "neighbours", "middle"]),
    )
    settings = rng.choice([{}, {"defaultNamespaceBundleSplitAlgorithm": ALGORITHMS[1]}])
    return split(
        rng,
        low,
        high,
        rng.choice([ALGORITHMS[1], None]) if settings else ALGORITHMS[1],
        topics,
        settings=settings,
    )


@branch("bundles.split", weight=5)
def split_at_positions(rng, version):
    """SpecifiedPositionsBundleSplitAlgorithm: sorted, strictly inside, at least two topics; duplicates are kept."""
    low, high = bundle(rng)
    pool = [
        low,
        high,
        low + 1,
        max(high - 1, low),
        low + (high - low) // 2,
        0,
        TOP,
        max(low - 1, 0),
        min(high + 1, TOP),
    ]
    pool += [rng.randrange(low, high) for _ in range(3)]
    positions = [rng.choice(pool) for _ in range(rng.choice([0, 1, 1, 2, 3, 5]))]
    if rng.random() < 0.7:
        positions = list(dict.fromkeys(positions))
    settings = rng.choice([{}, {}, {"defaultNamespaceBundleSplitAlgorithm": ALGORITHMS[2]}])
    algorithm = rng.choice([ALGORITHMS[2], None]) if settings else ALGORITHMS[2]
    return split(
        rng,
        low,
        high,
        algorithm,
        inside(rng, low, high, rng.choice([0, 1, 2, 2, 4]), "any"),
        positions,
        settings,
        rng.choice(["admin", "admin", "admin", "broker"]),
    )


@branch("bundles.split", since="3.0.7", weight=2)
def split_by_flow(rng, version):
    """FlowOrQpsEquallyDivideBundleSplitAlgorithm: it gets its option only if it is the default algorithm."""
    low, high = bundle(rng)
    settings = rng.choice(
        [
            {},
            {"defaultNamespaceBundleSplitAlgorithm": ALGORITHMS[3]},
            {
                "defaultNamespaceBundleSplitAlgorithm": ALGORITHMS[3],
                "loadBalancerNamespaceBundleMaxMsgRate": 0,
            },
        ]
    )
    return split(
        rng,
        low,
        high,
        rng.choice([ALGORITHMS[3], None, ALGORITHMS[0], ALGORITHMS[2]]),
        inside(rng, low, high, rng.choice([0, 1, 2, 4]), "any"),
        [low + (high - low) // 2] * rng.choice([0, 1]),
        settings,
    )


@branch("bundles.split", weight=4)
def which_algorithm(rng, version):
    """NamespacesBase.internalSplitNamespaceBundle, NamespaceService.getNamespaceBundleSplitAlgorithmByName."""
    low, high = bundle(rng)
    settings = {}
    if rng.random() < 0.6:
        settings["supportedNamespaceBundleSplitAlgorithms"] = rng.choice(
            [
                "range_equally_divide",
                "range_equally_divide,topic_count_equally_divide",
                "",
                "nothing",
                "range_equally_divide, topic_count_equally_divide",
                "topic_count_equally_divide",
            ]
        )
    if rng.random() < 0.6:
        settings["defaultNamespaceBundleSplitAlgorithm"] = rng.choice(
            ALGORITHMS[:3] + ["nothing", "", "RANGE_EQUALLY_DIVIDE", " topic_count_equally_divide"]
        )
    algorithm = rng.choice(
        [None, None, "", " ", "nothing", "Range_Equally_Divide", "SPECIFIED_POSITIONS_DIVIDE"]
        + ALGORITHMS[:3]
    )
    positions = rng.choice([[], [low + (high - low) // 2]])
    return split(
        rng,
        low,
        high,
        algorithm,
        inside(rng, low, high, rng.choice([0, 1, 2, 3]), "any"),
        positions,
        settings,
    )
