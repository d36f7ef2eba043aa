"""`explain --sweep` shows for which values of a setting a bundle stays."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"
REPORTS = "fixtures/reports/three-brokers"
BUNDLE = "shop/eu/0x00000000_0x40000000"
OTHER = "shop/eu/0x80000000_0xc0000000"


@pytest.fixture
def explain(capsys):
    def run(*words, status=0):
        assert main(["explain", *words]) == status
        said = capsys.readouterr()
        return said.out if status == 0 else " ".join(said.err.split())

    return run


@pytest.fixture
def case(capsys, tmp_path):
    data = ("--bundle-data", f"{REPORTS}/bundle-data")
    assert main(["case", f"{REPORTS}/modular", *data]) == 0
    (tmp_path / "case.json").write_text(capsys.readouterr().out)
    return str(tmp_path / "case.json")


def fates(out):
    rows = (line.split(maxsplit=1) for line in out.splitlines() if line.startswith("  "))
    return {value: fate for value, fate in rows if value[0].isdigit()}


def test_each_value_decides_as_it_does_alone(explain, case):
    out = explain(case, "--bundle", BUNDLE, "--sweep", f"{THRESHOLD}=10..40/5")
    found = fates(out)
    assert list(found) == ["10", "15", "20", "25", "30", "35", "40"]
    for value, fate in found.items():
        alone = explain(case, "--bundle", BUNDLE, "--setting", f"{THRESHOLD}={value}")
        goes = f"unload  {BUNDLE} of broker-1" in alone
        assert fate == ("it is unloaded from broker-1" if goes else "it stays")
    assert out.splitlines()[-1] == (
        "from 25 to 40: it stays; values between 20 and 25 are not tried"
    )


def test_a_broker_and_a_folder_of_reports_can_be_swept(explain, case):
    found = fates(explain(case, "--broker", "broker-1", "--sweep", f"{THRESHOLD}=20..30/10"))
    assert found["20"].startswith("unload ")
    assert found["30"] == "unload nothing"
    out = explain(f"{REPORTS}/modular", "--bundle", OTHER, "--sweep", f"{THRESHOLD}=10..20/5")
    assert set(fates(out).values()) == {"it stays"}
    assert "at each of these values: it stays" in out


@pytest.mark.parametrize(
    ("setting", "release", "why"),
    [
        ("maxUnloadPercentage=0.1..0.3/0.1", "3.0.7", "it belongs to UniformLoadShedder"),
        ("loadBalancerBrokerLoadTargetStd=0.25..0.5/0.25", "3.0.7", "it belongs to the extensible"),
        ("loadBalancerBrokerLoadTargetStd=0.1..0.3/0.1", "2.10.4", "Pulsar 2.10.4 has no such"),
    ],
)
def test_a_setting_without_effect_is_named_without_rows(explain, setting, release, why):
    words = (f"{REPORTS}/modular", "--release", release, "--bundle", BUNDLE, "--sweep", setting)
    out = explain(*words)
    assert f"--sweep {setting.partition('=')[0]} has no effect: {why}" in " ".join(out.split())
    assert fates(out) == {}
    assert out.splitlines()[-1] == "at each of these values: it is unloaded from broker-1"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--sweep", f"{THRESHOLD}=1..3"), "name a bundle with --bundle, or a broker with"),
        (("--bundle", BUNDLE, "--sweep", "x"), "write SETTING=FIRST..LAST/STEP"),
        (("--bundle", BUNDLE, "--sweep", "x=1..2"), "x is not a setting"),
        (("--bundle", BUNDLE, "--sweep", f"{THRESHOLD}=1..2/0"), "it has 0 values"),
        (("--bundle", "a/b/0x0_0x1", "--sweep", f"{THRESHOLD}=1..2"), "it contains no bundle"),
        (
            ("--bundle", BUNDLE, "--sweep", "loadBalancerOverrideBrokerNicSpeedGbps=1..2"),
            "it affects load reports, but the case already has them",
        ),
    ],
)
def test_a_sweep_that_cannot_be_made_is_refused(explain, case, words, problem):
    assert problem in explain(case, *words, status=2)


def test_other_questions_are_not_swept(explain, tmp_path):
    sweep = ("--bundle", BUNDLE, "--sweep", f"{THRESHOLD}=1..2")
    placing = explain(f"{REPORTS}/modular", "--place", BUNDLE, *sweep, status=2)
    assert "only a single cycle of shedding (shed.select) can be swept" in placing
    told = explain("split-1001-topics", *sweep, status=2)
    assert "only a single cycle of shedding (shed.select) can be swept" in told
    unknown = tmp_path / "log"
    unknown.write_text(json.dumps({}))
    assert "--sweep" in explain("--log", str(unknown), *sweep, status=2)
