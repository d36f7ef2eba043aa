package main

// A state of a bundle: the broker that owns it or will, and the one that owned it before.
type unit struct {
	State string  `json:"state"`
	To    *string `json:"to"`
	From  *string `json:"from"`
}

// The states of bundles after changes in their order, and what lookups lead to.
func applyChanges(asked struct {
	Units   map[string]unit
	Changes []struct {
		Bundle string
		unit
	}
	Lookups []struct{ Bundle, At string }
}) (any, error) {
	units, ignored, found := asked.Units, []int{}, []any{}
	for place, change := range asked.Changes {
		before, known := units[change.Bundle]
		if !known {
			before = unit{State: "unknown"}
		}
		if before.allows(change.unit) {
			units[change.Bundle] = change.unit
		} else {
			ignored = append(ignored, place)
		}
	}
	for _, lookup := range asked.Lookups {
		found = append(found, units[lookup.Bundle].lookup())
	}
	return object{"units": units, "ignored": ignored, "lookups": found}, nil
}

// Whether a change is the next step of what is going on with a bundle.
func (before unit) allows(change unit) bool {
	step := before.State + " " + change.State
	switch step {
	case "unknown assigning", "unknown owned":
		return true
	case "free assigning":
		return change.From == nil
	case "owned releasing", "owned assigning", "owned free", "owned splitting":
		first := change.State == "releasing" || change.State == "splitting"
		if readings["channel-transfer"] == "assigning" {
			first = change.State != "releasing"
		}
		return first && equal(before.To, change.From) && !equal(before.To, change.To)
	case "releasing assigning", "releasing free", "assigning owned", "splitting deleted":
		return equal(before.To, change.To) && equal(before.From, change.From)
	}
	return false
}

func (now unit) lookup() object {
	switch now.State {
	case "owned":
		return object{"does": "redirect", "to": now.To}
	case "splitting":
		return object{"does": "redirect", "to": now.From}
	case "assigning", "releasing":
		return object{"does": "wait"}
	case "deleted":
		return object{"does": "fail"}
	}
	return object{"does": "assign"}
}

func equal(one, other *string) bool {
	if one == nil || other == nil {
		return one == other
	}
	return *one == *other
}
