package main

import (
	"math"
	"sort"
	"strings"
)

const (
	overloadMargin = 5 // points shed beyond the excess
	belowAverage   = 5 // points below the average at which shedding stops
)

// Each strategy returns the bundles to unload, with their brokers.
var strategies = map[string]func(shedding) []unloading{
	"OverloadShedder":    overloadShedder,
	"ThresholdShedder":   thresholdShedder,
	"UniformLoadShedder": uniformLoadShedder,
}

type shedding struct {
	Strategy         *string
	Settings         settings
	Brokers          map[string]broker
	Bundles          map[string]bundle
	RecentlyUnloaded map[string]*float64
}

type unloading struct {
	Broker string `json:"broker"`
	Bundle string `json:"bundle"`
}

type movable struct {
	name    string
	traffic float64
}

func selectUnloads(asked shedding) (any, error) {
	if !asked.Settings.on("loadBalancerSheddingEnabled") || len(asked.Brokers) < 2 {
		return object{"unload": []unloading{}}, nil
	}
	var name string
	if asked.Strategy != nil {
		name = *asked.Strategy
	} else {
		name = asked.Settings.text("loadBalancerLoadSheddingStrategy")
	}
	strategy, known := strategies[strings.TrimPrefix(name, builtIn)]
	if !known {
		return nil, declined{"unsupported", "there is no strategy " + name + " here"}
	}
	return object{"unload": append([]unloading{}, strategy(asked)...)}, nil
}

func overloadShedder(asked shedding) (unload []unloading) {
	threshold := asked.Settings.number("loadBalancerBrokerOverloadedThresholdPercentage")
	for _, name := range sorted(asked.Brokers) {
		broker := asked.Brokers[name]
		usage, _ := broker.usage(unweighed)
		if usage <= threshold || len(broker.Bundles) < 2 {
			continue
		}
		share := usage - threshold + overloadMargin
		unload = append(unload, asked.shed(name, share*broker.bytes()/100)...)
	}
	return unload
}

func thresholdShedder(asked shedding) (unload []unloading) {
	threshold := asked.Settings.number("loadBalancerBrokerThresholdShedderPercentage")
	usages, sum, least := map[string]float64{}, 0.0, math.Inf(1)
	for _, name := range sorted(asked.Brokers) {
		usages[name] = asked.Brokers[name].smoothed(asked.Settings)
		sum += usages[name]
		least = math.Min(least, usages[name])
	}
	average := sum / float64(len(usages))
	for _, name := range sorted(usages) {
		if usages[name] > average+threshold {
			share := usages[name] - (average - belowAverage)
			unload = append(unload, asked.shed(name, share*asked.Brokers[name].bytes()/100)...)
		}
	}
	if len(unload) > 0 || least >= average-threshold || !asked.Settings.on("lowerBoundarySheddingEnabled") {
		return unload
	}
	// The busiest broker that can unload gives one bundle to brokers that are nearly idle.
	busiest, most := "", math.Inf(-1)
	for _, name := range sorted(usages) {
		if usages[name] > most && len(asked.movable(name)) > 0 {
			busiest, most = name, usages[name]
		}
	}
	if busiest != "" {
		unload = append(unload, unloading{busiest, asked.movable(busiest)[0].name})
	}
	return unload
}

func uniformLoadShedder(asked shedding) (unload []unloading) {
	difference := asked.Settings.number("loadBalancerMsgRateDifferenceShedderThreshold")
	multiple := asked.Settings.number("loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold")
	leastRate, mostRate := math.Inf(1), math.Inf(-1)
	leastBytes, mostBytes, busiest := math.Inf(1), math.Inf(-1), ""
	for _, name := range sorted(asked.Brokers) {
		broker := asked.Brokers[name]
		leastRate, mostRate = math.Min(leastRate, broker.messages()), math.Max(mostRate, broker.messages())
		leastBytes = math.Min(leastBytes, broker.bytes())
		if broker.bytes() > mostBytes {
			busiest, mostBytes = name, broker.bytes()
		}
	}
	// Multiplies instead of dividing, so that an idle broker is not a special case.
	ratesDiffer := (mostRate-leastRate)*100 > difference*leastRate
	bytesDiffer := mostBytes > multiple*leastBytes
	if !ratesDiffer || !bytesDiffer {
		return nil
	}
	room := (mostBytes - leastBytes) / 2
	for _, bundle := range asked.movable(busiest) {
		if bundle.traffic <= room {
			unload = append(unload, unloading{busiest, bundle.name})
			room -= bundle.traffic
		}
	}
	return unload
}

// Unloads the bundles that a broker may, most traffic first, until it is enough.
func (asked shedding) shed(broker string, need float64) (unload []unloading) {
	gone := 0.0
	for _, bundle := range asked.movable(broker) {
		if gone >= need {
			break
		}
		unload = append(unload, unloading{broker, bundle.name})
		gone += bundle.traffic
	}
	return unload
}

// Returns the bundles that a broker may unload, most traffic first.
func (asked shedding) movable(broker string) []movable {
	found := []movable{}
	for _, name := range asked.Brokers[broker].Bundles {
		ago, unloaded := asked.RecentlyUnloaded[name]
		if unloaded && ago != nil && *ago <= asked.Settings.number("loadBalancerSheddingGracePeriodMinutes") {
			continue
		}
		found = append(found, movable{name, asked.Bundles[name].ShortTermData.assumed().bytes()})
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].traffic != found[j].traffic {
			return found[i].traffic > found[j].traffic
		}
		return found[i].name < found[j].name
	})
	return found
}
