package main

import (
	"math"
	"sort"
)

// A load that a broker writes, with the number of its bundles.
type written struct {
	broker
	NumBundles float64
}

const secondsOfMinute, millisOfSecond = 60, 1000

// True if a broker writes its load data: at least once an interval, and when its load has changed.
func reportDue(asked struct {
	Settings settings
	Written  *written
	Now      written
	Seconds  float64
}) (any, error) {
	before, now := asked.Written, asked.Now
	if before == nil {
		return object{"due": true}, nil
	}
	if asked.Seconds*millisOfSecond < asked.Settings.number("loadBalancerReportUpdateMinIntervalMillis") {
		return object{"due": false}, nil
	}
	if asked.Seconds > asked.Settings.number("loadBalancerReportUpdateMaxIntervalMinutes")*secondsOfMinute {
		return object{"due": true}, nil
	}
	used, _ := before.usage(unweighed)
	uses, _ := now.usage(unweighed)
	most := math.Max(
		math.Max(share(before.messages(), now.messages()), share(before.bytes(), now.bytes())),
		math.Max(share(before.NumBundles, now.NumBundles), math.Abs(uses-used)),
	)
	return object{"due": most > asked.Settings.number("loadBalancerReportUpdateThresholdPercentage")}, nil
}

// Returns by what percentage of the first number the second one differs from it.
func share(before, now float64) float64 {
	if before == now {
		return 0
	}
	return math.Abs(now-before) / before * 100 // infinite if it was 0
}

// Returns the bundles whose load is written: the busiest ones, up to a number for each broker.
func topBundles(asked struct {
	Settings    settings
	Manager     string
	BrokerCount int
	Stats       map[string]rates
}) (any, error) {
	most := int(asked.Settings.number("loadBalancerMaxNumberOfBundlesInBundleLoadReport"))
	names := sorted(asked.Stats)
	if most < 0 {
		return object{"bundles": names}, nil
	}
	if asked.Manager == "modular" {
		most *= asked.BrokerCount
	}
	sort.SliceStable(names, func(i, j int) bool {
		return asked.Stats[names[i]].bytes() > asked.Stats[names[j]].bytes()
	})
	if most < len(names) {
		names = names[:most]
	}
	return object{"bundles": names}, nil
}
