"""Values of settings are parsed as Pulsar parses them: Integer.parseInt, Double.parseDouble."""

import json
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.cases.settings import BadSetting, given_settings
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main

PERCENT = "loadBalancerBrokerThresholdShedderPercentage"
BUNDLES = "loadBalancerNamespaceMaximumBundles"
RATE = "loadBalancerNamespaceBundleMaxMsgRate"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
WEIGHT = "loadBalancerCPUResourceWeight"
STD = "loadBalancerBrokerLoadTargetStd"
REPORTS = Path(fixtures.__file__).parent / "reports" / "three-brokers" / "modular"


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        (f"{PERCENT}=10.5", "a whole number"),
        (f"{PERCENT}=1e1", "a whole number"),
        (f"{RATE}=30_000", "a whole number"),
        (f"{RATE}=٣", "a whole number"),
        (f"{BUNDLES}=99999999999", "a whole number from -2147483648 to 2147483647"),
        (f"{GRACE}=9223372036854775808", "a whole number from -9223372036854775808 to"),
        (f"{WEIGHT}=0_1", "a number"),
        (f"{STD}=inf", "a number"),
    ],
)
def test_a_value_that_java_does_not_parse_is_refused(text, takes):
    with pytest.raises(BadSetting) as told:
        given_settings([text])
    assert str(told.value).startswith(f"{text}: it takes {takes}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"{BUNDLES}=2147483647", 2147483647),
        (f"{GRACE}=99999999999", 99999999999),
        (f"{RATE}=+30000", 30000),
        (f"{WEIGHT}=1.0", 1),
        (f"{STD}=2.5e-1", 0.25),
        (f"{STD}=.25d", 0.25),
    ],
)
def test_a_value_that_java_parses_is_taken(text, value):
    assert [*given_settings([text]).values()] == [value]


@pytest.fixture
def told(tmp_path, capsys):
    """Return a function that explains a file with the given lines: it returns status and output."""

    def tell(*lines, options=()):
        file = tmp_path / "broker.conf"
        file.write_text("".join(f"{line}\n" for line in lines))
        status = main(["settings", str(file), *options])
        said = capsys.readouterr()
        return status, said.out.replace(f"{file}:", "line ")

    return tell


def test_values_that_cannot_be_read_have_a_section_and_the_others_are_explained(told):
    status, out = told(f'{PERCENT}="70"', f"{BUNDLES}=64", f"{RATE}=70%")
    assert status == 1
    out = " ".join(out.split())
    assert "cannot be read, so the broker does not start" in out
    assert f'{PERCENT} (line 1): "70": it takes a whole number' in out
    assert f"{RATE} (line 3): 70%: it takes a whole number" in out
    assert f"{BUNDLES} = 64 (line 2; the default is 128)" in out
    _, out = told(f"{RATE}=70%", options=["--all"])
    assert out.count(RATE) == 1


def test_the_last_value_counts_even_if_it_cannot_be_read(told):
    _, out = told(f"{RATE}=7", f"{RATE}=x", options=["--json"])
    found = json.loads(out)
    assert [one["place"] for one in found["cannotBeRead"]] == ["line 2"]
    assert [one["place"] for one in found["withoutEffect"]] == ["line 1"]
    assert RATE not in found["inForce"]
    status, out = told(f"{RATE}=x", f"{RATE}=7", options=["--json"])
    found = json.loads(out)
    assert (status, found["cannotBeRead"]) == (1, [])
    assert (found["withoutEffect"][0]["place"], found["inForce"][RATE]["value"]) == ("line 1", 7)


