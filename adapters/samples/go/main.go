// A load balancer that speaks the adapter protocol, version 1. Build it with `go build` and run it.
// Rates are messages per second, throughput is bytes per second, usage and thresholds are percent.
// To make it yours, keep this file, and replace the functions in `operations`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"sort"
)

// The function that answers a case of each operation.
var operations = map[string]func(asked json.RawMessage) (any, error){
	"bundles.create":           answering(createBundles),
	"bundles.locate":           answering(locateTopics),
	"bundles.split":            answering(splitBundle),
	"bundles.split_candidates": answering(splitCandidates),
	"usage.max":                answering(maximumUsage),
	"average.bundle":           answering(averageOfBundle),
	"average.broker":           answering(averageOfBroker),
	"manager.choose":           answering(chooseManager),
	"shed.select":              answering(selectUnloads),
	"place.select":             answering(placeBundle),
	"place.anti_affinity":      answering(placeApart),
	"place.broker":             answering(assignBundle),
	"report.due":               answering(reportDue),
	"report.bundles":           answering(topBundles),
	"policy.changed":           answering(changePolicy),
	"channel.apply":            answering(applyChanges),
}

// The readings that this implementation follows, whichever it is asked to follow; of channel-transfer, both.
var readings = map[string]string{
	"overload-trigger": "exceeds", "overload-amount": "margin", "overload-scope": "overload-shedder",
	"shed-measure": "throughput", "shed-window": "short-term", "broker-rates": "reported",
	"threshold-trigger": "exceeds", "threshold-target": "points", "threshold-released": "traffic",
	"threshold-order": "traffic", "lower-boundary": "average-minus-threshold",
	"lower-boundary-amount": "some", "uniform-trigger": "both", "uniform-difference": "percent",
	"uniform-multiplier": "ratio", "grace-of": "bundle", "grace-edge": "blocked",
	"split-key": "default", "split-ways": "several", "split-rate-window": "long-term",
	"range-halves": "equal", "megabyte": "decimal", "kilobyte": "decimal", "window": "sliding",
	"placement-at-threshold": "eligible", "placement-score": "weighted", "domain-counts": "all",
	"absent-manager": "conf", "partitions": "hashed", "channel-transfer": "releasing",
}

type object = map[string]any

type message struct {
	ID       json.RawMessage   `json:"id"`
	Ask      string            `json:"ask"`
	Readings map[string]string `json:"readings"`
	Cases    []json.RawMessage `json:"cases"`
}

// A case refused by the rules ("refused") or not offered ("unsupported"); any other error fails only its
// case.
type declined struct{ kind, why string }

func (d declined) Error() string { return d.why }

// Converts the JSON of a case to one type of case.
func answering[Case any](answer func(Case) (any, error)) func(json.RawMessage) (any, error) {
	return func(asked json.RawMessage) (any, error) {
		var given Case
		if err := json.Unmarshal(asked, &given); err != nil {
			return nil, err
		}
		return answer(given)
	}
}

func main() {
	// A line may be too long for a bufio.Scanner.
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		var asked message
		said := object{}
		if err := json.Unmarshal(line, &asked); err != nil {
			said = object{"error": object{"code": "protocol", "message": err.Error()}}
		} else if asked.Ask == "bye" {
			return
		} else {
			said = reply(asked)
		}
		said["id"] = asked.ID
		if err := out.Encode(said); err != nil {
			log.Fatal(err)
		}
	}
}

func reply(to message) object {
	if to.Ask == "hello" {
		if to.Readings["channel-transfer"] == "assigning" {
			readings["channel-transfer"] = "assigning"
		}
		return object{"answer": hello()}
	}
	operation, offered := operations[to.Ask]
	if !offered {
		why := "there is no operation " + to.Ask + " here"
		return object{"error": object{"code": "unsupported", "message": why}}
	}
	answers := []json.RawMessage{}
	for _, asked := range to.Cases {
		answers = append(answers, answered(operation, asked))
	}
	return object{"answers": answers}
}

func hello() object {
	return object{
		"protocol": 1, "name": "sample-go", "version": "1.0", "batch": 500, "manager": "modular",
		"operations": sorted(operations), "strategies": sorted(strategies),
		"algorithms": sorted(algorithms), "readings": readings,
	}
}

// Returns the answer to one case; an error, or a panic, fails only this case.
func answered(operation func(json.RawMessage) (any, error), asked json.RawMessage) (said json.RawMessage) {
	defer func() {
		if wrong := recover(); wrong != nil {
			said, _ = json.Marshal(object{"failed": fmt.Sprint(wrong)})
		}
	}()
	found, err := operation(asked)
	if no, ok := err.(declined); ok {
		found = object{no.kind: no.why}
	} else if err != nil {
		found = object{"failed": err.Error()}
	}
	said, err = json.Marshal(found)
	if err != nil { // a number that JSON cannot represent
		said, _ = json.Marshal(object{"failed": err.Error()})
	}
	return said
}

// Returns the names in a map, in order: Go iterates over a map in a random order.
func sorted[V any](named map[string]V) []string {
	names := make([]string, 0, len(named))
	for name := range named {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
