package main

import (
	"fmt"
	"hash/crc32"
	"sort"
	"strconv"
	"strings"
)

const (
	hashes    = 1 << 32
	lastHash  = hashes - 1
	megabyte  = 1e6
	positions = "specified_positions_divide"
)

// Positions at which an algorithm divides a bundle; those at its ends or outside are ignored.
var algorithms = map[string]func(splitting) []int64{
	"range_equally_divide":       inTheMiddle,
	"topic_count_equally_divide": betweenTheTopics,
	positions:                    func(asked splitting) []int64 { return numbers(asked.Positions) },
}

type splitting struct {
	Bundle, By        string
	Algorithm         *string
	Topics, Positions []string
	Settings          settings
	lower, upper      int64
}

func createBundles(asked struct {
	Bundles  *float64
	Creator  string
	Settings settings
}) (any, error) {
	var bundles int64
	if asked.Creator == "heartbeat" {
		bundles = 1
	} else if asked.Creator == "system" {
		bundles = int64(asked.Settings.number("defaultNumberOfSystemNamespaceBundles"))
	} else if asked.Creator == "standalone" && asked.Settings["defaultNumberOfNamespaceBundles"] == nil {
		bundles = 32 // since 5.0, like every namespace that a broker creates
	} else if asked.Bundles != nil {
		bundles = int64(*asked.Bundles)
	} else {
		bundles = int64(asked.Settings.number("defaultNumberOfNamespaceBundles"))
	}
	boundaries := []string{}
	for i := int64(0); i < bundles; i++ {
		boundaries = append(boundaries, hex(i*(hashes/bundles)))
	}
	return object{"boundaries": append(boundaries, hex(lastHash))}, nil
}

func locateTopics(asked struct{ Boundaries, Topics []string }) (any, error) {
	boundaries := numbers(asked.Boundaries)
	names, bundles := ranges(boundaries), []string{}
	for _, topic := range asked.Topics {
		at := len(names) - 1 // from the last range down, since only that one contains its upper end
		for hash(topic) < boundaries[at] {
			at--
		}
		bundles = append(bundles, names[at])
	}
	return object{"bundles": bundles}, nil
}

func splitBundle(asked splitting) (any, error) {
	byDefault := asked.Algorithm == nil
	var algorithm string
	if byDefault {
		algorithm = asked.Settings.text("defaultNamespaceBundleSplitAlgorithm")
	} else {
		algorithm = *asked.Algorithm
	}
	if algorithm == positions && (byDefault || asked.By == "broker") {
		return nil, declined{"refused", positions + " is for an admin to ask for"}
	}
	divide, known := algorithms[algorithm]
	if !known {
		return nil, declined{"unsupported", "there is no algorithm " + algorithm + " here"}
	}
	ends := numbers(strings.Split(asked.Bundle, "_"))
	asked.lower, asked.upper = ends[0], ends[1]
	if asked.upper-asked.lower <= 1 {
		return nil, declined{"refused", "one hash can't be split"}
	}
	inside := []int64{}
	for _, position := range divide(asked) {
		if asked.lower < position && position < asked.upper {
			inside = append(inside, position)
		}
	}
	sort.Slice(inside, func(i, j int) bool { return inside[i] < inside[j] })
	boundaries := ends[:1]
	for _, position := range append(inside, asked.upper) {
		if position != boundaries[len(boundaries)-1] {
			boundaries = append(boundaries, position)
		}
	}
	return object{"bundles": ranges(boundaries)}, nil
}

func inTheMiddle(asked splitting) []int64 {
	width := asked.upper - asked.lower
	if asked.upper == lastHash { // the last range contains its upper end
		width++
	}
	return []int64{asked.lower + width/2}
}

// Between the two middle topics, so that as many topics are below as above.
func betweenTheTopics(asked splitting) []int64 {
	at := []int64{}
	for _, topic := range asked.Topics {
		at = append(at, hash(topic))
	}
	sort.Slice(at, func(i, j int) bool { return at[i] < at[j] })
	half := len(at) / 2
	if half == 0 || at[half-1] == at[half] {
		return nil
	}
	return []int64{(at[half-1] + at[half] + 1) / 2}
}

func splitCandidates(asked struct {
	Settings         settings
	Leader           bool
	Brokers          map[string]broker
	Bundles          map[string]bundle
	NamespaceBundles map[string]float64
}) (any, error) {
	split, unload := []string{}, []string{}
	counts := map[string]float64{}
	for namespace, bundles := range asked.NamespaceBundles {
		counts[namespace] = bundles
	}
	active := asked.Leader && asked.Settings.on("loadBalancerAutoBundleSplitEnabled")
	for _, owner := range sorted(asked.Brokers) {
		if !active {
			break
		}
		for _, name := range asked.Brokers[owner].Bundles {
			now, seen := asked.Brokers[owner].LastStats[name]
			if !seen || !tooMuch(now, asked.Bundles[name].LongTermData.assumed(), asked.Settings) {
				continue
			}
			namespace := name[:strings.LastIndex(name, "/")]
			if counts[namespace]+1 > asked.Settings.number("loadBalancerNamespaceMaximumBundles") {
				continue
			}
			counts[namespace]++
			split = append(split, name)
		}
	}
	if asked.Settings.on("loadBalancerAutoUnloadSplitBundlesEnabled") {
		unload = split
	}
	return object{"split": split, "unload": unload}, nil
}

// True if a bundle exceeds one of the four limits; topics and sessions are the latest counts.
func tooMuch(now stats, rates rates, set settings) bool {
	return now.Topics > set.number("loadBalancerNamespaceBundleMaxTopics") ||
		now.ProducerCount+now.ConsumerCount > set.number("loadBalancerNamespaceBundleMaxSessions") ||
		rates.messages() > set.number("loadBalancerNamespaceBundleMaxMsgRate") ||
		rates.bytes()/megabyte > set.number("loadBalancerNamespaceBundleMaxBandwidthMbytes")
}

func hash(topic string) int64 { return int64(crc32.ChecksumIEEE([]byte(topic))) }

func hex(hash int64) string { return fmt.Sprintf("0x%08x", hash) }

func ranges(boundaries []int64) []string {
	names := []string{}
	for i, upper := range boundaries[1:] {
		names = append(names, hex(boundaries[i])+"_"+hex(upper))
	}
	return names
}

func numbers(written []string) []int64 {
	read := []int64{}
	for _, one := range written {
		number, err := strconv.ParseInt(one, 0, 64)
		if err != nil {
			panic(err)
		}
		read = append(read, number)
	}
	return read
}
