"""Branches of usage.max, usage.nic, average.*, report.read, manager.choose and settings.defaults."""

import json

from release_cases.common import IMPL, RESOURCES, average, branch, names, rates, resource


@branch("usage.max", weight=5)
def largest_resource(rng, version):
    """LocalBrokerData.getMaxResourceUsage, getMaxResourceUsageWithWeight; ResourceUsage.percentUsage is a float."""
    broker = {}
    for kind in RESOURCES:
        if rng.random() < 0.5:
            broker[kind] = rng.choice(
                [
                    resource(rng, rng.random() * 130),
                    {
                        "usage": rng.choice([0, 5, 1e-9, 3e10]),
                        "limit": rng.choice([0, 100, 3, 1e-9]),
                    },
                    {"usage": 50, "limit": 100},
                ]
            )
    settings = {
        f"loadBalancer{kind}ResourceWeight": rng.choice([0, 1, 0.5, 2, -1, 0.1, 1.1])
        for kind in ["CPU", "Memory", "DirectMemory", "BandwithIn", "BandwithOut"]
        if rng.random() < 0.4
    }
    return {
        "settings": settings if version != "2.4.2" or rng.random() < 0.2 else {},
        "weighted": rng.random() < 0.6,
        "broker": broker,
    }


@branch("usage.max")
def renamed_weights(rng, version):
    """ServiceConfiguration: Bandwith was renamed Bandwidth in 4.0; the new name wins unless its value is 1.0."""
    settings = {}
    for way in ["In", "Out"]:
        for spelt in ["Bandwith", "Bandwidth"]:
            if rng.random() < 0.6:
                settings[f"loadBalancer{spelt}{way}ResourceWeight"] = rng.choice(
                    [0.5, 1, 1.0, 0, 2]
                )
    return {
        "settings": settings,
        "weighted": True,
        "broker": {
            "bandwidthIn": {"usage": 50, "limit": 100},
            "bandwidthOut": {"usage": 60, "limit": 100},
            "cpu": {"usage": 20, "limit": 100},
        },
    }


@branch("usage.nic", weight=2)
def speed_of_the_card(rng, version):
    """LinuxBrokerHostUsageImpl.getTotalNicLimitWithConfiguration: the setting for each card, else the reported speed."""
    value = rng.choice([None, 0.8, 1, 10, 0, "", "0.8", "10", " 2 ", 100, 1e-3, "x"])
    return {
        "settings": rng.choice([{}, {"loadBalancerOverrideBrokerNicSpeedGbps": value}]),
        "nics": [{"reportedGbps": rng.choice([10, 1, 25, 0.1, 0, None, 2.5, 0.0005])}],
    }


@branch("usage.nic", weight=0)
def speed_below_nothing(rng, version):
    """LinuxBrokerHostUsageImpl.getTotalNicLimitWithConfiguration: no range is enforced; the schema of the answer has one."""
    return {
        "settings": {"loadBalancerOverrideBrokerNicSpeedGbps": -1},
        "nics": [{"reportedGbps": 10}],
    }


@branch("average.bundle", weight=3)
def samples_and_windows(rng, version):
    """TimeAverageMessageData.update, getUpdatedValue: ((n - 1) x old + new) / n with n up to the window."""
    short, long = rng.choice([1, 2, 3, 10]), rng.choice([1, 10, 1000])
    count = rng.choice([0, 1, short - 1, short, short + 1, 2 * short, 25])
    samples = [
        rates(
            rng,
            rng.choice([0, 1, 100, rng.random() * 1e4, 1e15]),
            rng.choice([0, 1e6, rng.random() * 1e8]),
        )
        for _ in range(max(count, 0))
    ]
    return {"samples": samples, "shortSamples": short, "longSamples": long}


@branch("average.broker", weight=3)
def sums_over_bundles(rng, version):
    """TimeAverageBrokerData.reset: sums; the default stats for a bundle without data."""
    owned = names("shop/eu", 16)[: rng.randrange(0, 8)]
    bundles = {}
    for name in owned + names("bank/core", 2):
        kind = rng.choice(["both", "both", "gone", "unmeasured", "short", "long", "empty"])
        data = {
            "shortTermData": average(rng, rng.random() * 1e3, rng.random() * 1e6),
            "longTermData": average(rng, 7, 0.1, 1000),
        }
        if kind == "unmeasured":
            data["shortTermData"]["numSamples"] = data["longTermData"]["numSamples"] = 0
        if kind != "gone":
            bundles[name] = {
                "both": data,
                "unmeasured": data,
                "short": {"shortTermData": data["shortTermData"]},
                "long": {"longTermData": data["longTermData"]},
                "empty": {},
            }[kind]
    return {"bundles": bundles, "owned": owned}


# LoadReportDeserializer.deserialize


def used(rng):
    return rng.choice(
        [
            {"usage": 5.5, "limit": 100},
            {"usage": 1, "limit": 2400.0},
            {"usage": 0, "limit": 0},
            {"usage": -1, "limit": -1},
        ]
    )


