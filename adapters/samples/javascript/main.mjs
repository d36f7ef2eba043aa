// A load balancer that speaks the adapter protocol, version 1. Run it with `node main.mjs`.
// Rates are messages per second, throughput is bytes per second, usage and thresholds are percent.
// To make it yours, keep `lines`, `reply` and the loop at the end, and replace the functions in `operations`.

const BELOW_AVERAGE = 5; // points
const MEGABYTE = 1e6, LAST_HASH = 0xffffffff;
const NEVER_MEASURED = { msgRateIn: 50, msgRateOut: 50, msgThroughputIn: 50e3, msgThroughputOut: 50e3 };
const POSITIONS = "specified_positions_divide";
const BUILT_IN = "org.apache.pulsar.broker.loadbalance.impl.";

// The documented defaults. A setting without one is in every case that needs it.
const DEFAULTS = {
  defaultNumberOfNamespaceBundles: 4,
  defaultNamespaceBundleSplitAlgorithm: "range_equally_divide",
  loadBalancerAutoBundleSplitEnabled: true, loadBalancerAutoUnloadSplitBundlesEnabled: true,
  loadBalancerNamespaceBundleMaxTopics: 1000, loadBalancerNamespaceBundleMaxSessions: 1000,
  loadBalancerNamespaceBundleMaxMsgRate: 30000, loadBalancerNamespaceBundleMaxBandwidthMbytes: 100,
  loadBalancerNamespaceMaximumBundles: 128,
  loadBalancerSheddingEnabled: true, loadBalancerSheddingGracePeriodMinutes: 30,
  loadBalancerLoadSheddingStrategy: BUILT_IN + "ThresholdShedder",
  loadBalancerBrokerThresholdShedderPercentage: 10,
  loadBalancerAvgShedderLowThreshold: 15, loadBalancerAvgShedderHitCountLowThreshold: 8,
  loadBalancerAvgShedderHighThreshold: 40, loadBalancerAvgShedderHitCountHighThreshold: 2,
  maxUnloadPercentage: 0.2, minUnloadMessage: 1000, minUnloadMessageThroughput: 1048576,
  loadBalancerCPUResourceWeight: 1,
  loadBalancerMemoryResourceWeight: 1, loadBalancerDirectMemoryResourceWeight: 1,
  loadBalancerBandwithInResourceWeight: 1, loadBalancerBandwithOutResourceWeight: 1,
  lowerBoundarySheddingEnabled: false,
};

const WEIGHTS = {
  cpu: "loadBalancerCPUResourceWeight", memory: "loadBalancerMemoryResourceWeight",
  directMemory: "loadBalancerDirectMemoryResourceWeight", bandwidthIn: "loadBalancerBandwithInResourceWeight",
  bandwidthOut: "loadBalancerBandwithOutResourceWeight",
};

// The readings that this implementation follows, whichever it is asked to follow.
const READINGS = {
  "overload-scope": "overload-shedder", "shed-measure": "throughput", "shed-window": "short-term",
  "broker-rates": "reported", "threshold-order": "traffic",
  "lower-boundary": "average-minus-threshold", "lower-boundary-amount": "some",
  "threshold-trigger": "exceeds", "threshold-target": "points", "threshold-released": "traffic",
  "grace-of": "bundle", "grace-edge": "blocked", "split-key": "default", "split-ways": "several",
  "split-rate-window": "long-term", "range-halves": "equal", "partitions": "hashed",
  "megabyte": "decimal", "kilobyte": "decimal",
  "absent-manager": "conf",
};

const EXTENSIBLE = BUILT_IN + "ExtensibleLoadManagerImpl";
const MANAGERS = new Map([
  [BUILT_IN + "SimpleLoadManagerImpl", "simple"], [BUILT_IN + "ModularLoadManagerImpl", "modular"],
  [EXTENSIBLE, "extensible"],
]);

