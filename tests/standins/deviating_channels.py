"""Wrong answers to `channel.apply`, about the states of bundles that brokers agree on."""


def units_of(changes):
    return {one["bundle"]: {name: one[name] for name in ("state", "to", "from")} for one in changes}


def nothing_ignored(case, told, _turn):
    return {**told, "units": {**case["units"], **units_of(case["changes"])}, "ignored": []}


def everything_ignored(case, told, _turn):
    return {**told, "units": case["units"], "ignored": list(range(len(case["changes"])))}


def all_the_others_ignored(case, told, _turn):
    others = [place for place in range(len(case["changes"])) if place not in told["ignored"]]
    found = units_of(case["changes"][place] for place in told["ignored"])
    return {**told, "units": {**case["units"], **found}, "ignored": others}


def lookups_that_wait(_case, told, _turn):
    return {**told, "lookups": [{"does": "wait"} for _ in told["lookups"]]}


def lookups_that_fail(_case, told, _turn):
    return {**told, "lookups": [{"does": "fail"} for _ in told["lookups"]]}


CHANNELS = (
    nothing_ignored,
    everything_ignored,
    all_the_others_ignored,
    lookups_that_wait,
    lookups_that_fail,
)
