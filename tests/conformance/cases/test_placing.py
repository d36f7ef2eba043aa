"""Where a bundle goes: cases made from reports and from what Pulsar's admin tools print."""

import json
from contextlib import closing

import pytest
from pulsar_conformance.conformance.cases.load_reports import BadSnapshot
from pulsar_conformance.conformance.cases.placing import Constraints, host_of, policies_of
from pulsar_conformance.conformance.commands.main import main
from standins.admin import FakeCluster

BUNDLE = "acme/orders/0x00000000_0x40000000"
OTHER = "acme/orders/0x40000000_0x80000000"


def policy(namespaces, primary, secondary=(), least=1):
    return {
        "namespaces": namespaces,
        "primary": primary,
        "secondary": list(secondary),
        "auto_failover_policy": {
            "policy_type": "min_available",
            "parameters": {"min_limit": str(least), "usage_threshold": "80"},
        },
    }


def isolated(policies, namespace="acme/orders", brokers=("b1", "b2", "b3:8080")):
    """Return the primary and secondary brokers of a namespace, and the minimum of primary ones."""
    found = Constraints(policies_of("isolation.json", policies)).isolation(
        namespace, dict(zip(brokers, brokers, strict=True))
    )
    return [(one["primary"], one["secondary"], one["least"]) for one in found]


def test_expressions_of_a_policy_match_the_whole_host_without_its_port():
    assert host_of("b3.example.com:8080") == "b3.example.com"
    assert host_of("b3.example.com") == "b3.example.com"
    assert isolated({"eu": policy(["acme/.*"], ["b[12]"], ["b.*"], 2)}) == [
        (["b1", "b2"], ["b3:8080"], 2)
    ]
    assert isolated({"eu": policy(["acme/.*"], ["b"], [r"\Qb3\E"])}) == [([], ["b3:8080"], 1)]


def test_a_cluster_without_policies_leaves_all_brokers():
    assert isolated({}) == []


def test_one_policy_as_it_is_printed_needs_no_name():
    assert isolated(policy(["acme/orders"], ["b1"])) == [(["b1"], [], 1)]


def test_a_namespace_without_a_policy_gets_brokers_that_are_primary_in_none():
    policies = {"a": policy(["bank/.*"], ["b1"], ["b2"]), "b": policy(["shop/.*"], ["b3"])}
    assert [primary for primary, *_ in isolated(policies)] == [["b1"], ["b3:8080"]]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "neither an isolation policy nor a JSON object"),
        ({"eu": {"namespaces": "acme/.*"}}, "policy eu: namespaces is not a list"),
        ({"eu": policy(["a/b"], [r"\p{IsGreek}+"])}, r"\p{IsGreek}+ cannot be evaluated here"),
        ({"eu": policy(["a/b"], ["b{,2}"])}, "b{,2} is not a Java regular expression"),
        ({"eu": {**policy(["a/b"], []), "auto_failover_policy": None}}, "must be min_available"),
    ],
)
def test_a_policy_that_cannot_be_read_is_refused(data, problem):
    with pytest.raises(BadSnapshot, match=r"isolation\.json") as refused:
        policies_of("isolation.json", data)
    assert problem in str(refused.value)


def report(usage, bundles=(), version="3.0.7", topics=1):
    return {
        "cpu": {"usage": usage, "limit": 100},
        "bundles": list(bundles),
        "lastStats": {one: {"msgRateIn": 10.0, "msgThroughputIn": 1e6} for one in bundles},
        "numTopics": topics,
        "brokerVersionString": version,
    }


@pytest.fixture
def explained(tmp_path, capsys):
    """Return a function that explains a placement, given reports and files of restrictions."""

    def asked(reports, *options, bundle=BUNDLE, status=0, **files):
        folder = tmp_path / "reports"
        folder.mkdir(exist_ok=True)
        for broker, one in reports.items():
            (folder / f"{broker}.json").write_text(json.dumps(one))
        words = ["explain", str(folder), "--place", bundle, *options]
        for name, data in files.items():
            file = tmp_path / f"{name}.json"
            file.write_text(json.dumps(data))
            words += [f"--{name}", str(file)]
        assert main(words) == status
        said = capsys.readouterr()
        return " ".join(said.out.split()), said.err

    return asked


