"""Hand-written histories in tests/histories/kinds, as lines of an audit's input.

The report `b1 90 0-3` has the CPU of b1 at 90 %, and bundles 0 to 3, which are ranges of namespace
t/a. Other resources are written like `cpu:20,mem:95`. Bundle `3=60@500` carries 60 MB/s and 500
messages/s, `3/1001/20` has 1001 topics and 20 sessions, `3?` has no statistics, `3a` and `3b` are
halves of bundle 3.

Other events are `cycle`, `leader b2`, `leads b1`, `assigned 3 b2`, `split 3 automatic`, `owners b1
0-3`, and `b1 unloads 3 shedding`. Events as mappings are `settings` (`raw`: only these settings),
`line`, `kind`, and `report` (with `written`, `as`, `with`). `until` is the minute of a last record
without loads, since an audit does not judge the last events of a history.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import yaml

START = datetime(2026, 11, 20, tzinfo=UTC)
FOLDER = Path(__file__).parents[1] / "histories" / "kinds"
STRATEGY = "loadBalancerLoadSheddingStrategy"
PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
CAUSES = ("shedding", "split", "admin", "shutdown", "unknown")
DEFAULTS = {
    "loadBalancerSheddingIntervalMinutes": 5,
    "loadBalancerBrokerThresholdShedderPercentage": 10,
    "loadBalancerHistoryResourcePercentage": 0,
    "lowerBoundarySheddingEnabled": False,
    "loadBalancerMsgRateDifferenceShedderThreshold": 50,
    "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": 4,
}
LIMITS = {
    "cpu": 400.0,
    "memory": 2048.0,
    "directMemory": 4096.0,
    "bandwidthIn": 1e7,
    "bandwidthOut": 1e7,
}
RESOURCES = {"cpu": "cpu", "mem": "memory", "direct": "directMemory"}
RESOURCES |= {"in": "bandwidthIn", "out": "bandwidthOut"}
RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
BUNDLE = re.compile(
    r"(\S+?_0x[0-9a-f]{8}|[^=@/?]+)(?:=([\d.]+))?(?:@([\d.]+))?(?:/(\d+))?(?:/(\d+))?(\?)?"
)


def histories():
    """Yield the name, the profile and the history of each cluster."""
    for path in sorted(FOLDER.glob("*.yaml")):
        for history in yaml.safe_load(path.read_text("utf-8")):
            profile = history.get("judge_by", "documented-3.0")
            for suffix, part in history.get("clusters", {"": history}).items():
                name = f"{history['name']}.{suffix}" if suffix else history["name"]
                yield name, profile, part


def jittered(seconds):
    """Return 714 correct cycles; 20 brokers report every 15 minutes, up to `seconds` late.

    The busiest broker, at 53 %, is less than ten points above the average of all brokers, but more
    than ten points above the average without one of the brokers at 50 %.
    """
    random, levels = Random(seconds), [53, *[50] * 9, *[40] * 9, 0]
    events = []
    for number, level in enumerate(levels):
        first = random.uniform(0, 1)
        late = (random.uniform(0, seconds / 60) for _ in range(48))
        times = ",".join(f"{first + 15 * nth + more:.4f}" for nth, more in enumerate(late))
        owned = "0 n15" if number == 0 else number if number < 16 else f"n{number - 16}"
        events.append({times: f"b{number + 1} {level} {owned}"})
    cycles = ",".join(f"{minute}.5" for minute in range(1, 715))
    return {"strategy": "ThresholdShedder", "events": [*events, {cycles: "cycle"}], "fine": {}}


def stamp(minute):
    at = START + timedelta(milliseconds=round(minute * 60000))
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def broker(name):
    return name if ":" in name else f"{name}:8080"


def bundle(token):
    if "_0x" in token:
        return token
    space, number, half = re.fullmatch(r"(n?)(\d+)([ab]?)", token).groups()
    low, high = int(number) << 28, int(number) + 1 << 28
    middle = low + (1 << 27)
    low, high = {"": (low, high), "a": (low, middle), "b": (middle, high)}[half]
    return f"t/{space or 'a'}/0x{low:08x}_0x{min(high, 0xFFFFFFFF):08x}"


def spread(tokens):
    for token in tokens:
        several = re.fullmatch(r"(n?)(\d+)-(\d+)", token)
        if several is None:
            yield token
        else:
            first, last = int(several[2]), int(several[3])
            yield from (f"{several[1]}{number}" for number in range(first, last + 1))


def stats(token):
    """Return a bundle's name and its statistics, which are None if they are unknown."""
    name, megabytes, messages, topics, sessions, unknown = BUNDLE.fullmatch(token).groups()
    if unknown:
        return bundle(name), None
    size = float(megabytes or (int(re.search(r"\d+", name)[0]) + 1) * 10)
    rate, sessions = float(messages or size * 100), int(sessions or 10)
    return bundle(name), {
        **dict.fromkeys(RATES[:2], rate / 2),
        **dict.fromkeys(RATES[2:], size * 5e5),
        "topics": int(topics or 10),
        "producerCount": sessions // 2,
        "consumerCount": sessions - sessions // 2,
        "cacheSize": 0,
    }


