"""Questions of an operator who switches to the extensible load manager and its shedder."""

from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main

REPORTS = Path(__file__).parents[3] / "fixtures/reports/three-brokers"
FULL = "org.apache.pulsar.broker.loadbalance.extensions"
MANAGER = f"loadManagerClassName={FULL}.ExtensibleLoadManagerImpl"
STRATEGY = "loadBalancerLoadSheddingStrategy"
IN_FULL = f"{STRATEGY}={FULL}.scheduler.TransferShedder"


def explained(capsys, *more):
    status = main(["explain", str(REPORTS / "modular"), "--release", "4.2.4", *map(str, more)])
    out, err = capsys.readouterr()
    return status, out, " ".join(err.split())


@pytest.mark.parametrize("strategy", [f"{STRATEGY}=TransferShedder", IN_FULL])
def test_the_shedder_implies_its_manager_and_has_an_effect(capsys, strategy):
    given = ("--conf", REPORTS / "broker.conf", "--setting", strategy)
    status, out, err = explained(capsys, *given)
    assert status == 0
    assert f"{STRATEGY}:" not in err.partition("without effect:")[2]
    assert f"{MANAGER} is assumed" in err
    assert "deviation    0.2068 <= 0.25 (loadBalancerBrokerLoadTargetStd)" in out
    assert "no effect" not in out
    assert "explained as if the extensible load manager ran" in " ".join(out.split())


def test_a_file_that_selects_the_manager_and_its_shedder_is_explained(tmp_path, capsys):
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{MANAGER}\n{IN_FULL}\n")
    status, out, err = explained(capsys, "--conf", conf)
    assert (status, "is assumed" in err) == (0, False)
    lines = [line.split()[0] for line in out.splitlines() if " smoothed " in line]
    assert lines == ["broker-1", "broker-2", "broker-3"]
    assert "mean         43.33 %" in out
    conf.write_text(f"{MANAGER}\n{STRATEGY}=org.example.Other\n")
    assert main(["explain", str(REPORTS / "modular"), "--conf", str(conf)]) == 2


def test_many_defaults_take_one_line_unless_all_are_asked_for(capsys):
    given = ("--setting", f"{STRATEGY}=TransferShedder")
    _, out, _ = explained(capsys, *given)
    assert "6 settings have the defaults of released-4.2 (--all lists them)" in out
    _, out, _ = explained(capsys, *given, "--all")
    assert out.count("is not set:") == 6


def test_a_history_that_reports_do_not_hold_is_mentioned(capsys):
    _, _, err = explained(capsys)
    assert "usageHistory is unknown" in err
    assert "0.9 x earlier + 0.1 x now (loadBalancerHistoryResourcePercentage = 0.9)" in err
    _, _, err = explained(capsys, "--setting", "loadBalancerHistoryResourcePercentage=0")
    assert "usageHistory" not in err
    _, _, err = explained(capsys, "--setting", f"{STRATEGY}=OverloadShedder")
    assert "usageHistory" not in err


def test_a_bundle_that_the_reports_lack_is_not_blamed_on_the_settings(capsys):
    bundle = "shop/us/0x80000000_0xc000"
    status, _, err = explained(capsys, "--conf", REPORTS / "broker.conf", "--bundle", bundle)
    assert status == 2
    assert f"three-brokers/modular: it contains no bundle {bundle}" in err
    assert "did you mean shop/us/0x80000000_0xc0000000?" in err
