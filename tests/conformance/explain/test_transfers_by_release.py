"""Load data of the extensible load manager, by the rules of TransferShedder in each release."""

import json
from dataclasses import replace

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.explain.saved_loads import parse_load_data
from pulsar_conformance.reference.released.load_data import TransferRules, load_pairs
from pulsar_conformance.specs.revisions import has_revision
from standins.cycles import cycle, shed

EXCLUDED = "loadBalancerSheddingExcludedNamespaces"
MB = 1e6
OLD = "(TransferShedder.isUnderLoaded before apache/pulsar#22321)"


@pytest.fixture
def decided(tmp_path, capsys):
    """Return a function that explains brokers, given loads, bytes/s, and MB/s of top bundles."""

    def decide(brokers, *options, top=None):
        folder = tmp_path / "load"
        folder.mkdir(exist_ok=True)
        for name, (load, traffic) in brokers.items():
            data = {"weightedMaxEMA": load, "msgThroughputEMA": traffic}
            (folder / f"{name}.json").write_text(json.dumps(data))
        for name, rates in (top or {}).items():
            bundles = {"topBundlesLoadData": list(listed(name, rates))}
            (folder / f"{name}-top-bundles.json").write_text(json.dumps(bundles))
        assert main(["explain", str(folder), *options]) == 0
        said = capsys.readouterr()
        return " ".join(said.out.split()), " ".join(said.err.split())

    return decide


def bundle_of(name, number):
    return f"t/{name}/0x{number}0000000_0x{number + 1}0000000"


def listed(name, rates):
    for number, rate in enumerate(rates):
        stats = {"msgThroughputIn": rate * MB / 2, "msgThroughputOut": rate * MB / 2}
        yield {"bundleName": bundle_of(name, number), "stats": stats}


@pytest.mark.parametrize("release", ["3.0.0", "3.0.4", "3.1.4", "3.2.1"])
def test_before_22321_a_broker_with_little_traffic_is_not_underloaded(decided, release):
    loads = {"a": (0.3, 60 * MB), "b": (0.2, 200)}
    out, _ = decided(loads, "--release", release)
    assert f"by the rules of TransferShedder of Pulsar {release}" in out
    assert "no condition to shed holds b is not underloaded: 20 % is not under 0.125 of the" in out
    assert f"its 200 B/s are not under 1 B/s {OLD} answer: unload nothing" in out


@pytest.mark.parametrize("release", ["3.0.5", "3.2.3", "3.3.1", "4.2.4"])
def test_since_22321_the_busiest_broker_is_the_measure(decided, release):
    loads = {"a": (0.3, 60 * MB), "b": (0.2, 200)}
    out, _ = decided(loads, "--release", release)
    assert "b is underloaded: its 200 B/s are under 0.125 of the 60 MB/s of a answer: from a" in out


@pytest.mark.parametrize(
    ("load", "traffic", "reason"),
    [
        (0.2, 0.5, f"its 0.5 B/s are under 1 B/s {OLD}"),
        (0.01, 30 * MB, "1 % is under 0.125 of the mean, 1.938 %"),
    ],
)
def test_before_22321_no_traffic_or_a_low_load_is_underload(decided, load, traffic, reason):
    out, _ = decided({"a": (0.3, 60 * MB), "b": (load, traffic)}, "--release", "3.2.0")
    assert f"b is underloaded: {reason} answer: from a to b first" in out


IDLE_FIRST = {"a": (0.9, 60 * MB), "b": (0.1, 2 * MB)}


@pytest.mark.parametrize(
    ("release", "outcome"),
    [
        *((old, "goes {} 0 B/s leaves 26.67") for old in ("3.0.7", "3.0.8", "3.3.2", "4.0.0")),
        *((new, "stays {} 0 B/s no traffic") for new in ("3.3.3", "4.0.1", "4.2.4")),
    ],
)
def test_bundles_without_traffic_go_until_23626(decided, release, outcome):
    out, _ = decided(IDLE_FIRST, "--release", release, top={"a": [0, 20, 40]})
    assert outcome.format(bundle_of("a", 0)) in out


