// A load balancer to be judged, built with `go build -o my-balancer main.go`: fill in what you have,
// and name it in operations. Standard output is for messages alone; print to os.Stderr.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
)

const (
	hashes         = 1 << 32
	defaultBundles = 4
)

// Operation to a function from one case to its answer. Instead of an answer, for one case:
// object{"refused": why} where the rules forbid the request, object{"unsupported": why} where it
// isn't offered. An error, or a panic, fails only that case.
var operations = map[string]func(asked json.RawMessage) (any, error){
	"bundles.create": create,
}

func create(asked json.RawMessage) (any, error) {
	var given struct {
		Bundles  *int64
		Settings struct {
			// A setting may be text, as in broker.conf: "16" for 16.
			DefaultNumberOfNamespaceBundles *json.Number
		}
	}
	if err := json.Unmarshal(asked, &given); err != nil {
		return nil, err
	}
	count := int64(defaultBundles)
	if given.Bundles != nil {
		count = *given.Bundles
	} else if given.Settings.DefaultNumberOfNamespaceBundles != nil {
		number, err := given.Settings.DefaultNumberOfNamespaceBundles.Float64()
		if err != nil {
			return nil, err
		}
		count = int64(number)
	}
	boundaries := []string{}
	for i := int64(0); i < count; i++ {
		boundaries = append(boundaries, fmt.Sprintf("0x%08x", i*(hashes/count)))
	}
	return object{"boundaries": append(boundaries, "0xffffffff")}, nil
}

// Bundles to unload in one cycle: add "shed.select": selectBundles to operations. The case's
// "brokers" have the usage and the bundles of each broker, its "bundles" the traffic of each
// bundle: one that is missing there, or has "numSamples" 0, counts as 50 msg/s and 50 KB/s each
// way (DATA-04, DATA-05). Its "strategy" is a full class name, its last part ("OverloadShedder"),
// or null: then the setting loadBalancerLoadSheddingStrategy, or its default, names it. The command
//
//	pulsar-conformance schema shed.select --example
//
// prints such a case, and the answer to it:
//
//	{"unload": [{"broker": "b1", "bundle": "shop/eu/0x60000000_0x80000000"}, ...]}
func selectBundles(asked json.RawMessage) (any, error) {
	return object{"unload": []object{}}, nil
}

// The message has the profile and readings by which it will be judged.
func hello(message) any {
	names := []string{}
	for name := range operations {
		names = append(names, name)
	}
	return object{
		"protocol":   1,
		"name":       "my-balancer",
		"version":    "0.1",
		"batch":      1000,
		"manager":    "modular",
		"operations": names,
		"strategies": []string{}, // with shed.select: full class names, or "OverloadShedder" and so on
		"algorithms": []string{}, // split algorithms, once bundles.split is offered
		"readings":   object{},   // readings that you follow; the profile decides the others
		"neutral":    object{},   // settings without effect here, each with the reason
	}
}

type object = map[string]any

type message struct {
	ID       int64             `json:"id"`
	Ask      string            `json:"ask"`
	Profile  string            `json:"profile"`
	Readings map[string]string `json:"readings"`
	Cases    []json.RawMessage `json:"cases"`
}

func reply(to message) any {
	if to.Ask == "hello" {
		return object{"id": to.ID, "answer": hello(to)}
	}
	operation, offered := operations[to.Ask]
	if !offered {
		why := object{"code": "unknown-operation", "message": to.Ask + " is not offered"}
		return object{"id": to.ID, "error": why}
	}
	answers := []any{}
	for _, asked := range to.Cases {
		answers = append(answers, answer(operation, asked))
	}
	return object{"id": to.ID, "answers": answers}
}

func answer(operation func(json.RawMessage) (any, error), asked json.RawMessage) (found any) {
	defer func() {
		if wrong := recover(); wrong != nil {
			found = object{"failed": fmt.Sprint(wrong)}
		}
	}()
	found, err := operation(asked)
	if err != nil {
		return object{"failed": err.Error()}
	}
	return found
}

func main() {
	// A line may be too long for a bufio.Scanner.
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		var asked message
		if err := json.Unmarshal(line, &asked); err != nil {
			log.Fatal(err)
		}
		if asked.Ask == "bye" {
			return
		}
		if err := out.Encode(reply(asked)); err != nil {
			log.Fatal(err)
		}
	}
}
