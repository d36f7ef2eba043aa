"""The bundle and the broker of each topic, found from the bundles that brokers own."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

HALVES = ("0x00000000_0x80000000", "0x80000000_0xffffffff")
PARTITIONS = [f"persistent://acme/orders/topic-partition-{number}" for number in range(20)]


@pytest.fixture
def located(tmp_path, capsys):
    def locate(owned, lines, status=0, *options):
        folder = tmp_path / "reports"
        folder.mkdir(exist_ok=True)
        for broker, ranges in owned.items():
            names = [f"acme/orders/{one}" for one in ranges]
            report = {"cpu": {"usage": 1, "limit": 100}, "bundles": names, "lastStats": {}}
            (folder / f"{broker}.json").write_text(json.dumps(report))
        file = tmp_path / "topics"
        file.write_text("\n".join(lines) + "\n")
        assert main(["explain", str(folder), "--topics", str(file), *options]) == status
        said = capsys.readouterr()
        return " ".join(said.out.split()), said.err

    return locate


def test_topics_are_counted_on_bundles_and_brokers(located):
    quoted = [f'  "{one}",' for one in PARTITIONS]
    out, _ = located({"b1": HALVES[:1], "b2": HALVES[1:]}, ["[", *quoted, "]"])
    bundles = out.partition("topics in each bundle ")[2]
    first, second = (int(bundles.partition(f"{one} ")[2].split()[0]) for one in HALVES)
    assert first + second == 20
    assert f"topics on each broker b1 {first} topics b2 {second} topics" in out
    assert "No distribution has fewer topics on the fullest broker" in out


def test_one_broker_with_all_bundles_has_all_topics(located):
    out, _ = located({"b1": HALVES, "b2": ()}, PARTITIONS)
    assert "topics on each broker b1 20 topics b2 0 topics" in out


def test_bundles_that_nobody_owns_are_named(located):
    out, _ = located({"b1": HALVES[:1]}, PARTITIONS)
    assert "no broker" in out.partition("topics on each broker")[2]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["# none"], "no line contains a topic"),
        ([PARTITIONS[0], "acme/orders"], "topics:2: acme/orders is not a topic"),
        ([PARTITIONS[0], "2 topics in all"], "topics:2: 2 topics in all is not a topic"),
        (["orders"], "no broker owns a bundle of public/default"),
        ([PARTITIONS[0], "persistent://acme/bills/a"], "give topics of one namespace"),
        (["persistent://acme/bills/a"], "no broker owns a bundle of acme/bills"),
    ],
)
def test_topics_that_cannot_be_located_are_refused(located, lines, problem):
    _, err = located({"b1": HALVES}, lines, status=2)
    assert problem in err


def test_a_topic_may_have_its_short_name(located):
    out, _ = located({"b1": HALVES}, ["acme/orders/a", "persistent://acme/orders/b"])
    assert "persistent://acme/orders/a hash" in out
    assert "topics on each broker b1 2 topics" in out


def test_the_hash_of_a_release_is_not_called_the_suites_own(located):
    out, _ = located({"b1": HALVES}, PARTITIONS, 0, "--release", "3.0.7")
    assert "hashes CRC-32 of the whole name (NamespaceBundleFactory" in out


def test_a_topic_counts_once_however_often_it_is_listed(located):
    out, err = located({"b1": HALVES}, [*PARTITIONS[:2], PARTITIONS[0], "acme/orders/a"])
    assert "topics on each broker b1 3 topics" in out
    assert f"listed more than once, but counted once: {PARTITIONS[0]}\n" in err


def test_the_name_of_a_partitioned_topic_does_not_count_beside_its_partitions(located):
    base = "persistent://acme/orders/topic"
    out, err = located({"b1": HALVES}, [base, *PARTITIONS, "persistent://acme/orders/other"])
    assert "topics on each broker b1 21 topics" in out
    assert f"brokers serve only the partitions, which are listed: {base}\n" in err


def test_a_name_with_a_cluster_is_looked_up_in_the_namespace_of_the_cluster(located, tmp_path):
    topic = "persistent://acme/west/orders/a"
    _, err = located({"b1": HALVES}, [topic], status=2)
    assert "no broker owns a bundle of acme/west/orders" in err
    names = [f"acme/west/orders/{one}" for one in HALVES]
    report = {"cpu": {"usage": 1, "limit": 100}, "bundles": names, "lastStats": {}}
    (tmp_path / "reports" / "b2.json").write_text(json.dumps(report))
    out, _ = located({"b1": HALVES}, [topic])
    assert f"{topic} hash" in out
    assert "topics on each broker b1 0 topics b2 1 topic" in out


def test_a_full_name_without_a_namespace_is_refused(located):
    _, err = located({"b1": HALVES}, ["persistent://acme/orders"], status=2)
    assert "topics:1: persistent://acme/orders is not a topic" in err