def report(name, words, minute):
    usage = dict.fromkeys(LIMITS, 1.0)
    if ":" in words[0]:
        pairs = (pair.split(":") for pair in words[0].split(","))
        usage |= {RESOURCES[kind]: float(percent) for kind, percent in pairs}
    else:
        percent = float(words[0])
        usage = {**usage, "cpu": percent} if percent >= 1 else dict.fromkeys(LIMITS, percent)
    shown = [stats(token) for token in spread(words[1:])]
    measured = {key: value for key, value in shown if value is not None}
    host = broker(name).split(":")[0]
    written = START + timedelta(minutes=minute)
    return {
        "webServiceUrl": f"http://{broker(name)}",
        "pulsarServiceUrl": f"pulsar://{host}:6650",
        **{
            kind: {"usage": round(usage[kind] / 100 * limit, 6), "limit": limit}
            for kind, limit in LIMITS.items()
        },
        **{rate: sum(value[rate] for value in measured.values()) for rate in RATES},
        "lastUpdate": round(written.timestamp() * 1000),
        "lastStats": measured,
        "bundles": [key for key, _ in shown],
    }


def of_mapping(event, minute):
    """Return the record of an event that is written as a mapping."""
    if "line" in event:
        return event["line"]
    if "settings" in event and "kind" not in event:
        return {"kind": "settings", "raw": False, **event, "settings": dict(event["settings"])}
    if isinstance(event.get("report"), str):
        name, *words = event["report"].split()
        said = report(name, words, event.get("written", minute)) | event.get("with", {})
        return {"kind": "load_report", "broker": broker(event.get("as", name)), "report": said}
    return dict(event)


def of_words(text, minute):
    """Return the records of an event that is written in words."""
    words = text.split()
    match words:
        case ["cycle"]:
            return [{"kind": "cycle"}]
        case ["leader", name]:
            return [{"kind": "leader", "broker": broker(name)}]
        case ["leads", name]:
            return [{"kind": "leader", "broker": broker(name), "anew": False}]
        case ["assigned", one, name]:
            return [{"kind": "assigned", "bundle": bundle(one), "broker": broker(name)}]
        case ["split", one, *cause]:
            into = [bundle(f"{one}a"), bundle(f"{one}b")]
            given = {"cause": cause[0]} if cause else {}
            return [{"kind": "split", "bundle": bundle(one), "into": into, **given}]
        case ["owners", name, *owned]:
            return [{"kind": "owners", "owners": {broker(name): [*map(bundle, spread(owned))]}}]
        case [name, "unloads", *gone]:
            cause = [word for word in gone if word in CAUSES]
            given = {"cause": cause[0]} if cause else {}
            names = [bundle(one) for one in spread(gone) if one not in CAUSES]
            return [
                {"kind": "unloaded", "bundle": one, "broker": broker(name), **given}
                for one in names
            ]
    return [
        {
            "kind": "load_report",
            "broker": broker(words[0]),
            "report": report(words[0], words[1:], minute),
        }
    ]


def records(history):
    """Yield the records of a history with their minutes; lines given as strings stay unchanged."""
    settings = history.get("settings", {})
    strategy = history.get("strategy", "OverloadShedder")
    if settings is not None:
        every = {**DEFAULTS, STRATEGY: strategy, **settings}
        kept = {name: value for name, value in every.items() if value is not None}
        yield 0.0, {"kind": "settings", "settings": kept, "raw": False}
    if history.get("leader", "b1"):
        yield 0.0, {"kind": "leader", "broker": broker(history.get("leader", "b1"))}
    for event in history["events"]:
        ((times, what),) = event.items()
        for minute in map(float, str(times).split(",")):
            if isinstance(what, str):
                yield from ((minute, record) for record in of_words(what, minute))
            else:
                yield minute, of_mapping(what, minute)
    if "until" in history:
        yield float(history["until"]), {"kind": "domain", "name": "one", "members": ["b1:8080"]}


def lines(history, cluster):
    """Return the lines of a history."""
    current = {}
    for minute, record in records(history):
        if isinstance(record, str):
            yield record.replace("CLUSTER", cluster).replace("TIME", stamp(minute))
            continue
        if record["kind"] == "settings":
            if not record.pop("raw", False):
                current = {**current, **record["settings"]}
                current = {name: value for name, value in current.items() if value is not None}
                record["settings"] = dict(current)
            if "." not in str(record["settings"].get(STRATEGY, ".")):
                record["settings"][STRATEGY] = PACKAGE + record["settings"][STRATEGY]
        head = {"kind": record["kind"], "cluster": cluster, "at": stamp(minute)}
        yield json.dumps({**head, **record})
