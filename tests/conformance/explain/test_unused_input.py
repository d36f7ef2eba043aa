"""An operator's input that does not affect the answer is named, with the reason."""

import json
import shutil
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.cases.load_reports import unknown_fields
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.reference import Model

REPORTS = Path(fixtures.__file__).parent / "reports"
DIRECT_MEMORY, EXTENSIBLE = REPORTS / "full-direct-memory", REPORTS / "extensible"


@pytest.fixture
def said(capsys):
    """Return a function that runs a command, and returns its standard output on one line and its
    standard error.
    """

    def run(*words, status=0):
        assert main([*map(str, words)]) == status
        found = capsys.readouterr()
        return " ".join(found.out.split()), found.err

    return run


@pytest.fixture
def reports(tmp_path):
    """Provide a copy of saved load reports."""
    return Path(shutil.copytree(DIRECT_MEMORY, tmp_path / "reports"))


def edit(file, change):
    report = json.loads(file.read_text("utf-8"))
    change(report)
    file.write_text(json.dumps(report), "utf-8")


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("maxUnloadPercentage=0.5", "it belongs to UniformLoadShedder and AvgShedder"),
        ("loadBalancerBrokerOverloadedThresholdPercentage=70", None),
        ("loadBalancerTransferEnabled=false", "it belongs to the extensible load manager"),
        ("loadBalancerBundleUnloadMinThroughputThreshold=3", None),
    ],
)
def test_a_changed_setting_without_effect_is_named(said, setting, why):
    out, _ = said("explain", DIRECT_MEMORY, "--release", "3.0.7", "--setting", setting)
    name = setting.partition("=")[0]
    assert (f"--setting {name} has no effect: {why}" in out) if why else "no effect" not in out


@pytest.mark.parametrize(
    ("setting", "same"),
    [
        ("loadBalancerBundleUnloadMinThroughputThreshold=3", True),
        ("loadBalancerBrokerThresholdShedderPercentage=12", False),
        ("loadBalancerBrokerThresholdShedderPercentage=60", False),
    ],
)
def test_a_decision_with_the_same_figures_is_not_shown_twice(said, setting, same):
    out, _ = said("explain", DIRECT_MEMORY, "--release", "3.0.7", "--setting", setting)
    unaffected = "the changed settings affect neither the decision nor its figures"
    assert (unaffected in out) is same
    assert ("decisions with and without the changed settings" in out) is not same


def test_settings_and_fields_of_a_case_that_do_not_exist_are_named(said, tmp_path):
    out, _ = said("case", DIRECT_MEMORY, "--release", "3.0.7")
    question = json.loads(out)
    unknown = {"loadBalancerBrokerTreshold": 60, "zookeeperServers": "z"}
    question["case"]["settings"] |= unknown
    question["case"]["brokers"]["broker-1"]["drained"] = True
    file = tmp_path / "case.json"
    file.write_text(json.dumps(question), "utf-8")
    explained, _ = said("explain", file)
    _, err = said("ask", "reference", file)
    for found in (explained, err):
        assert "loadBalancerBrokerTreshold is not used: there is no such setting" in found
        assert "zookeeperServers is not used: it is not a setting of load balancing" in found
        assert "drained of broker-1 is not used: the protocol has no such field" in found


def test_every_field_of_a_report_that_pulsar_wrote_is_known():
    for file in ("modular-whole.json", "simple-whole.json"):
        assert list(unknown_fields(json.loads((REPORTS / file).read_text("utf-8")))) == []


def test_fields_that_no_report_has_are_named_with_the_one_that_they_resemble(said, reports):
    def misspell(report):
        report["cpuu"] = report.pop("cpu")
        report["remark"] = 1
        report["memory"]["usag"] = 3
        next(iter(report["lastStats"].values()))["msgRateinn"] = 3

    edit(reports / "broker-2.json", misspell)
    _, err = said("explain", reports)
    assert (
        "broker-2: fields not used, since no load report has them: cpuu (did you mean cpu?), "
        "remark, memory.usag (did you mean usage?), "
        "lastStats[…].msgRateinn (did you mean msgRateIn?)\n"
    ) in err


def test_a_file_of_settings_beside_the_reports_is_named_until_it_is_given(said, reports):
    conf = reports / "broker.conf"
    conf.write_text("loadBalancerBrokerThresholdShedderPercentage=60\n", "utf-8")
    _, err = said("explain", reports)
    assert f"{conf} is not read; to use its settings, add --conf {conf}\n" in err
    out, err = said("explain", reports, "--conf", conf)
    assert "not read" not in err
    assert "answer unload nothing" in out