# Half a usage, text, nothing, another kind: what Jackson makes of each is its own affair.
ODD_USAGES = """
{"usage": 5} | {"limit": 100} | {} | null | {"usage": "5", "limit": "100"} | {"usage": "x", "limit": 1}
{"usage": null, "limit": 100} | {"usage": 5, "limit": 100, "percent": 5} | 5 | "5" | "" | [] | [1, 2]
{"usage": true, "limit": 100} | {"usage": "", "limit": 100} | {"usage": " 5 ", "limit": 100} | {"Usage": 1, "limit": 1}
"""
# Field by field: text, null, points, too large and of another kind.
ODD_FIELDS = """
"msgRateIn": "1.5" | "msgRateIn": null | "msgRateIn": "x" | "msgRateOut": "" | "msgThroughputIn": true
"numTopics": 2.5 | "numTopics": "3" | "numTopics": 3000000000 | "numTopics": null | "numProducers": true | "numConsumers": ""
"bundles": null | "bundles": "x" | "bundles": {} | "bundles": ["a/b/0x00000000_0x80000000", "a/b/0x00000000_0x80000000"]
"lastStats": null | "lastStats": [] | "lastStats": {"shop/eu/0x00000000_0x80000000": {"topics": "5", "x": 1}}
"lastUpdate": "1" | "lastUpdate": "x" | "startTimestamp": 1.5 | "protocols": null | "advertisedListeners": {}
"persistentTopicsEnabled": "true" | "persistentTopicsEnabled": "maybe" | "webServiceUrl": 5 | "usageHistory": [1]
"systemResourceUsage": null | "systemResourceUsage": {} | "bundleStats": null | "bundleStats": {} | "bundleStats": "x"
"lastBundleGains": null | "lastBundleGains": "x"
"""


def one_of(rng, table, form="{}"):
    """Return one entry of a table of JSON values."""
    return json.loads(form.format(rng.choice(table.strip().replace("\n", " | ").split(" | "))))


def modular(rng):
    report = {"webServiceUrl": "http://b1:8080", "pulsarServiceUrl": "pulsar://b1:6650"}
    report.update({kind: used(rng) for kind in RESOURCES if rng.random() < 0.7})
    bundle = names("shop/eu", 4)[1]
    for name, value in [
        ("msgRateIn", 1.5),
        ("msgThroughputOut", 2e6),
        ("bundles", [bundle]),
        ("numTopics", 3),
        ("numBundles", 1),
        ("numProducers", 2),
        ("numConsumers", 1),
        ("lastUpdate", 1500000000000),
        ("lastBundleGains", [bundle]),
        ("lastBundleLosses", []),
        ("protocols", {}),
        (
            "lastStats",
            {
                bundle: {
                    "msgRateIn": 1.0,
                    "topics": 2,
                    "producerCount": 1,
                    "consumerCount": 0,
                    "cacheSize": 7,
                }
            },
        ),
        ("loadManagerClassName", IMPL + "ModularLoadManagerImpl"),
        ("brokerVersionString", "3.0.7"),
        ("loadReportType", "LocalBrokerData"),
    ]:
        if rng.random() < 0.5:
            report[name] = value
    return report


def simple(rng):
    report = {
        "name": "b1:8080",
        "webServiceUrl": "http://b1:8080",
        "underLoaded": True,
        "overLoaded": False,
        "timestamp": 1,
    }
    if rng.random() < 0.9:
        report["systemResourceUsage"] = {
            kind: used(rng) for kind in RESOURCES if rng.random() < 0.7
        }
    if rng.random() < 0.6:
        report["bundleStats"] = {
            names("shop/eu", 4)[1]: {
                "msgRateIn": 2.5,
                "msgThroughputOut": 1e5,
                "topics": 4,
                "producerCount": 2,
                "consumerCount": 3,
            }
        }
    for name, value in [
        ("msgRateIn", 9.0),
        ("numTopics", 77),
        ("numBundles", 5),
        ("allocatedCPU", 1.0),
        ("preAllocatedMsgRateIn", 3.0),
        ("bundleGains", [names("shop/eu", 4)[1]]),
        ("bundleLosses", []),
        ("bundles", [names("shop/eu", 4)[0]]),
        ("loadReportType", "LoadReport"),
    ]:
        if rng.random() < 0.4:
            report[name] = value
    return report


@branch("report.read", weight=2)
def report_of_the_modular_manager(rng, version):
    """LoadReportDeserializer: anything that is not marked as LoadReport is a LocalBrokerData; unknown fields are passed over."""
    return {"report": modular(rng)}


@branch("report.read", weight=2)
def report_of_the_simple_manager(rng, version):
    """LoadReport: rates and numbers are summed over bundleStats; the default of SystemResourceUsage
    is -1 of -1.
    """
    return {"report": simple(rng)}


@branch("report.read", weight=3)
def which_kind_of_report(rng, version):
    """LoadReportDeserializer: a report is a LoadReport if loadReportType says so, or if underLoaded
    is present with any value.
    """
    report = rng.choice([modular, simple])(rng)
    report.pop("underLoaded", None)
    report.pop("loadReportType", None)
    kind = rng.choice(
        ["LoadReport", "LocalBrokerData", "", None, 5, "loadreport", "absent", "absent"]
    )
    if kind != "absent":
        report["loadReportType"] = kind
    under = rng.choice(["absent", "absent", True, False, None, "x"])
    if under != "absent":
        report["underLoaded"] = under
    return {"report": report}


