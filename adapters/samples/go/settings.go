package main

import (
	"encoding/json"
	"fmt"
)

const builtIn = "org.apache.pulsar.broker.loadbalance.impl."

type settings map[string]any

// The documented defaults. A setting without one is in every case that needs it.
var defaults = settings{
	"defaultNumberOfNamespaceBundles":                               4.0,
	"defaultNamespaceBundleSplitAlgorithm":                          "range_equally_divide",
	"loadBalancerAutoBundleSplitEnabled":                            true,
	"loadBalancerAutoUnloadSplitBundlesEnabled":                     true,
	"loadBalancerNamespaceBundleMaxTopics":                          1000.0,
	"loadBalancerNamespaceBundleMaxSessions":                        1000.0,
	"loadBalancerNamespaceBundleMaxMsgRate":                         30000.0,
	"loadBalancerNamespaceBundleMaxBandwidthMbytes":                 100.0,
	"loadBalancerNamespaceMaximumBundles":                           128.0,
	"loadBalancerSheddingEnabled":                                   true,
	"loadBalancerSheddingGracePeriodMinutes":                        30.0,
	"loadBalancerLoadSheddingStrategy":                              builtIn + "ThresholdShedder",
	"loadBalancerBrokerOverloadedThresholdPercentage":               85.0,
	"loadBalancerBrokerThresholdShedderPercentage":                  10.0,
	"loadBalancerMsgRateDifferenceShedderThreshold":                 50.0,
	"loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": 4.0,
	"loadBalancerCPUResourceWeight":                                 1.0,
	"loadBalancerMemoryResourceWeight":                              1.0,
	"loadBalancerDirectMemoryResourceWeight":                        1.0,
	"loadBalancerBandwithInResourceWeight":                          1.0,
	"loadBalancerBandwithOutResourceWeight":                         1.0,
	"lowerBoundarySheddingEnabled":                                  false,
	"defaultNumberOfSystemNamespaceBundles":                         64.0,
	"loadBalancerReportUpdateThresholdPercentage":                   10.0,
	"loadBalancerReportUpdateMinIntervalMillis":                     5000.0,
	"loadBalancerReportUpdateMaxIntervalMinutes":                    15.0,
	"loadBalancerMaxNumberOfBundlesInBundleLoadReport":              10.0,
}

func (s settings) number(name string) float64 { return given[float64](s, name) }
func (s settings) text(name string) string    { return given[string](s, name) }
func (s settings) on(name string) bool        { return given[bool](s, name) }

// Returns the value of a setting; panics if the case lacks it, or has one of another type.
// Text, which broker.conf consists of, is read as a value of that type.
func given[T any](s settings, name string) T {
	value := s[name]
	if value == nil {
		value = defaults[name]
	}
	found, fits := value.(T)
	if text, isText := value.(string); isText && !fits {
		fits = json.Unmarshal([]byte(text), &found) == nil
	}
	if !fits {
		panic(fmt.Sprintf("setting %s is needed, and the case says %v", name, value))
	}
	return found
}

const extensible = builtIn + "ExtensibleLoadManagerImpl"

var managers = map[string]string{
	builtIn + "SimpleLoadManagerImpl":  "simple",
	builtIn + "ModularLoadManagerImpl": "modular",
	extensible:                         "extensible",
}

// Chooses by the dynamic setting, or by broker.conf without one.
func chooseManager(asked struct{ Conf, Dynamic *string }) (any, error) {
	name := asked.Conf
	if asked.Dynamic != nil {
		name = asked.Dynamic
		if *name == extensible {
			return nil, declined{"refused", "pulsar-admin can't enable " + *name}
		}
	}
	if name != nil {
		if manager, known := managers[*name]; known {
			return object{"manager": manager}, nil
		}
	}
	return object{"manager": "simple"}, nil
}
