package main

import (
	"regexp"
	"sort"
	"strings"
)

type policy struct {
	Namespaces, Primary, Secondary []string
	MinLimit                       int
}

// True if one of the expressions matches a whole text.
func about(expressions []string, text string) bool {
	for _, one := range expressions {
		if regexp.MustCompile("^(?:" + one + ")$").MatchString(text) {
			return true
		}
	}
	return false
}

// Returns the namespaces that an administrator's change of a policy unloads.
func changePolicy(asked struct {
	Scope      *string
	Old        *policy
	New        policy
	Namespaces []string
}) (any, error) {
	scope := "changed"
	if asked.Scope != nil {
		scope = *asked.Scope
	}
	before, same := []string{}, true
	if asked.Old != nil {
		before = asked.Old.Namespaces
		same = equalLists(asked.Old.Primary, asked.New.Primary)
	}
	unload := []string{}
	for _, namespace := range asked.Namespaces {
		was, is := about(before, namespace), about(asked.New.Namespaces, namespace)
		added := about(without(asked.New.Namespaces, before), namespace)
		removed := about(without(before, asked.New.Namespaces), namespace)
		if scope != "none" && (added || removed || (was || is) && (scope == "all_matching" || !same)) {
			unload = append(unload, namespace)
		}
	}
	return object{"unload": unload}, nil
}

func without(some, others []string) []string {
	left := []string{}
	for _, one := range some {
		found := false
		for _, other := range others {
			found = found || one == other
		}
		if !found {
			left = append(left, one)
		}
	}
	return left
}

func equalLists(one, other []string) bool {
	a, b := append([]string{}, one...), append([]string{}, other...)
	sort.Strings(a)
	sort.Strings(b)
	return strings.Join(a, "\n") == strings.Join(b, "\n")
}

// Returns the broker for a bundle: among the registered brokers that the policies leave, those that keep
// the namespace's group apart; among these, the one with the least load.
func assignBundle(asked struct {
	placing
	Policies  []policy
	Isolation []any
	Domains   map[string][]string
	Groups    map[string]string
}) (any, error) {
	if len(asked.Isolation) > 0 {
		return nil, declined{"unsupported", "only policies of regular expressions are known here"}
	}
	namespace := namespaceOf(asked.Bundle)
	asked.Candidates = []string{}
	for _, name := range sorted(asked.Brokers) {
		if admitted(asked.Policies, namespace, name, sorted(asked.Brokers)) {
			asked.Candidates = append(asked.Candidates, name)
		}
	}
	if _, grouped := asked.Groups[namespace]; grouped && len(asked.Candidates) > 0 {
		apart := group{Domains: asked.Domains, Groups: asked.Groups, Owned: map[string][]string{}}
		apart.Candidates, apart.Namespace = asked.Candidates, namespace
		for name, one := range asked.Brokers {
			for _, bundle := range append(append([]string{}, one.Bundles...), asked.Preallocated[name]...) {
				served := apart.Owned[name]
				apart.Owned[name] = append(served, without([]string{namespaceOf(bundle)}, served)...)
			}
		}
		asked.Candidates = apart.best()
	}
	return placeBundle(asked.placing)
}

func namespaceOf(bundle string) string { return bundle[:strings.LastIndex(bundle, "/")] }

func admitted(policies []policy, namespace, broker string, up []string) bool {
	host := func(id string) string { return id[:strings.LastIndex(id, ":")] }
	for _, own := range policies {
		if !about(own.Namespaces, namespace) {
			continue
		}
		primary := 0
		for _, one := range up {
			if about(own.Primary, host(one)) {
				primary++
			}
		}
		few := primary < own.MinLimit
		return about(own.Primary, host(broker)) || few && about(own.Secondary, host(broker))
	}
	for _, one := range policies {
		if about(one.Primary, host(broker)) {
			return false
		}
	}
	return true
}
