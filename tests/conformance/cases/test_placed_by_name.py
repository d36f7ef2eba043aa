"""Placement that depends on the names of brokers, namespaces and policies."""

import json
from contextlib import closing

import pytest
from pulsar_conformance.conformance.cases.placing import Constraints, policies_of
from pulsar_conformance.conformance.commands.main import main
from standins.admin import FakeCluster

WHOLE = "0x00000000_0xffffffff"
SELECTOR = "loadBalancerLoadPlacementStrategy=RoundRobinBrokerSelector"


def report(usage, address=""):
    known = {"webServiceUrl": f"http://{address}"} if address else {}
    return {**known, "cpu": {"usage": usage, "limit": 100}, "bundles": [], "lastStats": {}}


@pytest.fixture
def placed(tmp_path, capsys):
    """Return a function that explains a placement: it returns status, output and errors."""

    def asked(bundle, *options, reports=None):
        for name, one in (reports or {"b1": report(20), "b2": report(99)}).items():
            (tmp_path / f"{name}.json").write_text(json.dumps(one))
        status = main(["explain", str(tmp_path), "--place", bundle, *options])
        said = capsys.readouterr()
        err = said.err.replace("pulsar-conformance: ", "")
        return status, " ".join(said.out.split()), " ".join(err.split())

    return asked


# NamespaceService of 2.8.2, 2.9.0, 3.0.7, 4.0.7 and 4.2.4; PIP-457 is in 4.2.0.
OWN = {
    "pulsar/b1:8080": ("2.9.0", "2.10.5", "3.0.7", "4.2.0", "5.0.0"),
    "pulsar/use/b1:8080": ("2.4.2", "2.8.2", "2.9.0", "3.0.7", "4.1.2"),
    "sla-monitor/b1:8080": ("4.2.0", "4.2.4", "5.0.0"),
    "sla-monitor/use/b1:8080": ("2.4.2", "2.8.2", "3.0.7", "4.0.7", "4.1.2"),
}
PLACED = {
    "pulsar/b1:8080": ("2.4.2", "2.8.2"),
    "sla-monitor/b1:8080": ("2.8.2", "2.9.1", "3.0.7", "4.0.7", "4.1.2"),
}


@pytest.mark.parametrize(
    ("namespace", "version"), [(name, one) for name, each in OWN.items() for one in each]
)
def test_a_namespace_belongs_to_its_broker_in_the_releases_that_name_it_so(
    placed, namespace, version
):
    status, _, err = placed(f"{namespace}/{WHOLE}", "--release", version)
    assert (status, "its namespace names b1:8080" in err) == (2, True)


@pytest.mark.parametrize(
    ("namespace", "version"), [(name, one) for name, each in PLACED.items() for one in each]
)
def test_a_namespace_is_any_other_in_the_releases_that_name_theirs_otherwise(
    placed, namespace, version
):
    status, out, _ = placed(f"{namespace}/{WHOLE}", "--release", version)
    assert (status, "answer broker b1" in out) == (0, True)


def test_a_heartbeat_of_a_release_without_known_source_is_not_judged(placed):
    status, _, err = placed(f"pulsar/b1:8080/{WHOLE}", "--release", "2.8.3")
    assert status == 2
    assert "Pulsar 2.9.0, unlike 2.8.2, uses its namespace for heartbeats of b1:8080" in err
    assert "what 2.8.3 does is unknown" in err


@pytest.mark.parametrize("namespace", ["shop/use/eu", "pulsar/use/b1:8080"])
def test_a_namespace_with_a_cluster_has_no_broker_since_4_2(placed, namespace):
    for release in ("4.2.0", "4.2.4", "5.0.0-M1"):
        _, out, _ = placed(f"{namespace}/{WHOLE}", "--release", release)
        assert f"answer failed {namespace} is not tenant/namespace (NamespaceName.get)" in out
    _, out, _ = placed(f"shop/use/eu/{WHOLE}", "--release", "4.0.7")
    assert "answer broker b1" in out


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ("0x40000000_0x00000000", "its range is empty: 0x00000000 is not above 0x40000000"),
        ("0x40000000_0x40000000", "its range is empty: 0x40000000 is not above 0x40000000"),
        ("0x00000000_0x1ffffffff", "with eight lower-case hexadecimal digits in each bound"),
        ("0x00000000_0xFFFFFFFF", "with eight lower-case hexadecimal digits in each bound"),
    ],
)
@pytest.mark.parametrize("namespace", ["shop/eu", "pulsar/b1:8080"])
def test_a_range_that_no_bundle_has_is_refused(placed, namespace, part, problem):
    status, _, err = placed(f"{namespace}/{part}")
    assert (status, problem in err) == (2, True)