def test_a_value_outside_the_documented_range_is_in_force_and_listed_first(told):
    lines = ("loadBalancerHistoryResourcePercentage=90", f"{WEIGHT}=-1")
    status, out = told(*lines)
    first, _, rest = " ".join(out.split()).partition("in force, with the defaults")
    assert status == 1
    why = "Pulsar accepts it, but it should be between 0 and 1"
    assert f"out of range loadBalancerHistoryResourcePercentage = 90 (line 1): {why}" in first
    assert f"{WEIGHT} = -1 (line 2): {why}" in first
    assert "loadBalancerHistoryResourcePercentage = 90 (line 1; the default is 0.9)" in rest
    found = json.loads(told(*lines, options=["--json"])[1])
    assert [one["why"] for one in found["outOfRange"]] == [why, why]
    assert found["inForce"][WEIGHT]["remark"] == why
    status, out = told("loadBalancerHistoryResourcePercentage=0.8")
    assert (status, "out of range" in out) == (0, False)


def test_escapes_of_properties_are_read_as_java_does(tmp_path):
    file = tmp_path / "broker.conf"
    interval = "loadBalancerSheddingIntervalMinutes"
    topics = "loadBalancerNamespaceBundleMaxTopics"
    file.write_text(f"{interval}=\\u0031\\u0035\n{BUNDLES} \\\n  = 6\\4\n{topics}\\==5\n", "utf-8")
    found = read_settings(file)
    assert found.values == {interval: 15, BUNDLES: 64}
    assert [one.name for one in found.unused] == [f"{topics}="]


def test_a_byte_order_mark_hides_the_first_setting(tmp_path):
    file = tmp_path / "broker.conf"
    file.write_text(f"\ufeff{BUNDLES}=64\n{RATE}=70\n", "utf-8")
    found = read_settings(file)
    assert found.values == {RATE: 70}
    assert [str(one) for one in found.unused] == [
        f"{file}:1: {BUNDLES}: a byte order mark precedes its name, so Pulsar reads another name; "
        "save the file without it"
    ]
    file.write_text(f"\ufeff# first\n{RATE}=70\n", "utf-8")
    assert (read_settings(file).values, read_settings(file).unused) == ({RATE: 70}, ())


def test_an_empty_list_is_not_the_default(told):
    status, out = told("supportedNamespaceBundleSplitAlgorithms=", f"{BUNDLES}=64")
    out = " ".join(out.split())
    assert status == 1
    assert "its empty value is read as an empty list, not as the default" in out
    assert f"in force once the broker starts, with the defaults of Pulsar 5.0.0-M1 {BUNDLES}" in out


SUPPORTED = "supportedNamespaceBundleSplitAlgorithms"


# PulsarBrokerStarter:174-187; FieldParser.stringToList keeps empty entries, but those at the end.
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is an empty list, which lacks range_equally_divide"),
        (",,", "it is an empty list, which lacks range_equally_divide"),
        ("range_equally_divide,,topic_count_equally_divide", "it has an empty entry"),
        (",range_equally_divide", "it has an empty entry"),
        ("range_equally_divide, ,topic_count_equally_divide", "it has an empty entry"),
        ("range_equally_divide,", ""),
    ],
)
def test_a_list_of_split_algorithms_is_read_as_java_does(told, text, why):
    status, out = told(f"{SUPPORTED}={text}")
    assert status == (1 if why else 0)
    assert ("so bin/pulsar broker does not start" in " ".join(out.split())) is bool(why)
    assert why in " ".join(out.split())


# Java's Double.valueOf, by which FieldParser reads these settings.
@pytest.mark.parametrize(
    ("text", "value"),
    [("0x1p-1", 0.5), ("0x.8P0f", 0.5), ("1d", 1), ("1f", 1), (" .5e0 ", 0.5), ("-0X1P2", -4)],
)
def test_a_number_is_read_as_java_does(told, text, value):
    _, out = told(f"{WEIGHT}={text}", options=["--json"])
    assert json.loads(out)["inForce"][WEIGHT]["value"] == value


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", "0x1p9999"])
def test_no_number_and_infinity_are_read_and_not_decided_by(told, text, tmp_path, capsys):
    least = "loadBalancerBundleUnloadMinThroughputThreshold"
    status, out = told(f"{least}={text}", options=["--release", "4.2.4"])
    assert status == 1
    assert "the effect of this number is not known" in " ".join(out.split())
    assert "cannot be read" not in out
    found = json.loads(told(f"{least}={text}", options=["--release", "4.2.4", "--json"])[1])
    assert found["inForce"][least]["value"] in ("NaN", "-Infinity", "Infinity")
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{least}={text}\n", "utf-8")
    for words in (("--conf", str(conf)), ("--setting", f"{least}={text}")):
        assert main(["explain", str(REPORTS), *words]) == 2
        assert "the effect of this number is not known" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("text", ["0x1", "nan", "inf", "1_0", "1e", "NaNf", "0x1p-1x", "Infinityd"])