const operations = {
  "bundles.create": ({ bundles, settings }) => {
    const length = bundles ?? setting(settings, "defaultNumberOfNamespaceBundles");
    const width = Math.floor(2 ** 32 / length);
    return { boundaries: [...Array.from({ length }, (_, i) => i * width), LAST_HASH].map(hex) };
  },

  "bundles.locate": ({ boundaries, topics }) => {
    const names = ranges(boundaries.map(Number));
    const lower = boundaries.slice(0, -1).map(Number);
    // The last range whose lower end isn't above the hash, so that the last one contains its upper end.
    return { bundles: topics.map(hash).map((at) => names[lower.findLastIndex((end) => end <= at)]) };
  },

  "bundles.split": ({ bundle, algorithm, by, settings, topics, positions }) => {
    const chosen = algorithm ?? setting(settings, "defaultNamespaceBundleSplitAlgorithm");
    if (chosen === POSITIONS && (by === "broker" || algorithm == null))
      return { refused: `${POSITIONS} is for an admin to ask for` };
    if (!Object.hasOwn(algorithms, chosen)) return { unsupported: `there is no algorithm ${chosen} here` };
    const [lower, upper] = bundle.split("_").map(Number);
    if (upper - lower <= 1) return { refused: "one hash can't be split" };
    const inside = algorithms[chosen]({ lower, upper, topics, positions })
      .filter((position) => lower < position && position < upper)
      .sort((a, b) => a - b);
    return { bundles: ranges([...new Set([lower, ...inside, upper])]) };
  },

  "bundles.split_candidates": ({ settings, leader, brokers, bundles, namespaceBundles }) => {
    const split = [];
    const counts = { ...namespaceBundles };
    const active = leader && setting(settings, "loadBalancerAutoBundleSplitEnabled");
    for (const broker of active ? Object.values(brokers) : []) {
      for (const bundle of broker.bundles ?? []) {
        const stats = broker.lastStats?.[bundle];
        if (!stats || !exceeds(stats, measured(bundles?.[bundle]?.longTermData), settings)) continue;
        const namespace = bundle.slice(0, bundle.lastIndexOf("/"));
        const after = (counts[namespace] ?? 0) + 1;
        if (after > setting(settings, "loadBalancerNamespaceMaximumBundles")) continue;
        counts[namespace] = after;
        split.push(bundle);
      }
    }
    return { split, unload: setting(settings, "loadBalancerAutoUnloadSplitBundlesEnabled") ? split : [] };
  },

  "usage.max": ({ settings, weighted, broker }) => {
    const { percent, resource } = usage(broker, weighted ? weight(settings) : () => 1);
    return { percent, resource: percent === 0 ? null : resource };
  },

  "manager.choose": ({ conf, dynamic }) => {
    // A dynamic setting can't enable the extensible manager, and is ignored.
    const named = dynamic === EXTENSIBLE ? conf : dynamic ?? conf;
    return { manager: MANAGERS.get(named) ?? "simple" };
  },

  "shed.select": (question) => {
    const { strategy, settings, brokers } = question;
    const active = setting(settings, "loadBalancerSheddingEnabled") && Object.keys(brokers).length >= 2;
    if (!active) return { unload: [] };
    const name = (strategy ?? setting(settings, "loadBalancerLoadSheddingStrategy")).replace(BUILT_IN, "");
    if (!Object.hasOwn(strategies, name)) return { unsupported: `there is no strategy ${name} here` };
    return { unload: strategies[name](question) };
  },

  // The usages of earlier cycles are a broker's history, and their unloads count as recent ones.
  "shed.cycles": ({ strategy, settings, cycles }) => {
    const earlier = [], ago = {}, answers = [];
    for (const { minutes, brokers, bundles, recentlyUnloaded } of cycles) {
      for (const bundle of Object.keys(ago)) ago[bundle] += minutes;
      for (const [bundle, was] of Object.entries(recentlyUnloaded)) ago[bundle] = Math.min(was, ago[bundle] ?? was);
      const usages = mapped(brokers, (broker) => usage(broker, weight(settings)).percent);
      const remembered = mapped(brokers, (broker, name) =>
        ({ ...broker, usageHistory: earlier.map((cycle) => cycle.usages[name]).filter((one) => one != null) }));
      const answer = operations["shed.select"](
        { strategy, settings, brokers: remembered, bundles, recentlyUnloaded: ago, earlier });
      if (!answer.unload) return answer;
      for (const { bundle } of answer.unload) ago[bundle] = 0;
      earlier.push({ usages, unloaded: answer.unload.length > 0 });
      answers.push(answer);
    }
    return { cycles: answers };
  },
};