def test_an_empty_range_in_metrics_is_refused_with_its_broker(tmp_path, capsys):
    file = tmp_path / "metrics.txt"
    part = '{broker="b1:8080",bundle="shop/eu/0x40000000_0x00000000"}'
    file.write_text(
        f'pulsar_lb_cpu_usage{{broker="b1:8080"}} 50\npulsar_bundle_msg_rate_in{part} 5\n'
    )
    options = ("--metrics", str(file), "--release", "4.0.7")
    assert main(["explain", *options, "--place", f"new/ns/{WHOLE}"]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "b1:8080: shop/eu/0x40000000_0x00000000: its range is empty" in err


def policy(primary, namespaces=("shop/.*",)):
    least = {"policy_type": "min_available", "parameters": {"min_limit": "1"}}
    return {
        "namespaces": [*namespaces],
        "primary": [primary],
        "secondary": [],
        "auto_failover_policy": least,
    }


SEVERAL = {"m": policy("b1"), "z": policy("b2"), "other": policy("b2", ["a/b"])}


# In the order of a HashMap, z comes before m: "z".hashCode() = 122 = 10 mod 16, "m" 109 = 13.
def test_the_first_policy_in_the_file_counts_and_that_is_said_to_be_assumed(placed, tmp_path):
    file = tmp_path / "policies" / "isolation.json"
    file.parent.mkdir()
    file.write_text(json.dumps(SEVERAL))
    _, out, err = placed(f"shop/eu/{WHOLE}", "--release", "4.2.4", "--isolation", str(file))
    assert "answer broker b1" in out
    told = (
        "several policies match shop/eu: m, z; Pulsar uses the one stored first "
        "(NamespaceIsolationPolicies.getPolicyByNamespace), assumed to be m, the first in the file"
    )
    assert told in err
    file.write_text(json.dumps({"z": SEVERAL["z"], "m": SEVERAL["m"]}))
    _, out, err = placed(f"shop/eu/{WHOLE}", "--release", "4.2.4", "--isolation", str(file))
    assert "answer broker b2" in out
    assert "assumed to be z" in err
    file.write_text(json.dumps({"z": policy("b1"), "m": policy("b[1]")}))
    _, _, err = placed(f"shop/eu/{WHOLE}", "--release", "4.2.4", "--isolation", str(file))
    assert "several policies" not in err


class Isolated(FakeCluster):
    """A cluster with several isolation policies."""

    def answer(self, name, path):
        if path.endswith("/namespaceIsolationPolicies"):
            return {"m": policy(".*"), "z": policy("none")}
        found = super().answer(name, path)
        if path.endswith("/broker-stats/load-report"):
            return {**found, "brokerVersionString": "4.0.3"}
        return found


def test_the_order_of_the_admin_api_is_that_of_the_policies_as_they_are_stored(capsys):
    with closing(Isolated(2)) as cluster:
        assert main(["explain", "--from", cluster.url, "--place", f"shop/eu/{WHOLE}"]) == 0
    err = " ".join(capsys.readouterr().err.replace("pulsar-conformance: ", "").split())
    assert "getPolicyByNamespace), that is m" in err
    assert "assumed to be m" not in err


def test_an_expression_is_named_as_it_was_written():
    [one] = policies_of("isolation.json", {"eu": policy(r"(?<n>b)-[.]\Q1\E")})
    assert [each.text for each in one.primary] == [r"(?<n>b)-[.]\Q1\E"]
    assert Constraints((one,)).policy_of("shop/eu") is one


IDS = [f"pulsar-broker-{number}.pulsar-broker.pulsar.svc.cluster.local:8080" for number in range(3)]
NAMED = dict(zip(("broker-a", "broker-b", "broker-c"), IDS, strict=True))


def test_brokers_follow_in_turn_in_the_order_of_their_ids(placed):
    """Java prints a HashSet of the three IDs as 1, 2, 0, and a HashSet of the names as b, c, a."""
    reports = {name: report(20, address) for name, address in NAMED.items()}
    options = ("--release", "4.2.4", "--setting", SELECTOR)
    _, out, err = placed(f"new/ns/{WHOLE}", *options, reports=reports)
    assert "decision broker-b first, then broker-c, broker-a: in turn since the" in out
    assert "answer broker broker-b, if it is the first bundle placed in turn" in out
    assert "changed to broker-b, if it is the first bundle placed in turn" in out
    assert "unknown IDs" not in err


def test_ids_that_are_not_known_are_named_where_their_order_decides(placed):
    reports = {name: report(20) for name in NAMED}
    options = ("--release", "4.2.4", "--setting", SELECTOR)
    _, _, err = placed(f"new/ns/{WHOLE}", *options, reports=reports)
    told = "port 8080 is assumed for broker-a, broker-b, broker-c"
    assert told in err
    _, _, err = placed(f"new/ns/{WHOLE}", "--release", "4.2.4", reports=reports)
    assert "unknown IDs" not in err


@pytest.mark.parametrize("ids", [IDS[:2], IDS[1::-1]])
def test_the_id_of_a_broker_breaks_a_tie_of_shedding_and_not_the_name_of_its_file(
    tmp_path, capsys, ids
):
    """If two brokers are equally busy, the one whose ID comes first in a hash map sheds."""
    for number, address in enumerate([*ids, IDS[2]]):
        bundle = f"a/b{number}/{WHOLE}"
        rate = {"msgRateIn": 1000.0 if address in ids else 1.0}
        known = {**report(50, address), **rate, "bundles": [bundle], "lastStats": {bundle: rate}}
        (tmp_path / f"file-{number}.json").write_text(json.dumps(known))
    strategy = "loadBalancerLoadSheddingStrategy=UniformLoadShedder"
    assert main(["explain", str(tmp_path), "--release", "4.0.7", "--setting", strategy]) == 0
    busiest = f"file-{ids.index(IDS[1])}"
    assert f"to {busiest} 1000 msg/s" in " ".join(capsys.readouterr().out.split())