def test_bundle_data_of_bundles_that_nobody_owns_are_named(said, reports, tmp_path):
    averages = {"msgRateIn": 1, "numSamples": 3, "maxSamples": 10}
    data = {"shortTermData": averages, "longTermData": averages}
    file = tmp_path / "data.json"
    names = ("shop/old/0x00000000_0x80000000", "shop/old/0x80000000_0xffffffff")
    file.write_text(json.dumps(dict.fromkeys(names, data)), "utf-8")
    _, err = said("explain", reports, "--bundle-data", file)
    assert f"bundle data not used, since no broker owns the bundle: {names[0]} and 1 more" in err


@pytest.mark.parametrize(
    ("option", "named"),
    [
        (("--judge-by", "documented-4.2"), "--judge-by"),
        (("--reading", "grace-of=broker"), "--reading"),
        (("--broker", "broker-1"), "--broker"),
        (("--bundle", "shop/us/0x00000000_0x40000000"), "--bundle"),
        (("--all",), "--all"),
    ],
)
def test_options_that_the_extensible_managers_data_do_not_take_are_refused(said, option, named):
    _, err = said("explain", EXTENSIBLE, *option, status=2)
    assert f"{named} can be used only for reports of the modular or simple load manager" in err


def test_a_busier_resource_without_weight_is_shown(said):
    for profile in ("released-4.2", "documented-4.2"):
        out, _ = said("explain", DIRECT_MEMORY, "--judge-by", profile)
        assert "except 95 % of directMemory, whose weight is 0" in out
    out, _ = said("explain", DIRECT_MEMORY, "--judge-by", "released-3.0")
    assert "whose weight is 0" not in out


def test_busier_heap_memory_that_does_not_count_is_shown_as_such():
    heap = {"cpu": {"usage": 10, "limit": 100}, "memory": {"usage": 95, "limit": 100}}
    settings = {"loadBalancerMemoryResourceWeight": 1.0}
    case = {"strategy": "ThresholdShedder", "settings": settings, "bundles": {}}
    case |= {"brokers": {"b1": heap, "b2": {}}, "recentlyUnloaded": {}}
    lines = "\n".join(Model("documented-4.0").derive("shed.select", case).lines())
    assert "95 % of memory, which does not count (USAGE-09)" in lines


def test_a_broker_that_an_example_does_not_contain_is_named(said):
    _, err = said("explain", "--example", "overload-86", "--broker", "x", status=2)
    assert (
        err == "pulsar-conformance: overload-86: it contains no broker x; its brokers are b1, b2\n"
    )


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (
            ("--setting", "maxUnloadPercentage=0.5"),
            "maxUnloadPercentage has no effect with ThresholdShedder: it belongs to",
        ),
        (
            ("--sweep", "minUnloadMessage=1..3"),
            "minUnloadMessage has no effect with ThresholdShedder: it belongs to",
        ),
        (
            ("--compare", "strategy=OverloadShedder lowerBoundarySheddingEnabled=true"),
            "lowerBoundarySheddingEnabled has no effect with OverloadShedder: it belongs to",
        ),
        (
            ("--setting", "loadBalancerNamespaceBundleMaxTopics=1"),
            "loadBalancerNamespaceBundleMaxTopics has no effect: in this world no topics are",
        ),
    ],
)
def test_a_simulation_names_settings_without_effect_once(said, options, note):
    _, err = said("simulate", "--world", "ninety-ten", "--cycles", "2", *options)
    assert err.count(note) == 1


def test_a_described_world_names_its_settings_without_effect(said, tmp_path):
    file = tmp_path / "world.yaml"
    file.write_text(
        "brokers: [{bundles: 2, usage: 90}, {bundles: 2, usage: 10}]\n"
        "settings: {minUnloadMessage: 7}\n",
        "utf-8",
    )
    _, err = said("simulate", "--world", file, "--cycles", "2")
    assert "minUnloadMessage has no effect with ThresholdShedder" in err


def test_worlds_with_different_strategies_need_one_to_be_chosen(said, tmp_path):
    file = tmp_path / "uniform.yaml"
    file.write_text(
        "brokers: [{bundles: 2, usage: 90}, {bundles: 2, usage: 10}]\n"
        "settings: {loadBalancerLoadSheddingStrategy: "
        "org.apache.pulsar.broker.loadbalance.impl.UniformLoadShedder}\n",
        "utf-8",
    )
    both = ("simulate", "--world", "ninety-ten", "--world", file, "--cycles", "2")
    _, err = said(*both, status=2)
    assert err == (
        "pulsar-conformance: the worlds have different strategies: ninety-ten has "
        "ThresholdShedder, uniform has UniformLoadShedder; choose one with --strategy\n"
    )