REPORTS = {"b1": report(20, [BUNDLE]), "b2": report(30, [OTHER]), "b3": report(10)}


# apache/pulsar#16059: the leader's counts change only in ModularLoadManagerImpl.updateBundleData.
@pytest.mark.parametrize("release", ["2.10.5", "3.0.7", "4.2.4"])
def test_an_unloaded_bundle_counts_with_its_owner_until_the_owners_next_report(explained, release):
    third = "acme/orders/0x80000000_0xc0000000"
    reports = {"b1": report(20, [BUNDLE]), "b2": report(30, [OTHER, third])}
    reports["b3"] = report(10, ["acme/orders/0xc0000000_0xffffffff"])
    out, _ = explained(reports, "--release", release)
    assert "even spread b1, b3 (" in out
    reports["b1"] = report(20, [BUNDLE, third])
    reports["b2"] = report(30, [OTHER])
    out, _ = explained(reports, "--release", release)
    assert "even spread b2, b3 (" in out
    assert "until the next report of b1, the leader counts the bundle there" in out
    assert "placed after that report, it goes to b1 or to b2 or to b3" in out


def test_a_bundle_outside_its_policy_stays_there_until_it_is_unloaded(explained):
    """Policies apply only to new assignments (apache/pulsar#14429)."""
    _, err = explained(REPORTS, isolation={"eu": policy(["acme/.*"], ["b2"], ["b3"])})
    told = "policies keep new bundles of acme/orders off b1, but the bundle stays there until it"
    assert told in " ".join(err.replace("pulsar-conformance: ", "").split())
    _, err = explained(REPORTS, isolation={"eu": policy(["acme/.*"], ["b1"], ["b3"])})
    assert "stays there" not in err


def test_a_bundle_that_overlaps_another_is_refused_with_its_owner(explained, tmp_path):
    half = "acme/a/0x00000000_0x20000000"
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerEnabled=true\n")
    reports = {"b1": report(20, ["acme/a/0x00000000_0x40000000"]), "b2": report(30)}
    _, err = explained(reports, "--conf", str(conf), bundle=half, status=2)
    told = f"--place {half}: it overlaps acme/a/0x00000000_0x40000000, which b1 owns"
    assert told in " ".join(err.split())
    assert "broker.conf" not in err


# NamespaceService.getHeartbeatOrSLAMonitorBrokerId: a heartbeat bundle goes to the broker that its
# namespace names, and an SLA monitor's does while that broker is active.
@pytest.mark.parametrize(
    "namespace",
    ["pulsar/b1:8080", "pulsar/use/b1:8080", "pulsar/b9:8080", "sla-monitor/use/b1:8080"],
)
def test_a_bundle_of_a_brokers_own_namespace_is_placed_by_no_strategy(explained, namespace):
    _, err = explained(REPORTS, bundle=f"{namespace}/0x00000000_0xffffffff", status=2)
    assert f"its namespace names {namespace.rpartition('/')[2]}, so it" in " ".join(err.split())


def test_the_sla_monitor_of_a_broker_that_is_away_is_placed(explained):
    out, err = explained(REPORTS, bundle="sla-monitor/use/b9:8080/0x00000000_0xffffffff")
    assert "b9:8080 is not among the brokers, so the load manager places" in " ".join(err.split())
    assert "answer broker b3" in out


