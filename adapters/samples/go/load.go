package main

// Messages and bytes per second in each direction.
type rates struct {
	MsgRateIn        float64 `json:"msgRateIn"`
	MsgRateOut       float64 `json:"msgRateOut"`
	MsgThroughputIn  float64 `json:"msgThroughputIn"`
	MsgThroughputOut float64 `json:"msgThroughputOut"`
}

type average struct {
	rates
	NumSamples float64 `json:"numSamples"`
	MaxSamples float64 `json:"maxSamples,omitempty"`
}

type bundle struct{ ShortTermData, LongTermData average }

type stats struct {
	rates
	Topics, ProducerCount, ConsumerCount float64
}

type use struct{ Usage, Limit float64 }

type broker struct {
	rates
	CPU, Memory, DirectMemory, BandwidthIn, BandwidthOut use
	Bundles                                              []string
	LastStats                                            map[string]stats
	UsageHistory                                         []float64
}

// The rates assumed for an unmeasured bundle: 50 messages and 50 KB per second in each direction.
var neverMeasured = rates{50, 50, 50e3, 50e3}

func (r rates) messages() float64 { return r.MsgRateIn + r.MsgRateOut }
func (r rates) bytes() float64    { return r.MsgThroughputIn + r.MsgThroughputOut }

func (r rates) plus(other rates) rates {
	return rates{
		r.MsgRateIn + other.MsgRateIn, r.MsgRateOut + other.MsgRateOut,
		r.MsgThroughputIn + other.MsgThroughputIn, r.MsgThroughputOut + other.MsgThroughputOut,
	}
}

func (r rates) over(n float64) rates {
	return rates{r.MsgRateIn / n, r.MsgRateOut / n, r.MsgThroughputIn / n, r.MsgThroughputOut / n}
}

// Returns the rates of an average, or the assumed ones without a sample.
func (a average) assumed() rates {
	if a.NumSamples == 0 {
		return neverMeasured
	}
	return a.rates
}

var weights = map[string]string{
	"cpu":          "loadBalancerCPUResourceWeight",
	"memory":       "loadBalancerMemoryResourceWeight",
	"directMemory": "loadBalancerDirectMemoryResourceWeight",
	"bandwidthIn":  "loadBalancerBandwithInResourceWeight",
	"bandwidthOut": "loadBalancerBandwithOutResourceWeight",
}

func weighed(set settings) func(resource string) float64 {
	return func(resource string) float64 { return set.number(weights[resource]) }
}

func unweighed(string) float64 { return 1 }

// Returns the busiest resource of a broker and its usage in percent; no resource if nothing is used.
func (b broker) usage(weight func(resource string) float64) (most float64, resource any) {
	used := map[string]use{
		"cpu": b.CPU, "memory": b.Memory, "directMemory": b.DirectMemory,
		"bandwidthIn": b.BandwidthIn, "bandwidthOut": b.BandwidthOut,
	}
	for _, name := range sorted(used) {
		if one := used[name]; one.Limit != 0 {
			if percent := one.Usage * 100 / one.Limit * weight(name); percent > most {
				most, resource = percent, name
			}
		}
	}
	return most, resource
}

// Returns the running average of earlier usages, oldest first, and the present one.
func (b broker) smoothed(set settings) float64 {
	now, _ := b.usage(weighed(set))
	observed := append(append([]float64{}, b.UsageHistory...), now)
	usage := observed[0]
	for _, next := range observed[1:] {
		kept := set.number("loadBalancerHistoryResourcePercentage")
		usage = usage*kept + next*(1-kept)
	}
	return usage
}

func maximumUsage(asked struct {
	Settings settings
	Weighted bool
	Broker   broker
}) (any, error) {
	weight := unweighed
	if asked.Weighted {
		weight = weighed(asked.Settings)
	}
	percent, resource := asked.Broker.usage(weight)
	return object{"percent": percent, "resource": resource}, nil
}

func averageOfBundle(asked struct {
	Samples                   []rates
	ShortSamples, LongSamples float64
}) (any, error) {
	return object{
		"shortTermData": meanOf(asked.Samples, asked.ShortSamples),
		"longTermData":  meanOf(asked.Samples, asked.LongSamples),
	}, nil
}

// Averages only the newest samples: each new one replaces the oldest.
func meanOf(samples []rates, limit float64) average {
	if len(samples) == 0 {
		return average{neverMeasured, 0, limit}
	}
	newest := samples
	if float64(len(samples)) > limit {
		newest = samples[len(samples)-int(limit):]
	}
	sum := rates{}
	for _, sample := range newest {
		sum = sum.plus(sample)
	}
	n := float64(len(newest))
	return average{sum.over(n), n, limit}
}

func averageOfBroker(asked struct {
	Bundles map[string]bundle
	Owned   []string
}) (any, error) {
	var short, long rates
	for _, name := range asked.Owned {
		short = short.plus(asked.Bundles[name].ShortTermData.assumed())
		long = long.plus(asked.Bundles[name].LongTermData.assumed())
	}
	return object{"shortTermData": short, "longTermData": long}, nil
}
