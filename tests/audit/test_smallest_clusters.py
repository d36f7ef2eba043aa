"""The search for the smallest cluster that violates a rule about the long run."""

import json

from pulsar_conformance.audit.simulation.smallest.clusters import cluster_of, loads_text, usages_of
from pulsar_conformance.conformance.commands.main import main

NEWEST = "released-3.0"


def run(capsys, *words):
    status = main(["simulate", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


# 25 % and 0 % are 12.5 % on average, and the limit is 22.5 %: the bundle goes to the other broker,
# and back once its grace period is over.
def test_the_smallest_cluster_without_rest_has_one_bundle_by_the_documents(capsys, tmp_path):
    status, out, _ = run(capsys, "--smallest", "--publish", str(tmp_path))
    assert status == 0
    assert "smallest: 0; 25 %" in out
    assert "never, 62" in out
    assert "cycle 31: broker-1 25 %, broker-2 0 %; average 12.5 %, limit 22.5 %" in out
    assert "to shed  25 - 7.5 = 17.5 points: 17.5 % of 250 MB/s = 43.75 MB/s" in out
    [loop] = json.loads((tmp_path / "loops.json").read_text("utf-8"))
    assert (loop["loads"], loop["period"]) == ([[], [25]], 62)
    assert "to shed  25 - 7.5" in (tmp_path / "README.md").read_text("utf-8")


# OverloadShedder sheds only above 85 %. Two brokers do: the one that has shed more takes the bundle
# of the other, although it was used more.
def test_the_smallest_cluster_that_violates_another_rule_is_shown_up_to_its_violation(
    capsys, tmp_path
):
    words = ("--strategy", "OverloadShedder", "--profile", NEWEST, "--cycles", "5")
    status, out, _ = run(capsys, "--smallest", "LOOP-02", *words, "--publish", str(tmp_path))
    assert status == 0
    [loop] = json.loads((tmp_path / "loops.json").read_text("utf-8"))
    assert (loop["rule"], loop["period"]) == ("LOOP-02", None)
    assert "LOOP-02" in loop["rules"]
    page = (tmp_path / "README.md").read_text("utf-8")
    assert page.startswith("# The smallest clusters that violate LOOP-02\n\nLOOP-02: A bundle that")
    assert "| cycles | unloads | broken |" in page
    last = out.rstrip().splitlines()[-1]
    assert last.startswith("LOOP-02: shop/events/")
    assert f"\n{last}\n```" in page


def test_a_load_that_changes_has_its_second_value_from_cycle_10_on():
    world = cluster_of([[5, (40, 10)], []])
    constant, changing = world.bundles
    assert constant.recorded == ()
    assert [changing.recorded[cycle] for cycle in (0, 9)] == [changing.rates] * 2
    assert len(changing.recorded) == 11
    assert changing.recorded[10][2] == changing.rates[2] / 4
    assert loads_text([[5, (40, 10)], []]) == "5 + 40 → 10; 0 %"
    assert [usages_of(5), usages_of((40, 10))] == [(5, 5), (40, 10)]


def test_fewer_clusters_than_sizes_can_be_drawn(capsys):
    status, out, _ = run(capsys, "--smallest", "LOOP-05", "--examples", "1", "--cycles", "2")
    assert status == 0
    assert out.rstrip().endswith("the only cluster drawn does not violate LOOP-05 within 2 cycles")