def test_each_filter_names_the_brokers_that_it_leaves(explained):
    out, err = explained(REPORTS, isolation={"eu": policy(["acme/.*"], ["b[12]"], ["b3"])})
    assert "brokers b1, b2, b3 isolation b1, b2 (" in out
    assert "even spread all of these (" in out
    assert "placed after that report, it goes to b1" in out
    assert f"{BUNDLE} is on b1 now" in err
    assert (
        "isolation policy eu: primary b1, b2; secondary, if fewer than 1 of these are up, b3"
        in (err)
    )
    out, _ = explained(REPORTS, isolation={"eu": policy(["acme/.*"], ["b[12]"], ["b3"], 3)})
    assert "isolation all of these" in out


def test_no_filter_follows_the_one_that_leaves_no_broker(explained):
    out, _ = explained(REPORTS, isolation={"eu": policy(["acme/.*"], ["b7"], [])})
    assert "isolation no broker (LoadManagerShared.applyNamespacePolicies) threshold" in out
    assert "all of these" not in out
    assert "none is left" not in out
    assert "answer broker none" in out


def test_an_expression_with_a_port_matches_no_broker(explained):
    """Lists of brokers have ports, and policies match hosts (apache/pulsar#15795, #20886)."""
    reports = {f"{name}:8080": one for name, one in REPORTS.items()}
    out, err = explained(reports, isolation={"eu": policy(["acme/.*"], ["b1:8080"], ["b2"])})
    ignored = "a port, but Pulsar matches only the host"
    assert (
        f"isolation b2:8080 (LoadManagerShared.applyNamespacePolicies); b1:8080 contains {ignored}"
        in out
    )
    assert ignored not in err
    assert "answer broker b2:8080" in out
    rules = {"eu": policy(["acme/.*"], ["b1:8080"], ["b2:8080", "b.*"])}
    out, _ = explained(reports, isolation=rules)
    assert f"b1:8080, b2:8080 contain {ignored}" in out
    _, err = explained(reports, isolation={"eu": policy(["acme/.*"], ["b7"], ["b2"])})
    assert "b7 matches no broker\n" in err