const algorithms = {
  // The last range contains its upper end.
  range_equally_divide: ({ lower, upper }) =>
    [lower + Math.floor((upper - lower + (upper === LAST_HASH ? 1 : 0)) / 2)],
  topic_count_equally_divide: ({ topics = [] }) => {
    const hashes = topics.map(hash).sort((a, b) => a - b);
    const half = Math.floor(hashes.length / 2);
    if (half === 0 || hashes[half - 1] === hashes[half]) return [];
    return [Math.ceil((hashes[half - 1] + hashes[half]) / 2)];
  },
  [POSITIONS]: ({ positions = [] }) => positions.map(Number),
};

function exceeds(stats, rates, settings) {
  const sessions = (stats.producerCount ?? 0) + (stats.consumerCount ?? 0);
  return stats.topics > setting(settings, "loadBalancerNamespaceBundleMaxTopics")
    || sessions > setting(settings, "loadBalancerNamespaceBundleMaxSessions")
    || messages(rates) > setting(settings, "loadBalancerNamespaceBundleMaxMsgRate")
    || traffic(rates) / MEGABYTE > setting(settings, "loadBalancerNamespaceBundleMaxBandwidthMbytes");
}

function thresholdShedder({ settings, brokers, bundles, recentlyUnloaded }) {
  const threshold = setting(settings, "loadBalancerBrokerThresholdShedderPercentage");
  const loads = Object.entries(brokers).map(([name, broker]) => ({
    name,
    traffic: traffic(broker),
    usage: smoothed(broker, settings),
    movable: movable(broker, bundles, recentlyUnloaded, settings),
  }));
  const average = mean(loads.map((load) => load.usage));

  const unload = [];
  for (const load of loads) {
    if (!(load.usage > average + threshold)) continue;
    const need = (load.usage - (average - BELOW_AVERAGE)) * load.traffic / 100;
    let shed = 0;
    for (const bundle of load.movable) {
      if (shed >= need) break;
      unload.push({ broker: load.name, bundle: bundle.name });
      shed += bundle.traffic;
    }
  }
  const boundary = average - threshold;
  const idle = loads.some((load) => load.usage < boundary);
  if (unload.length === 0 && idle && setting(settings, "lowerBoundarySheddingEnabled")) {
    const [busiest] = loads.filter((load) => load.movable.length > 0).sort((a, b) => b.usage - a.usage);
    if (busiest) unload.push({ broker: busiest.name, bundle: busiest.movable[0].name });
  }
  return unload;
}

// Evens out the most and the least used broker once they were too far apart in enough cycles in a row.
function averageShedder({ settings, brokers, bundles, recentlyUnloaded, earlier = [] }) {
  const now = { usages: mapped(brokers, (broker) => usage(broker, weight(settings)).percent), unloaded: false };
  const [idle, busy] = ends(now.usages);
  const hits = (threshold) => {
    const others = [now, ...earlier.toReversed()].findIndex(({ usages, unloaded }) => {
      const pair = ends(usages);
      return unloaded || pair[0] !== idle || pair[1] !== busy || usages[busy] - usages[idle] <= threshold;
    });
    return others < 0 ? earlier.length + 1 : others;
  };
  const often = ["Low", "High"].some((one) => {
    const count = hits(setting(settings, `loadBalancerAvgShedder${one}Threshold`));
    return count > 0 && count >= setting(settings, `loadBalancerAvgShedderHitCount${one}Threshold`);
  });
  const places = settings?.loadBalancerLoadPlacementStrategy?.replace(BUILT_IN, "") === "AvgShedder";
  const planned = places ? { to: idle } : {};
  const measures = [[messages, "minUnloadMessage"], [traffic, "minUnloadMessageThroughput"]];
  for (const [rate, least] of often ? measures : []) {
    let left = (rate(brokers[busy]) - rate(brokers[idle])) * setting(settings, "maxUnloadPercentage");
    if (left <= setting(settings, least)) continue;
    return movable(brokers[busy], bundles, recentlyUnloaded, settings, rate)
      .filter((bundle) => 0 < bundle.traffic && bundle.traffic <= left && (left -= bundle.traffic, true))
      .map((bundle) => ({ broker: busy, bundle: bundle.name, ...planned }));
  }
  return [];
}

const strategies = { ThresholdShedder: thresholdShedder, AvgShedder: averageShedder };

// Returns the least and the most used broker; among equals, the first by name.
function ends(usages) {
  const byName = Object.keys(usages).sort();
  return [
    byName.reduce((least, next) => (usages[next] < usages[least] ? next : least)),
    byName.reduce((most, next) => (usages[next] > usages[most] ? next : most)),
  ];
}