def test_booleans_are_true_only_if_they_say_so(said, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text(
        "loadBalancerSheddingEnabled=yes\nloadBalancerAutoBundleSplitEnabled=TRUE\n", "utf-8"
    )
    out, _ = said("settings", conf, "--release", "4.2.4", status=1)
    assert f"loadBalancerSheddingEnabled ({conf}:1): yes is read as false" in out
    assert f"loadBalancerSheddingEnabled = false ({conf}:1; the default is true)" in out
    assert f"loadBalancerAutoBundleSplitEnabled = true ({conf}:2)" in out
    out, _ = said("settings", conf, "--release", "4.2.4", "--json", status=1)
    [misread] = json.loads(out)["takenForAnotherValue"]
    assert misread["name"] == "loadBalancerSheddingEnabled"


IMAGE = """services:
  broker:
    image: apachepulsar/pulsar:{}
    environment:
      PULSAR_PREFIX_loadBalancerBrokerThresholdShedderPercentage: '12'
"""


@pytest.mark.parametrize(
    ("version", "options", "named"), [("4.0.8", (), True), ("3.0.7", (), False)]
)
def test_an_image_of_another_release_than_the_brokers_is_named(
    said, tmp_path, version, options, named
):
    conf = tmp_path / "compose.yaml"
    conf.write_text(IMAGE.format(version), "utf-8")
    folder = REPORTS / "full-direct-memory"
    _, err = said("explain", folder, "--conf", conf)
    told = f"{conf}:3 names the image of Pulsar 4.0.8, but the brokers run "
    assert (told in " ".join(err.split())) is named
    _, err = said("explain", folder, "--conf", conf, "--release", version)
    assert "names the image" not in err


@pytest.mark.parametrize(
    ("release", "strategy", "placement", "effect"),
    [
        ("3.0.7", "impl.ThresholdShedder", "impl.LeastLongTermMessageRate", True),
        ("3.0.7", "impl.AvgShedder", "impl.LeastLongTermMessageRate", True),
        ("3.0.7", "impl.OverloadShedder", "impl.LeastResourceUsageWithWeight", True),
        ("3.0.7", "impl.OverloadShedder", "impl.LeastLongTermMessageRate", False),
        ("3.3.6", "impl.UniformLoadShedder", "impl.RoundRobinBrokerSelector", False),
        # From 4.0 on, the modular load manager itself weighs usages, and so do OverloadShedder and
        # LeastLongTermMessageRate.
        ("4.0.7", "impl.OverloadShedder", "impl.LeastLongTermMessageRate", True),
        ("4.2.4", "impl.UniformLoadShedder", "impl.RoundRobinBrokerSelector", True),
    ],
)
def test_weights_take_effect_where_a_strategy_reads_them(
    said, tmp_path, release, strategy, placement, effect
):
    package = "org.apache.pulsar.broker.loadbalance."
    conf = tmp_path / "broker.conf"
    conf.write_text(
        f"loadBalancerLoadSheddingStrategy={package}{strategy}\n"
        f"loadBalancerLoadPlacementStrategy={package}{placement}\n"
        "loadBalancerCPUResourceWeight=0.5\n",
        "utf-8",
    )
    out, _ = said("settings", conf, "--release", release, status=0 if effect else 1)
    out = out.partition("changes with")[0]
    why = "only ThresholdShedder, AvgShedder, LeastResourceUsageWithWeight and the extensible"
    assert (why in out) is not effect


def test_nothing_is_said_about_settings_of_a_plug_in(said, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text(
        "loadBalancerLoadSheddingStrategy=com.example.Mine\n"
        "loadBalancerCPUResourceWeight=0.5\nmaxUnloadPercentage=0.5\n",
        "utf-8",
    )
    said("settings", conf, "--release", "4.0.7", status=0)


def test_settings_that_the_extensible_manager_does_not_read_are_named(said, tmp_path):
    name = "loadBalancerBrokerThresholdShedderPercentage"
    told = f"{name}: it belongs to the modular load manager, but the extensible one is configured"
    words = ("explain", EXTENSIBLE, "--release", "4.0.3")
    _, err = said(*words, "--setting", f"{name}=50")
    assert f"--setting {told}" in err
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{name}=50\nloadBalancerTransferEnabled=false\n", "utf-8")
    _, err = said(*words, "--conf", conf)
    assert f"broker.conf:1: {told}" in err
    assert "loadBalancerTransferEnabled" not in err


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--conf", "broker.conf"), "--conf"),
        (("--broker", "b1", "--all"), "--broker, --all"),
        (("--setting", "maxUnloadPercentage=0.5"), "--setting"),
        (("--judge-by", "documented-4.2"), "--judge-by"),
    ],
)
def test_options_that_a_log_does_not_take_are_refused(said, options, named):
    _, err = said("explain", "--log", "broker.log", *options, status=2)
    assert f"--log: {named} can be used only for a case or a cluster's data; remove " in err
