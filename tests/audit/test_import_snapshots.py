"""A history of one moment is imported with a warning, since nothing in it can be judged."""

import pytest
from pulsar_conformance.conformance.commands.main import main
from standins.snapshots import save_snapshots

WARNING = "not known: any decision: the sources have a single report of each broker"
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
    assert ("import them together with later reports" in err) == bool(warned)