def test_without_a_release_others_that_decide_otherwise_are_named(decided):
    out, _ = decided(IDLE_FIRST, top={"a": [0, 20, 40]})
    assert "of Pulsar 5.0.0-M1, the newest known release Pulsar 3.0.0 and 3.0.7 decide oth" in out
    out, _ = decided(IDLE_FIRST, "--release", "4.2.4", top={"a": [0, 20, 40]})
    assert "otherwise" not in out
    out, _ = decided(IDLE_FIRST, top={"a": [10, 20, 40]})
    assert "otherwise" not in out


def test_the_only_image_of_a_settings_file_names_the_release(decided, tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text(
        "images:\n  broker:\n    repository: apachepulsar/pulsar\n    tag: 3.0.7\n"
        "broker:\n  configData:\n    loadBalancerBrokerLoadTargetStd: '0.3'\n"
    )
    out, _ = decided(IDLE_FIRST, "--conf", str(values), top={"a": [0, 20, 40]})
    assert "by the rules of TransferShedder of Pulsar 3.0.7 a 90 %" in out
    out, _ = decided(IDLE_FIRST, "--conf", str(values), "--release", "4.0.7")
    assert "by the rules of TransferShedder of Pulsar 4.0.7 a 90 %" in out


def settings_in(folder, form, value):
    """Return the options that set the excluded namespaces in one of three formats."""
    if form == "--setting":
        return form, f"{EXCLUDED}={value}"
    file = folder / f"settings{form}"
    text = json.dumps({EXCLUDED: value}) if form == "--dynamic" else f"{EXCLUDED}={value}\n"
    file.write_text(text)
    return form, str(file)


@pytest.mark.parametrize("form", ["--setting", "--conf", "--dynamic"])
def test_bundles_of_excluded_namespaces_stay(decided, tmp_path, form):
    options = (*settings_in(tmp_path, form, "t/x,t/a"), "--release", "4.2.4")
    out, _ = decided(IDLE_FIRST, *options, top={"a": [10, 20, 40]})
    assert "answer: unload nothing, since none of the top bundles of a can go" in out
    for number, rate in enumerate((10, 20, 40)):
        row = f"stays {bundle_of('a', number)} {rate} MB/s its namespace is in {EXCLUDED}"
        assert row in out
    options = (*settings_in(tmp_path, form, "t/x"), "--release", "4.2.4")
    out, _ = decided(IDLE_FIRST, *options, top={"a": [10, 20, 40]})
    assert f"goes {bundle_of('a', 0)} 10 MB/s leaves 16.67 MB/s" in out


def test_a_release_without_the_setting_excludes_no_namespace(decided):
    options = ("--setting", f"{EXCLUDED}=t/a", "--release", "4.0.7")
    out, said = decided(IDLE_FIRST, *options, top={"a": [10, 20, 40]})
    assert f"goes {bundle_of('a', 0)} 10 MB/s" in out
    assert f"--setting {EXCLUDED}: Pulsar 4.0.7 has no such setting" in said


TIED = {"a": (0.12, 12 * MB), "b": (0.02, 2 * MB), "c": (0.01, MB), "d": (0.01, MB)}


def test_the_broker_that_is_underloaded_is_the_one_that_gets_bundles(decided):
    out, _ = decided(TIED, "--release", "4.2.4")
    assert "c is underloaded: its 1 MB/s are under 0.125" in out
    assert "c and d have the same load, 1 %: which of them counts as the least busy" in out
    assert "here it is c, by name" in out
    assert "answer: from a to c first" in out
    out, _ = decided({**TIED, "d": (0.011, MB)}, "--release", "4.2.4")
    assert "have the same load" not in out


def test_a_tie_of_the_busiest_brokers_is_stated(decided):
    loads = {**dict.fromkeys("abc", (0.5, 50 * MB)), "d": (0, 0)}
    out, _ = decided(loads, "--release", "4.2.4")
    assert "a, b and c have the same load, 50 %: which of them counts as the busiest" in out
    assert "here it is c, by name" in out
    assert "answer: from c to d first" in out


def test_a_bundle_that_does_not_fit_goes_in_exchange(decided):
    """5.5 MB/s have to move: 3 + 3 MB/s go, and 0.25 + 0.25 MB/s come in exchange."""
    top = {"a": [3, 3, 3, 3], "c": [0.25] * 4}
    out, _ = decided(TIED, "--release", "4.2.4", top=top)
    assert f"goes {bundle_of('a', 0)} 3 MB/s leaves 2.5 MB/s" in out
    for number in (0, 1):
        assert f"comes {bundle_of('c', number)} 250 KB/s from c, in exchange" in out
    assert f"goes {bundle_of('a', 1)} 3 MB/s more than is left, but in exchange: a keeps 6.5" in out
    assert f"stays {bundle_of('a', 2)} 3 MB/s more than is left, even in exchange for" in out
    out, _ = decided(TIED, "--setting", "loadBalancerTransferEnabled=false", top=top)
    assert f"stays {bundle_of('a', 1)} 3 MB/s more than is left stays" in out


def test_an_exchange_that_leaves_the_broker_too_busy_is_not_made(decided):
    out, _ = decided(TIED, "--release", "4.2.4", top={"a": [3, 8, 1], "c": [0.25] * 4})
    assert "comes" not in out
    assert f"stays {bundle_of('a', 1)} 8 MB/s more than is left, even in exchange for top" in out
    assert f"stays {bundle_of('a', 2)} 1 MB/s listed after one that does not fit" in out


def test_without_the_other_brokers_bundles_an_exchange_is_open(decided):
    out, _ = decided(TIED, "--release", "4.2.4", top={"a": [3, 3, 3, 3]})
    assert "more than is left; goes only in exchange for bundles of c" in out


def test_further_pairs_follow_the_first(decided):
    loads = {"a": (0.9, 90 * MB), "b": (0.8, 80 * MB), "c": (0.1, 10 * MB), "d": (0, 0)}
    top = {"a": [10, 20, 60], "b": [5, 15, 60]}
    out, _ = decided(loads, "--release", "4.2.4", top=top)
    assert "answer: from a to d first" in out
    assert "then from b to c, since the deviation" in out
    assert f"goes {bundle_of('b', 1)} 15 MB/s" in out
    out, _ = decided(loads, "--release", "4.2.4", top={**top, "a": [90]})
    assert "answer: from b to d first" in out
    assert "nothing goes from a to move:" in out


RULES = TransferRules(
    target=0.25,
    overload=85,
    brokers=3,
    transfers=True,
    debug=False,
    excluded=frozenset(),
    by_busiest=True,
    moves_idle=False,
)


def test_what_comes_is_counted_in_debug_mode_alone():
    """TransferShedder increases trafficMarkedToGain only in debug mode, when it logs."""
    brokers = {
        name: {"weightedMaxEMA": load, "msgThroughputEMA": traffic}
        for name, (load, traffic) in TIED.items()
    }
    top = {
        name: {"topBundlesLoadData": list(listed(name, rates))}
        for name, rates in {"a": [3, 3, 0.2, 3], "c": [0.4, 0.4]}.items()
    }
    data = parse_load_data(brokers, top)
    plain = next(load_pairs(data, RULES))
    debug = next(load_pairs(data, replace(RULES, debug=True)))
    assert plain.moved_net == plain.moved == 6 * MB
    assert debug.moved_net < debug.moved


def test_a_change_is_in_the_first_versions_of_its_lines_and_in_later_lines():
    assert has_revision("4.0.1", 23626)
    assert has_revision("4.2.4", 23626)
    assert not has_revision("4.0.0", 23626)
    assert not has_revision("3.0.17", 23626)


def test_a_weight_beyond_its_range_is_accepted_with_a_remark(decided, tmp_path):
    file = tmp_path / "broker.conf"
    file.write_text("loadBalancerBandwithInResourceWeight=100\n")
    out, said = decided(IDLE_FIRST, "--conf", str(file), "--release", "3.2.0")
    assert "loadBalancerBandwithInResourceWeight=100: Pulsar accepts it, but it should be" in said
    assert "not needed, since the load data have weightedMaxEMA" in said
    assert "answer: from a to b first" in out
    file.write_text("loadBalancerBandwithInResourceWeight=1\n")
    assert "accepts" not in decided(IDLE_FIRST, "--conf", str(file), "--release", "3.2.0")[1]


def test_a_value_that_a_broker_cannot_read_is_refused(decided, tmp_path, capsys):
    decided(IDLE_FIRST)
    file = tmp_path / "broker.conf"
    file.write_text("loadBalancerBandwithInResourceWeight=heavy\n")
    assert main(["explain", str(tmp_path / "load"), "--conf", str(file)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "broker.conf:1: loadBalancerBandwithInResourceWeight: heavy: it takes a number" in said


@pytest.mark.parametrize(
    ("given", "fate"),
    [
        ((), "stay, since loadBalancerSheddingBundlesWithPoliciesEnabled is false"),
        (("--setting", "loadBalancerSheddingBundlesWithPoliciesEnabled=true"), "go only where"),
    ],
)
def test_bundles_under_policies_are_named_where_something_goes(decided, given, fate):
    out, _ = decided(IDLE_FIRST, "--release", "4.2.4", *given)
    assert "policies are unknown without --isolation and --groups: bundles of namespaces" in out
    assert f"or an anti-affinity group {fate}" in out
    out, _ = decided({"a": (0.3, 60 * MB), "b": (0.29, 60 * MB)}, "--release", "4.2.4", *given)
    assert "policies are unknown" not in out


# TransferShedder.isTransferable: a bundle of a namespace with an isolation policy or an
# anti-affinity group is not transferred while shedding with policies is switched off.
@pytest.mark.parametrize("kind", ["isolation", "groups"])
def test_policies_that_are_given_keep_their_bundles(decided, tmp_path, kind):
    policy = {
        "namespaces": ["t/a"],
        "primary": [".*"],
        "secondary": [],
        "auto_failover_policy": {
            "policy_type": "min_available",
            "parameters": {"min_limit": "1", "usage_threshold": "80"},
        },
    }
    contents = {"isolation": {"own": policy}, "groups": {"t/a": "own"}}
    file = tmp_path / "constraints.json"
    file.write_text(json.dumps(contents[kind]))
    loads, top = {"a": (0.9, 90 * MB), "b": (0.1, 10 * MB)}, {"a": [10, 20, 5], "b": [5, 5]}
    wanted = ("--release", "4.2.4", f"--{kind}", str(file))
    out, _ = decided(loads, *wanted, top=top)
    named = {"isolation": "the isolation policy own", "groups": "the anti-affinity group own"}[kind]
    assert "answer: unload nothing, since none of the top bundles of" in out
    assert f"stays {bundle_of('a', 0)} 10 MB/s its namespace has {named}" in out
    assert "policies are unknown" not in out
    free = ("--setting", "loadBalancerSheddingBundlesWithPoliciesEnabled=true")
    out, _ = decided(loads, *wanted, *free, top=top)
    assert f"goes {bundle_of('a', 0)}" in out
    assert f"bundles of t/a ({named}) go only where these permit it" in out
    file.write_text(
        json.dumps({"isolation": {"own": {**policy, "namespaces": ["t/c"]}}}.get(kind, {}))
    )
    out, _ = decided(loads, *wanted, top=top)
    assert f"goes {bundle_of('a', 0)}" in out


def test_failure_domains_need_a_bundle_to_place(decided, tmp_path, capsys):
    decided(IDLE_FIRST)
    file = tmp_path / "domains.json"
    file.write_text("{}")
    assert main(["explain", str(tmp_path / "load"), "--domains", str(file)]) == 2
    assert "--domains needs --place BUNDLE" in capsys.readouterr().err


def test_brokers_that_are_equally_loaded_are_said_to_tie(tmp_path, capsys):
    case = cycle(20, 10, strategy="TransferShedder", usage=80)
    broker = case["brokers"]["b1"]
    case["brokers"] |= {"b3": {**broker, "bundles": []}, "b4": {**broker, "bundles": []}}
    file = tmp_path / "case.json"
    file.write_text(json.dumps(shed(case)))
    assert main(["explain", str(file), "--judge-by", "released-4.2"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "tie 3 brokers have 80 %; " in out
    assert "counts as the busiest, by the order of the leader's load data" in out
    assert "least busy, by" not in out
