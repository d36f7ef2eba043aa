"""A setting has an effect under a load manager if that manager's classes read it.

The names come from the sources of Pulsar 4.0.7 and 5.0.0-M1: a setting is listed if its getter is
called neither by a class of the manager nor by a class that all managers share.
"""

import pytest
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.specs.broker import broker_settings
from pulsar_conformance.specs.setting_names import why_unknown
from standins.broker_settings import other_value

CLASSES = {
    "simple": "org.apache.pulsar.broker.loadbalance.impl.SimpleLoadManagerImpl",
    "modular": "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl",
    "extensible": "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl",
}
SIMPLE_SETTINGS = {
    "loadBalancerPlacementStrategy",
    "loadBalancerBrokerUnderloadedThresholdPercentage",
    "loadBalancerBrokerComfortLoadLevelPercentage",
}
EXTENSIBLE_SETTINGS = {
    "loadBalancerDebugModeEnabled",
    "loadBalancerBrokerLoadTargetStd",
    "loadBalancerSheddingConditionHitCountThreshold",
    "loadBalancerTransferEnabled",
    "loadBalancerMaxNumberOfBrokerSheddingPerCycle",
    "loadBalanceSheddingDelayInSeconds",
    "loadBalancerBrokerLoadDataTTLInSeconds",
    "loadBalancerSplitIntervalMinutes",
    "loadBalancerMaxNumberOfBundlesToSplitPerCycle",
    "loadBalancerNamespaceBundleSplitConditionHitCountThreshold",
    "loadBalancerServiceUnitStateTombstoneDelayTimeInSeconds",
    "loadBalancerSheddingBundlesWithPoliciesEnabled",
    "loadBalancerInFlightServiceUnitStateWaitingTimeInMillis",
    "loadBalancerServiceUnitStateMonitorIntervalInSeconds",
    "loadBalancerMultiPhaseBundleUnload",
    "loadManagerServiceUnitStateTableViewClassName",
    "loadBalancerServiceUnitTableViewSyncer",
    "loadBalancerServiceUnitStateMaxConcurrentOverrides",
}
STRATEGY_SETTINGS = {
    "lowerBoundarySheddingEnabled",
    "loadBalancerBrokerThresholdShedderPercentage",
    "loadBalancerBundleUnloadMinThroughputThreshold",
    "loadBalancerAvgShedderLowThreshold",
    "loadBalancerAvgShedderHighThreshold",
    "loadBalancerAvgShedderHitCountLowThreshold",
    "loadBalancerAvgShedderHitCountHighThreshold",
    "minUnloadMessage",
    "minUnloadMessageThroughput",
    "maxUnloadPercentage",
    "loadBalancerMsgRateDifferenceShedderThreshold",
    "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold",
    "maxUnloadBundleNumPerShedding",
}
MODULAR_SETTINGS = {
    *STRATEGY_SETTINGS,
    "loadBalancerLoadPlacementStrategy",
    "loadBalancerDistributeBundlesEvenlyEnabled",
    "exposeBundlesMetricsInPrometheus",
}
OLDER_MANAGERS_SETTINGS = {
    "loadBalancerResourceQuotaUpdateIntervalMinutes",
    "loadBalancerAutoUnloadSplitBundlesEnabled",
}
IGNORED = {
    "modular": SIMPLE_SETTINGS | EXTENSIBLE_SETTINGS,
    "extensible": SIMPLE_SETTINGS | MODULAR_SETTINGS | OLDER_MANAGERS_SETTINGS,
}
"""By load manager, the settings that none of its classes reads."""

FORMER = {f"loadBalancerBandwith{way}ResourceWeight" for way in ("In", "Out")}
CHOOSING = {"loadManagerClassName", "loadBalancerLoadSheddingStrategy"}
"""Settings that choose a load manager or strategy, and thus which other settings have an effect."""


def reasons(folder, manager, name):
    """Return why a setting has no effect if only this setting is changed under a manager."""
    file = folder / "broker.conf"
    changed = f"{name}={other_value(broker_settings()[name])}"
    file.write_text(f"loadManagerClassName={CLASSES[manager]}\n{changed}\n")
    return [one.why for one in read_settings(file).without_effect() if one.name == name]


@pytest.mark.parametrize("manager", IGNORED)
@pytest.mark.parametrize("name", sorted({*broker_settings()} - CHOOSING - FORMER))
def test_a_setting_belongs_to_the_managers_that_read_it(tmp_path, manager, name):
    found = reasons(tmp_path, manager, name)
    foreign = [why for why in found if "load manager, but" in why]
    assert bool(foreign) == (name in IGNORED[manager]), found