// Returns the bundles that a broker may unload, most traffic first.
function movable(broker, bundles, recentlyUnloaded, settings, rate = traffic) {
  const grace = setting(settings, "loadBalancerSheddingGracePeriodMinutes");
  return (broker.bundles ?? [])
    .filter((name) => !(recentlyUnloaded?.[name] <= grace))
    .map((name) => ({ name, traffic: rate(measured(bundles?.[name]?.shortTermData)) }))
    .sort((a, b) => b.traffic - a.traffic || (a.name < b.name ? -1 : 1));
}

// Returns the highest usage of a broker's resources in percent, each times its weight.
function usage(broker, weightOf) {
  const all = Object.keys(WEIGHTS).map((resource) => {
    const { usage: used, limit } = broker[resource] ?? { usage: 0, limit: 100 };
    return { resource, percent: (limit === 0 ? 0 : used * 100 / limit) * weightOf(resource) };
  });
  return all.reduce((most, next) => (next.percent > most.percent ? next : most));
}

// Returns the running average of earlier usages, oldest first, and the present one.
function smoothed(broker, settings) {
  const observed = [...(broker.usageHistory ?? []), usage(broker, weight(settings)).percent];
  return observed.reduce((before, next) => {
    const kept = setting(settings, "loadBalancerHistoryResourcePercentage");
    return before * kept + next * (1 - kept);
  });
}

const measured = (average) => (average?.numSamples > 0 ? average : NEVER_MEASURED);
const weight = (settings) => (resource) => setting(settings, WEIGHTS[resource]);
const messages = (rates) => (rates.msgRateIn ?? 0) + (rates.msgRateOut ?? 0);
const traffic = (rates) => (rates.msgThroughputIn ?? 0) + (rates.msgThroughputOut ?? 0);
// Without a prototype, so that a broker named "constructor" has no value in an object that lacks it.
const mapped = (object, each) => ({
  __proto__: null,
  ...Object.fromEntries(Object.entries(object).map(([name, value]) => [name, each(value, name)])),
});
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function setting(settings, name) {
  const value = settings?.[name] ?? DEFAULTS[name];
  if (value == null) throw new Error(`setting ${name} is needed and not in the case`);
  // Text, which broker.conf consists of, may be a number or a switch.
  return typeof value === "string" && /^(true|false|-?[\d.]+)$/.test(value) ? JSON.parse(value) : value;
}

// Returns the CRC-32 of the whole name, unsigned, by the table of the reversed polynomial.
const CRC = Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
  return byte;
});

const hash = (topic) =>
  ~Buffer.from(topic, "utf8").reduce((crc, byte) => (crc >>> 8) ^ CRC[(crc ^ byte) & 255], -1) >>> 0;
const hex = (number) => "0x" + number.toString(16).padStart(8, "0");
const ranges = (boundaries) =>
  boundaries.slice(1).map((upper, i) => `${hex(boundaries[i])}_${hex(upper)}`);

const HELLO = {
  protocol: 1, name: "sample-javascript", version: "1.0", batch: 500, manager: "modular",
  operations: Object.keys(operations), strategies: Object.keys(strategies),
  algorithms: Object.keys(algorithms), readings: READINGS,
};

function reply({ ask, cases }) {
  if (ask === "hello") return { answer: HELLO };
  if (!Object.hasOwn(operations, ask))
    return { error: { code: "unsupported", message: `there is no operation ${ask} here` } };
  return {
    answers: cases.map((question) => {
      try {
        return operations[ask](question);
      } catch (broken) { // fails only this case
        return { failed: broken.message };
      }
    }),
  };
}

// Lines end only at \n; the `readline` of newer Node versions would also end them at U+2028 in a topic.
async function* lines(input) {
  let pending = "";
  for await (const chunk of input.setEncoding("utf8")) {
    pending += chunk;
    if (!chunk.includes("\n")) continue;
    const complete = pending.split("\n");
    pending = complete.pop();
    yield* complete;
  }
  if (pending) yield pending;
}

for await (const line of lines(process.stdin)) {
  let id = null;
  let answer;
  try {
    const message = JSON.parse(line);
    if (message.ask === "bye") break;
    id = message.id ?? null;
    answer = reply(message);
  } catch (mistake) {
    answer = { error: { code: "protocol", message: mistake.message } };
  }
  process.stdout.write(JSON.stringify({ id, ...answer }) + "\n");
}