@branch("report.read", weight=6)
def odd_parts_of_a_report(rng, version):
    """Jackson: a missing half of a usage is 0 or the constructor's default, text is read as a number, null as missing."""
    if rng.random() < 0.6:
        report = modular(rng)
        report[rng.choice(RESOURCES)] = one_of(rng, ODD_USAGES)
    else:
        report = simple(rng)
        report.setdefault("systemResourceUsage", {})[rng.choice(RESOURCES)] = one_of(
            rng, ODD_USAGES
        )
    return {"report": report}


@branch("report.read", weight=6)
def odd_fields_of_a_report(rng, version):
    """Jackson: one field is a string, null, a fraction, too large, or of another type."""
    report = modular(rng) if rng.random() < 0.7 else simple(rng)
    report.update(one_of(rng, ODD_FIELDS, "{{{}}}"))
    return {"report": report}


@branch("report.read")
def hardly_a_report(rng, version):
    """LoadReportDeserializer: reports with almost no fields."""
    return {
        "report": rng.choice(
            [
                {},
                {"underLoaded": True},
                {"loadReportType": "LoadReport"},
                {"foo": 1},
                {"bundles": []},
                {"systemResourceUsage": {}},
                {"cpu": None},
                {"webServiceUrl": None},
                {"name": "x"},
                {"timestamp": 5},
                {"lastStats": {}},
                {"overLoaded": False},
            ]
        )
    }


@branch("report.read", weight=0)
def report_outside_the_schema(rng, version):
    """Jackson accepts names that are no bundles, and negative numbers; the schema of the answer
    does not.
    """
    return {
        "report": dict(
            [
                rng.choice(
                    [
                        ("bundles", ["no bundle"]),
                        ("bundles", [None]),
                        ("bundles", [1, 2]),
                        ("lastStats", {"x": None}),
                        ("lastStats", {"no bundle": {"topics": 5}}),
                        ("msgRateIn", -1),
                        ("numTopics", -1),
                        ("cpu", {"usage": -5, "limit": 100}),
                        ("cpu", {"usage": 3, "limit": -1}),
                    ]
                )
            ]
        )
    }


@branch("usage.max", weight=0)
def beyond_a_float(rng, version):
    """ResourceUsage.percentUsage: (float) 1e39 is infinite, and infinity divided by infinity is NaN."""
    return {
        "settings": {},
        "weighted": rng.random() < 0.5,
        "broker": {
            "cpu": rng.choice(
                [
                    {"usage": 1e39, "limit": 100},
                    {"usage": 1e300, "limit": 1e300},
                    {"usage": 1, "limit": 1e39},
                ]
            )
        },
    }


EXTENSIONS = "org.apache.pulsar.broker.loadbalance.extensions."
MANAGERS = [
    IMPL + "SimpleLoadManagerImpl",
    IMPL + "ModularLoadManagerImpl",
    IMPL + "ModularLoadManagerWrapper",
    EXTENSIONS + "ExtensibleLoadManagerImpl",
    EXTENSIONS + "ExtensibleLoadManagerWrapper",
    IMPL + "ExtensibleLoadManagerImpl",
    "org.apache.pulsar.broker.loadbalance.NoopLoadManager",
    "org.apache.pulsar.broker.loadbalance.LoadManager",
    "org.apache.pulsar.broker.loadbalance.ModularLoadManager",
    IMPL + "ThresholdShedder",
    EXTENSIONS + "ExtensibleLoadManager",
    IMPL + "LinuxBrokerHostUsageImpl",
    IMPL + "LoadManagerShared",
    "java.lang.String",
    "org.example.Nothing",
    "ModularLoadManagerImpl",
    "",
    " ",
    IMPL + "ModularLoadManagerImpl ",
    " " + IMPL + "SimpleLoadManagerImpl",
    IMPL.replace("impl", "Impl") + "ModularLoadManagerImpl",
    "org.apache.pulsar.broker.loadbalance.impl",
    "modular",
    IMPL + "modularloadmanagerimpl",
    IMPL + "BundleSplitterTask",
    IMPL + "GenericBrokerHostUsageImpl",
]


@branch("manager.choose", weight=3)
def class_in_the_file(rng, version):
    """LoadManager.create: LoadManager, ModularLoadManager (wrapped), from 3.0 ExtensibleLoadManager; else simple, or an error from 4.2."""
    return {"conf": rng.choice(MANAGERS + [None]), "dynamic": None}


@branch("manager.choose", weight=3)
def class_changed_while_running(rng, version):
    """BrokerService: the validator of loadManagerClassName is Class.forName; a listener makes the new manager."""
    return {
        "conf": rng.choice(MANAGERS[:4] + [None, "org.example.Nothing", ""]),
        "dynamic": rng.choice(MANAGERS),
    }


@branch("settings.defaults")
def defaults(rng, version):
    """PulsarConfigurationLoader with an empty file."""
    return {}
