package main

import "math"

type placing struct {
	Settings     settings
	Bundle       string
	Candidates   []string
	Brokers      map[string]broker
	Bundles      map[string]bundle
	Preallocated map[string][]string
}

// Returns the candidate with the least long-term message rate, divided by its distance to the overload
// threshold. Brokers over the threshold take nothing unless all are over it.
func placeBundle(asked placing) (any, error) {
	threshold := asked.Settings.number("loadBalancerBrokerOverloadedThresholdPercentage")
	var best any
	least := math.Inf(1)
	for _, name := range asked.Candidates {
		usage, _ := asked.Brokers[name].usage(unweighed)
		if usage > threshold {
			continue
		}
		rate, counted := 0.0, map[string]bool{}
		for _, owned := range [][]string{asked.Brokers[name].Bundles, asked.Preallocated[name]} {
			for _, bundle := range owned {
				if !counted[bundle] {
					rate += asked.Bundles[bundle].LongTermData.assumed().messages()
					counted[bundle] = true
				}
			}
		}
		score := math.Inf(1) // at the threshold, the distance is zero
		if usage < threshold {
			score = rate / (threshold - usage)
		}
		if best == nil || score < least {
			best, least = name, score
		}
	}
	if best == nil && len(asked.Candidates) > 0 {
		best = inTurn(asked.Candidates)
	}
	return object{"broker": best}, nil
}

var turn int

// Chance may decide among equal candidates. Here they take turns, so that runs are repeatable.
func inTurn(candidates []string) string {
	turn++
	return candidates[turn%len(candidates)]
}

// Returns the broker for a namespace: in the failure domain with the fewest of its group, the broker with
// the fewest. Brokers without a domain are chosen only if no candidate has one.
func placeApart(asked group) (any, error) {
	if len(asked.Candidates) == 0 {
		return object{"broker": nil}, nil
	}
	domains, apart := asked.apart()
	return object{"broker": apart[0], "domains": domains, "candidates": apart}, nil
}

type group struct {
	Domains    map[string][]string
	Groups     map[string]string
	Owned      map[string][]string
	Candidates []string
	Namespace  string
}

func (asked group) best() []string {
	_, apart := asked.apart()
	return apart
}

func (asked group) apart() (domains, apart []string) {
	name, grouped := asked.Groups[asked.Namespace]
	of := func(broker string) (together int) {
		for _, namespace := range asked.Owned[broker] {
			if grouped && asked.Groups[namespace] == name {
				together++
			}
		}
		return together
	}
	candidate := map[string]bool{}
	for _, name := range asked.Candidates {
		candidate[name] = true
	}
	from, least := asked.Candidates, math.MaxInt
	domains = []string{}
	for _, domain := range sorted(asked.Domains) {
		together, up := 0, []string{}
		for _, name := range asked.Domains[domain] {
			together += of(name)
			if candidate[name] {
				up = append(up, name)
			}
		}
		if len(up) == 0 || together > least {
			continue
		}
		if together < least {
			from, domains = nil, nil
		}
		least, from, domains = together, append(from, up...), append(domains, domain)
	}
	fewest := math.MaxInt
	for _, name := range from {
		if count := of(name); count < fewest {
			fewest, apart = count, []string{name}
		} else if count == fewest {
			apart = append(apart, name)
		}
	}
	return domains, apart
}
