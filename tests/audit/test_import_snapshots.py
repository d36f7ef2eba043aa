"""A history of a single moment is imported with a warning, since an audit can judge nothing
in it.
"""

import json
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main
from standins.snapshots import save_snapshots

REPORTS = Path(__file__).parents[2] / "fixtures/reports/three-brokers"
WARNING = "not known: any decision: with a single report of each broker, an audit"
LOG = (
    "2023-11-14T22:14:00,000+0000 [main] INFO ModularLoadManagerImpl - [ThresholdShedder] "
    "Unloading bundle: shop/eu/0x00000000_0x40000000 from broker broker-1\n"
)


@pytest.mark.parametrize(("count", "log", "warned"), [(1, "", 1), (2, "", 0), (1, LOG, 0)])
def test_a_single_snapshot_is_imported_with_a_warning(tmp_path, capsys, count, log, warned):
    save_snapshots(tmp_path / "saved", count)
    if log:
        (tmp_path / "saved" / "leader.log").write_text(log)
    words = ["import", str(tmp_path / "saved"), "--output", str(tmp_path / "history")]
    assert main(words) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert err.count(WARNING) == warned
    assert ("import later reports or the leader's log" in err) == bool(warned)


def test_only_reports_that_explain_takes_lead_there(tmp_path, capsys):
    for kind, leads in (("modular", True), ("simple", False)):
        output = str(tmp_path / kind)
        assert main(["import", str(REPORTS / kind), "--output", output]) == 0
        assert ("pulsar-conformance explain FOLDER" in capsys.readouterr().err) == leads


@pytest.mark.parametrize("named", [(), ("--cluster", "eu")])
def test_clusters_are_not_merged(named, tmp_path, capsys):
    record = {"kind": "leader", "at": "2026-11-20T10:00:00Z", "broker": "broker-1"}
    lines = [json.dumps({**record, "cluster": one}) for one in ("us", "eu")]
    (tmp_path / "history.jsonl").write_text("\n".join(lines))
    words = ["import", str(tmp_path / "history.jsonl"), "--output", str(tmp_path / "out"), *named]
    assert main(words) == 2
    assert "the sources describe several clusters, eu and us; import" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_metrics_of_clusters_are_not_merged(tmp_path, capsys):
    series = [
        {
            "metric": {"__name__": "pulsar_lb_cpu_usage", "cluster": one, "broker": "broker-1"},
            "values": [[1764000000, "10"]],
        }
        for one in ("us", "eu")
    ]
    file = tmp_path / "metrics.json"
    file.write_text(json.dumps({"status": "success", "data": {"result": series}}))
    assert main(["import", str(file), "--output", str(tmp_path / "out")]) == 2
    assert "several clusters, eu and us" in capsys.readouterr().err