def test_other_texts_are_no_numbers(told, text):
    _, out = told(f"{WEIGHT}={text}", options=["--json"])
    assert [one["name"] for one in json.loads(out)["cannotBeRead"]] == [WEIGHT]


NO_START = "0: an interval has to be above 0 (ScheduledThreadPoolExecutor), so the broker does not"
NO_LEADER = "so an elected leader retries for ever (ExtensibleLoadManagerImpl.playLeader)"
MANAGER = "org.apache.pulsar.broker.loadbalance"
EXTENSIBLE = f"loadManagerClassName={MANAGER}.extensions.ExtensibleLoadManagerImpl"
OFF = "loadBalancerEnabled=false"


# LinuxBrokerHostUsageImpl, PulsarService.startLoadManagementService and the executor's contract.
@pytest.mark.parametrize(
    ("name", "lines", "why"),
    [
        ("loadBalancerHostUsageCheckIntervalMinutes", (), NO_START),
        ("loadBalancerHostUsageCheckIntervalMinutes", (OFF,), NO_START),
        ("loadBalancerHostUsageCheckIntervalMinutes", (EXTENSIBLE,), NO_START),
        ("loadBalancerReportUpdateMinIntervalMillis", (), NO_START),
        ("loadBalancerReportUpdateMinIntervalMillis", (OFF,), "loadBalancerEnabled is false"),
        ("loadBalancerReportUpdateMinIntervalMillis", (EXTENSIBLE, OFF), NO_START),
        ("loadBalancerSplitIntervalMinutes", (EXTENSIBLE,), NO_START),
        ("loadBalancerSplitIntervalMinutes", (), "it belongs to the extensible load manager"),
        ("loadBalancerSheddingIntervalMinutes", (EXTENSIBLE,), NO_LEADER),
        ("loadBalancerSheddingIntervalMinutes", (), "follow each other without a pause"),
        ("loadBalancerResourceQuotaUpdateIntervalMinutes", (), "what follows is not known"),
        ("loadBalancerReportUpdateMaxIntervalMinutes", (), "a broker reports at each check"),
        ("loadBalancerSheddingGracePeriodMinutes", (), ""),
    ],
)
@pytest.mark.parametrize("release", ["3.0.7", "4.2.4"])
def test_the_consequence_of_an_interval_of_zero_is_reported(told, release, name, lines, why):
    status, out = told(f"{name}=0", *lines, options=["--release", release])
    out = " ".join(out.split())
    assert status == (1 if why else 0)
    assert why in out
    assert ("does not start" in out) is (why == NO_START)
    once = why == NO_START and bool({*lines})
    assert ("in force once the broker starts" in out) is once


def test_a_dynamic_interval_is_not_said_to_stop_a_broker(told, tmp_path):
    dynamic = tmp_path / "dynamic.json"
    dynamic.write_text('{"loadBalancerHostUsageCheckIntervalMinutes": "0"}', "utf-8")
    _, out = told(f"{BUNDLES}=64", options=["--dynamic", str(dynamic)])
    out = " ".join(out.split())
    assert "its effect as a dynamic setting is not known" in out
    assert "does not start" not in out
    assert "once the broker starts" not in out