def test_the_extensible_manager_reads_the_weight_of_heap_memory(tmp_path):
    name = "loadBalancerMemoryResourceWeight"
    assert reasons(tmp_path, "extensible", name) == []
    file = tmp_path / "broker.conf"
    file.write_text(f"{name}=0.5\n")
    [unused] = read_settings(file, "4.0.7").without_effect()
    assert "heap memory" in unused.why


@pytest.mark.parametrize("release", ["3.0.4", "4.2.4"])
def test_a_weight_of_heap_memory_is_without_effect_even_if_it_is_the_default(tmp_path, release):
    file = tmp_path / "broker.conf"
    file.write_text("loadBalancerMemoryResourceWeight=1.0\n")
    [unused] = read_settings(file, release).without_effect()
    assert "heap memory" in unused.why
    file.write_text("loadBalancerMemoryResourceWeight=0\n")
    assert read_settings(file, release).without_effect() == []


def test_the_extensible_manager_always_places_by_the_least_usage(tmp_path):
    name = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
    assert reasons(tmp_path, "extensible", name) == []
    [why] = reasons(tmp_path, "modular", name)
    assert "LeastResourceUsageWithWeight" in why


SHEDDER = "loadBalancerLoadSheddingStrategy"
IMPL = "org.apache.pulsar.broker.loadbalance.impl."


@pytest.mark.parametrize(
    ("release", "instead"),
    [
        ("3.0.7", "OverloadShedder runs instead, and only the log says so"),
        ("4.0.7", "the simple load manager runs instead of the modular one"),
        ("4.2.4", "the broker does not start"),
    ],
)
def test_a_misspelt_class_of_pulsar_has_its_consequence(tmp_path, release, instead):
    file = tmp_path / "broker.conf"
    file.write_text(f"{SHEDDER}={IMPL}ThresholdSheder\n")
    [unused] = read_settings(file, release).without_effect()
    told = f"unless a jar on the class path contains it, Pulsar has no class {IMPL}ThresholdSheder"
    assert told in unused.why
    assert f"(the most similar name is {IMPL}ThresholdShedder), so {instead}" in unused.why


@pytest.mark.parametrize(
    ("manager", "version", "name", "condition"),
    [
        ("impl.Modular", "2.10.5", f"{IMPL}AvgShedder", True),
        ("impl.Modular", "4.0.7", f"{IMPL}OfMine", True),
        ("impl.Modular", "4.0.7", f"{IMPL}SimpleLoadManagerImpl", False),
        ("extensions.Extensible", "4.0.7", f"{IMPL}OfMine", True),
        ("extensions.Extensible", "4.0.7", f"{IMPL}SimpleLoadManagerImpl", False),
    ],
)
def test_a_jar_may_add_a_class_to_a_package_of_pulsar(tmp_path, manager, version, name, condition):
    file = tmp_path / "broker.conf"
    runs = f"loadManagerClassName=org.apache.pulsar.broker.loadbalance.{manager}LoadManagerImpl"
    file.write_text(f"{SHEDDER}={name}\n{runs}\n")
    [why] = [one.why for one in read_settings(file, version).without_effect()]
    assert why.startswith("unless a jar on the class path contains it, ") is condition


def test_a_plug_in_and_the_classes_of_pulsar_are_no_mistakes(tmp_path):
    file = tmp_path / "broker.conf"
    for name in ("com.acme.Shedder", f"{IMPL}AvgShedder", f"{IMPL}UniformLoadShedder"):
        file.write_text(f"{SHEDDER}={name}\n")
        assert read_settings(file, "4.2.4").without_effect() == []


def test_the_nearest_name_is_one_of_the_release_or_said_not_to_be():
    """4.2.4 and no earlier release of these has loadBalancerSheddingExcludedNamespaces."""
    misspelt, near = (
        "loadBalancerSheddingExludedNamespaces",
        "loadBalancerSheddingExcludedNamespaces",
    )
    assert why_unknown(misspelt, "4.2.4").endswith(f"the most similar name is {near}")
    told = why_unknown(misspelt, "3.0.7")
    assert f"the most similar name is {near}, but Pulsar 3.0.7 has no such setting" in told
    widths = ("loadBalancerBandwidthInResourceWeigt", "loadBalancerBandwithInResourceWeight")
    assert why_unknown(widths[0], "3.0.7").endswith(f"the most similar name is {widths[1]}")
