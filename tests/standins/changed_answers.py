"""Right and wrong answers to a question about a shedding cycle."""


def changed_answers(random, case, answer):
    """Yield the answer, and changed answers: with fewer unloads, more, or in another order."""
    pairs = answer["unload"]
    owned = [
        {"broker": name, "bundle": bundle}
        for name, broker in case["brokers"].items()
        for bundle in broker.get("bundles", ())
    ]
    yield pairs
    yield []
    if pairs:
        gone = random.randrange(len(pairs))
        yield pairs[:gone] + pairs[gone + 1 :]
        yield [*pairs, random.choice(pairs)]
        yield random.sample(pairs, len(pairs))
    if owned:
        more = [one for one in owned if one not in pairs]
        yield [*pairs, *random.sample(more, min(1, len(more)))]
        yield random.sample(owned, random.randint(1, len(owned)))
        stolen = {**random.choice(owned), "broker": random.choice([*case["brokers"], "nobody"])}
        yield [*pairs, stolen]
