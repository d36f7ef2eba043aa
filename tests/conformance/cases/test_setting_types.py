"""Values of settings are parsed as Pulsar parses them: Integer.parseInt, Double.parseDouble."""

import json

import pytest
from pulsar_conformance.conformance.cases.settings import BadSetting, given_settings
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main

PERCENT = "loadBalancerBrokerThresholdShedderPercentage"
BUNDLES = "loadBalancerNamespaceMaximumBundles"
RATE = "loadBalancerNamespaceBundleMaxMsgRate"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
WEIGHT = "loadBalancerCPUResourceWeight"
STD = "loadBalancerBrokerLoadTargetStd"


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
    """Explain a file of these lines; return the status and what is printed."""

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


def test_a_value_outside_the_documented_range_is_in_force_with_a_remark(told):
    _, out = told("loadBalancerHistoryResourcePercentage=1.5", f"{WEIGHT}=-1")
    out = " ".join(out.split())
    assert "loadBalancerHistoryResourcePercentage = 1.5 (line 1; the default is 0.9; Pulsar" in out
    assert f"{WEIGHT} = -1" in out
    assert "Pulsar accepts it, but it should be between 0 and 1)" in out


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
        f"{file}:1: {BUNDLES}: a byte order mark precedes its name, so it is another name; save "
        "the file without the mark"
    ]
    file.write_text(f"\ufeff# first\n{RATE}=70\n", "utf-8")
    assert (read_settings(file).values, read_settings(file).unused) == ({RATE: 70}, ())


def test_an_empty_list_is_not_the_default(told):
    status, out = told("supportedNamespaceBundleSplitAlgorithms=", f"{BUNDLES}=64")
    out = " ".join(out.split())
    assert status == 1
    assert "its empty text is read as an empty list, and not as the default" in out
    assert "supportedNamespaceBundleSplitAlgorithms = empty (line 1; the default is range" in out
