"""Values of settings are parsed as Pulsar parses them: Integer.parseInt, Double.parseDouble."""

import pytest
from pulsar_conformance.conformance.cases.settings import BadSetting, given_settings

PERCENT = "loadBalancerBrokerThresholdShedderPercentage"
BUNDLES = "loadBalancerNamespaceMaximumBundles"
RATE = "loadBalancerNamespaceBundleMaxMsgRate"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
WEIGHT = "loadBalancerCPUResourceWeight"
STD = "loadBalancerBrokerLoadTargetStd"


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        (f"{PERCENT}=10.5", "a whole number"),
        (f"{PERCENT}=1e1", "a whole number"),
        (f"{RATE}=30_000", "a whole number"),
        (f"{RATE}=٣", "a whole number"),
        (f"{BUNDLES}=99999999999", "a whole number from -2147483648 to 2147483647"),
        (f"{GRACE}=9223372036854775808", "a whole number from -9223372036854775808 to"),
        (f"{WEIGHT}=0_1", "a number"),
        (f"{STD}=inf", "a number"),
    ],
)
def test_a_value_that_java_does_not_parse_is_refused(text, takes):
    with pytest.raises(BadSetting) as told:
        given_settings([text])
    assert str(told.value).startswith(f"{text}: it takes {takes}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"{BUNDLES}=2147483647", 2147483647),
        (f"{GRACE}=99999999999", 99999999999),
        (f"{RATE}=+30000", 30000),
        (f"{WEIGHT}=1.0", 1),
        (f"{STD}=2.5e-1", 0.25),
        (f"{STD}=.25d", 0.25),
    ],
)
def test_a_value_that_java_parses_is_taken(text, value):
    assert [*given_settings([text]).values()] == [value]