def test_a_policy_of_an_operator_is_read_from_its_resource(explained, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(
        "kind: PulsarNSIsolationPolicy\nspec:\n  name: eu\n  namespaces: ['acme/.*']\n"
        "  primary: [b1, b2]\n  autoFailoverPolicyType: min_available\n"
        "  autoFailoverPolicyParams: {min_limit: '1', usage_threshold: '80'}\n"
    )
    out, err = explained(REPORTS, "--isolation", str(file))
    assert "isolation b1, b2 (" in out
    assert "isolation policy eu: primary b1, b2" in err
    file.write_text("kind: PulsarTenant\nspec: {name: a}\n")
    _, err = explained(REPORTS, "--isolation", str(file), status=2)
    assert "it contains no resource of kind PulsarNSIsolationPolicy" in err
    file.write_text("a: [")
    _, err = explained(REPORTS, "--isolation", str(file), status=2)
    assert "it cannot be read as YAML" in err


def test_brokers_with_too_many_topics_are_left_out(explained):
    reports = {**REPORTS, "b1": report(20, [BUNDLE], topics=60000)}
    out, _ = explained(reports)
    assert "topics b2, b3 (" in out
    assert "answer broker b3" in out


def test_failure_domains_count_only_where_they_are_enabled(explained):
    groups = {"acme/orders": "g", "acme/bills": "g"}
    reports = {**REPORTS, "b2": report(30, ["acme/bills/0x00000000_0xffffffff"])}
    domains = {"east": {"brokers": ["b2", "b1"]}, "west": {"brokers": ["b3", "b9"]}}
    out, err = explained(reports, groups=groups, domains=domains)
    assert "failureDomainsEnabled is not set, so it is false" in err
    assert "the failure domains list 1 broker without a report: b9" in err
    assert "anti-affinity b3 (" in out
    assert "placed after that report, it goes to b1 or to b3" in out
    out, _ = explained(
        reports, "--setting", "failureDomainsEnabled=true", domains=domains, groups=groups
    )
    assert "anti-affinity b3 (" in out


def test_a_text_that_names_no_bundle_is_refused(explained):
    _, err = explained(REPORTS, bundle="acme/orders", status=2)
    assert "--place acme/orders: write tenant/namespace/0x" in err


class Restricted(FakeCluster):
    """A cluster with an isolation policy; without a policy, the API returns 404."""

    policies = None

    def answer(self, name, path):
        if path.endswith("/namespaceIsolationPolicies"):
            return self.policies
        found = super().answer(name, path)
        if path.endswith("/broker-stats/load-report"):
            return {**found, "brokerVersionString": "4.0.3"}
        return found


@pytest.fixture
def cluster():
    with closing(Restricted(3)) as running:
        yield running


def test_a_running_cluster_is_explained_by_its_own_settings_and_policies(cluster, capsys):
    first, *_ = cluster.names
    cluster.owned[first] = [BUNDLE, OTHER]
    cluster.runtime["loadBalancerBandwidthInResourceWeight"] = "0.5"
    cluster.policies = {"eu": policy(["acme/.*"], [r"127\.0\.0\.1"])}
    assert main(["explain", "--from", cluster.url, "--place", BUNDLE]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("by released-4.0")
    assert f"even spread    {', '.join(sorted(cluster.names[1:]))}" in said.out
    assert "isolation policy eu: primary 127.0.0.1:" in said.err
    assert main(["case", "--from", cluster.url]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["case"]["settings"]["loadBalancerBandwithInResourceWeight"] == 0.5
    assert "secret" not in said.out + said.err
    assert {method for _, method, _ in cluster.seen} == {"GET"}


def test_the_manager_of_a_running_cluster_decides_who_can_be_asked(cluster, capsys):
    name = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
    cluster.runtime["loadManagerClassName"] = name
    assert main(["explain", "--from", cluster.url]) == 2
    assert "selects the extensible load manager" in capsys.readouterr().err


class Versioned(FakeCluster):
    def answer(self, name, path):
        return "4.2.1" if path.endswith("/brokers/version") else super().answer(name, path)


class Late(Versioned):
    """Brokers whose reports do not list their bundles yet."""

    def answer(self, name, path):
        found = super().answer(name, path)
        return {**found, "bundles": []} if path.endswith("/broker-stats/load-report") else found


def test_bundles_that_were_assigned_since_the_reports_count(capsys):
    with closing(Late(2)) as cluster:
        first, second = cluster.names
        cluster.owned[first] = [OTHER]
        cluster.owned[second] = [BUNDLE]
        assert main(["explain", "--from", cluster.url, "--place", BUNDLE]) == 0
    said = capsys.readouterr()
    assert f"{BUNDLE} is on {second} now" in said.err
    out = " ".join(said.out.split())
    assert "even spread all of these (" in out
    assert f"placed after that report, it goes to {second}" in out


class Extensible(FakeCluster):
    """Brokers of the extensible load manager, which have no load report."""

    def answer(self, name, path):
        if path.endswith("/broker-stats/load-report"):
            return None
        return super().answer(name, path)


def test_a_running_cluster_without_load_reports_is_named(capsys):
    with closing(Extensible(2)) as cluster:
        cluster.runtime["loadManagerClassName"] = (
            "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
        )
        assert main(["explain", "--from", cluster.url]) == 2
    assert "whose brokers return no load reports" in capsys.readouterr().err


def test_a_broker_names_its_version_where_the_reports_do_not(capsys):
    with closing(Versioned(2)) as cluster:
        assert main(["explain", "--from", cluster.url]) == 0
    assert capsys.readouterr().out.startswith("by released-4.2")


def test_a_cluster_that_does_not_answer_is_reported(capsys):
    with closing(FakeCluster(1)) as gone:
        url = gone.url
    assert main(["case", "--from", url]) == 2
    assert "nothing listens there" in capsys.readouterr().err


def test_two_sources_are_refused(capsys, tmp_path):
    assert main(["case", str(tmp_path), "--from", "http://127.0.0.1:1"]) == 2
    assert "give one source" in capsys.readouterr().err
