// What the documents of Pulsar 5.0 say about reports, channels, policies, new namespaces, owners and two shedding
// strategies, written from the pages alone. Faults are planted in its text: each line of faults.yaml is one here. It is
// one file, so that a fault is planted by a copy in which one line differs.

const DEFAULTS = {
  defaultNumberOfNamespaceBundles: 32, defaultNumberOfSystemNamespaceBundles: 64,
  loadBalancerReportUpdateThresholdPercentage: 10, loadBalancerReportUpdateMinIntervalMillis: 5000,
  loadBalancerReportUpdateMaxIntervalMinutes: 15, loadBalancerMaxNumberOfBundlesInBundleLoadReport: 10,
  loadBalancerSheddingEnabled: true, loadBalancerSheddingGracePeriodMinutes: 30, loadBalancerTransferEnabled: true,
  loadBalancerBrokerLoadTargetStd: 0.25, loadBalancerBrokerOverloadedThresholdPercentage: 85,
  loadBalancerSheddingConditionHitCountThreshold: 3, loadBalancerMaxNumberOfBrokerSheddingPerCycle: 3,
  loadBalanceSheddingDelayInSeconds: 180, loadBalancerBrokerLoadDataTTLInSeconds: 1800,
  loadBalancerSheddingBundlesWithPoliciesEnabled: false, loadBalancerSheddingExcludedNamespaces: "",
  loadBalancerHistoryResourcePercentage: 0.9, loadBalancerCPUResourceWeight: 1, loadBalancerMemoryResourceWeight: 0,
  loadBalancerDirectMemoryResourceWeight: 0, loadBalancerBandwidthInResourceWeight: 1,
  loadBalancerBandwidthOutResourceWeight: 1, loadBalancerLoadPlacementStrategy: "AvgShedder",
  loadBalancerAvgShedderLowThreshold: 15, loadBalancerAvgShedderHitCountLowThreshold: 8,
  loadBalancerAvgShedderHighThreshold: 40, loadBalancerAvgShedderHitCountHighThreshold: 2,
  maxUnloadPercentage: 0.5, minUnloadMessage: 1000, minUnloadMessageThroughput: 1048576,
};
const WEIGHTS = {
  cpu: "loadBalancerCPUResourceWeight", directMemory: "loadBalancerDirectMemoryResourceWeight",
  bandwidthIn: "loadBalancerBandwidthInResourceWeight", bandwidthOut: "loadBalancerBandwidthOutResourceWeight",
};
const READINGS = { "channel-transfer": "releasing" };
const LAST_HASH = 0xffffffff;

const operations = {
  "bundles.create": ({ bundles, creator = "admin", settings }) => {
    let length = bundles ?? setting(settings, "defaultNumberOfNamespaceBundles");
    if (creator === "system") length = setting(settings, "defaultNumberOfSystemNamespaceBundles");
    if (creator === "standalone") length = setting(settings, "defaultNumberOfNamespaceBundles");
    if (creator === "heartbeat") length = 1;
    return { boundaries: boundaries(length).map(hex) };
  },

  "report.due": ({ settings, written, now, seconds }) => {
    if (written === null) return { due: true };
    if (seconds * 1000 < setting(settings, "loadBalancerReportUpdateMinIntervalMillis")) return { due: false };
    if (seconds > setting(settings, "loadBalancerReportUpdateMaxIntervalMinutes") * 60) return { due: true };
    const threshold = setting(settings, "loadBalancerReportUpdateThresholdPercentage");
    const changes = [
      relative(messages(written), messages(now)),
      relative(traffic(written), traffic(now)),
      relative(written.numBundles ?? 0, now.numBundles ?? 0),
      Math.abs(usage(now, () => 1) - usage(written, () => 1)),
    ];
    return { due: changes.some((change) => change > threshold) };
  },

  "report.bundles": ({ settings, manager, brokerCount, stats }) => {
    let most = setting(settings, "loadBalancerMaxNumberOfBundlesInBundleLoadReport");
    const names = Object.keys(stats).sort((a, b) => traffic(stats[b]) - traffic(stats[a]));
    if (most < 0) return { bundles: names };
    if (manager === "modular") most *= brokerCount;
    return { bundles: names.slice(0, most) };
  },

  "channel.apply": ({ units, changes, lookups }) => {
    const ignored = [];
    const now = { ...units };
    changes.forEach(({ bundle, ...change }, place) => {
      if (follows(now[bundle] ?? { state: "unknown" }, change)) now[bundle] = change;
      else ignored.push(place);
    });
    return { units: now, ignored, lookups: lookups.map(({ bundle }) => lookup(now[bundle])) };
  },

  "policy.changed": ({ scope, old, new: changed, namespaces }) => {
    const before = old?.namespaces ?? [];
    const added = changed.namespaces.filter((regex) => !before.includes(regex));
    const removed = before.filter((regex) => !changed.namespaces.includes(regex));
    const samePrimary = old === null || same(old.primary, changed.primary);
    const either = [...before, ...changed.namespaces];
    const which = scope === "none" ? [] : scope === "all_matching" || !samePrimary ? either : [...added, ...removed];
    return { unload: namespaces.filter((name) => matches(which, name)) };
  },

  "place.broker": ({ bundle, brokers, policies, isolation, groups, preallocated, bundles, settings }) => {
    if (isolation.length > 0 || Object.keys(groups).length > 0) return { unsupported: "only policies" };
    const candidates = admitted(policies ?? [], namespaceOf(bundle), Object.keys(brokers));
    const threshold = setting(settings, "loadBalancerBrokerOverloadedThresholdPercentage");
    const score = (name) => {
      if (usage(brokers[name], () => 1) > threshold) return Infinity;
      const owned = new Set([...(brokers[name].bundles ?? []), ...(preallocated[name] ?? [])]);
      return [...owned].reduce((sum, one) => sum + messages(measured(bundles[one]?.longTermData)), 0);
    };
    const scores = candidates.map(score);
    const least = Math.min(...scores);
    return { broker: candidates.find((_, i) => scores[i] === least) ?? null, candidates };
  },

  "shed.cycles": (question) => {
    const name = (question.strategy ?? "").split(".").at(-1);
    const strategy = { TransferShedder: transfer, AvgShedder: evenOut }[name];
    if (!strategy) return { unsupported: `no strategy ${name} here` };
    const state = { seconds: 0, hits: {}, loads: {}, lastUnload: {}, unloaded: {} };
    return {
      cycles: question.cycles.map((cycle, i) => {
        state.seconds += i === 0 ? 0 : cycle.minutes * 60;
        for (const [bundle, ago] of Object.entries(cycle.recentlyUnloaded))
          state.unloaded[bundle] = Math.max(state.seconds - ago * 60, state.unloaded[bundle] ?? -Infinity);
        if (!setting(question.settings, "loadBalancerSheddingEnabled")) return { unload: [] };
        const unload = strategy(cycle, question.settings, state);
        for (const { broker, bundle } of unload) {
          state.unloaded[bundle] = state.seconds;
          state.lastUnload[broker] = state.seconds;
        }
        return { unload };
      }),
    };
  },

  "shed.select": ({ strategy, settings, ...cycle }) => {
    if (!setting(settings, "loadBalancerSheddingEnabled")) return { unload: [] };
    const extensible = String(setting(settings, "loadManagerClassName")).endsWith("ExtensibleLoadManagerImpl");
    const byDefault = extensible ? "TransferShedder" : "AvgShedder";
    const name = (strategy ?? setting(settings, "loadBalancerLoadSheddingStrategy") ?? byDefault).split(".").at(-1);
    const answer = operations["shed.cycles"]({ strategy: name, settings, cycles: [{ minutes: 0, ...cycle }] });
    return answer.cycles?.[0] ?? answer;
  },

  "cluster.replay": ({ settings, events }) => {
    const cluster = { up: new Set(), namespaces: {}, owners: {}, topics: {}, settings };
    const steps = [];
    for (const event of events) {
      const [[kind, what]] = Object.entries(event);
      if (!Object.hasOwn(tell, kind)) return { unsupported: `no ${kind} here` };
      const step = { assigned: [], unloaded: [] };
      const other = tell[kind](cluster, what, step);
      if (other?.unsupported) return other;
      steps.push(other ?? { ...step, owners: ownersNow(cluster) });
    }
    return { steps };
  },
};

// ---- The channel

function follows(before, change) {
  const passed = same([before.to, before.from], [change.to, change.from]);
  switch (`${before.state} ${change.state}`) {
    case "unknown assigning": return true;
    case "unknown owned": return true;
    case "free assigning": return change.from === null;
    case "owned releasing": return before.to === change.from && before.to !== change.to;
    case "owned splitting": return before.to === change.from && change.to === null;
    case "releasing assigning": return passed;
    case "releasing free": return passed;
    case "assigning owned": return passed;
    case "splitting deleted": return passed;
  }
  return false;
}

function lookup(unit) {
  switch (unit?.state) {
    case "owned": return { does: "redirect", to: unit.to };
    case "splitting": return { does: "redirect", to: unit.from };
    case "assigning": return { does: "wait" };
    case "releasing": return { does: "wait" };
    case "deleted": return { does: "fail" };
  }
  return { does: "assign" };
}

// ---- Isolation

const host = (broker) => broker.slice(0, broker.lastIndexOf(":"));
const matches = (regexes, text) => regexes.some((regex) => new RegExp(`^(?:${regex})$`).test(text));

function admitted(policies, namespace, up) {
  const own = policies.find((policy) => matches(policy.namespaces, namespace));
  if (!own) return up.filter((broker) => !policies.some((policy) => matches(policy.primary, host(broker))));
  const primary = up.filter((broker) => matches(own.primary, host(broker)));
  if (primary.length >= own.minLimit) return primary;
  return up.filter((broker) => matches([...own.primary, ...own.secondary], host(broker)));
}

// ---- TransferShedder

function transfer(cycle, settings, state) {
  const { brokers, bundles, withoutData = [], isolation = [], groups = {} } = cycle;
  const of = (name) => setting(settings, name);
  const fresh = Object.keys(brokers).filter((name) =>
    (brokers[name].age ?? 0) <= of("loadBalancerBrokerLoadDataTTLInSeconds"));
  const kept = of("loadBalancerHistoryResourcePercentage");
  for (const name of fresh) {
    const now = usage(brokers[name], (resource) => of(WEIGHTS[resource])) / 100;
    state.loads[name] = name in state.loads ? state.loads[name] * kept + now * (1 - kept) : now;
  }
  const loads = Object.fromEntries(fresh.map((name) => [name, state.loads[name]]));
  if (withoutData.length > 0) return [];
  const cooling = Object.entries(state.lastUnload).some(([name, when]) => name in brokers
    && state.seconds - (brokers[name].age ?? 0) < when + of("loadBalanceSheddingDelayInSeconds"));
  if (cooling) return [];
  const uneven = () => unbalanced(loads, brokers, fresh, of);
  state.hits.transfer = uneven() ? (state.hits.transfer ?? 0) + 1 : 0;
  if (state.hits.transfer <= of("loadBalancerSheddingConditionHitCountThreshold")) return [];
  const excluded = String(of("loadBalancerSheddingExcludedNamespaces") ?? "").split(",").map((one) => one.trim());
  const unload = [], taken = new Set(), takers = new Set();
  const bundleLoad = (name) => traffic(measured(bundles[name]?.shortTermData));
  const top = (name) => [...(brokers[name].bundles ?? [])].sort((a, b) => bundleLoad(b) - bundleLoad(a))
    .slice(0, of("loadBalancerMaxNumberOfBundlesInBundleLoadReport"));
  let sources = 0;
  while (uneven() && sources < of("loadBalancerMaxNumberOfBrokerSheddingPerCycle")) {
    const byLoad = fresh.filter((name) => !taken.has(name)).sort((a, b) => loads[a] - loads[b]);
    if (byLoad.length < 2) break;
    const [idle, busy] = [byLoad[0], byLoad.at(-1)];
    if (takers.has(busy)) break;
    taken.add(busy);
    takers.add(idle);
    let room = (loads[busy] - loads[idle]) / 2 * traffic(brokers[busy]) / (loads[busy] || 1);
    let gone = 0;
    for (const bundle of top(busy)) {
      const namespace = namespaceOf(bundle), load = bundleLoad(bundle);
      const grouped = namespace in groups, own = isolation.find((one) => one.namespaces.includes(namespace));
      if (grouped || own) continue;
      if (excluded.includes(namespace)) continue;
      if (state.unloaded[bundle] !== undefined
        && state.seconds - state.unloaded[bundle] <= of("loadBalancerSheddingGracePeriodMinutes") * 60) continue;
      if (load > room || load <= 0) continue;
      const to = of("loadBalancerTransferEnabled") ? { to: idle } : {};
      unload.push({ broker: busy, bundle, ...to });
      room -= load;
      gone += load;
    }
    if (gone > 0) {
      const moved = gone / traffic(brokers[busy]) * loads[busy];
      loads[busy] -= moved;
      loads[idle] += moved;
      sources += 1;
    }
  }
  return unload;
}

function unbalanced(loads, brokers, names, of) {
  if (names.length < 2) return false;
  const all = names.map((name) => loads[name]), mean = all.reduce((a, b) => a + b) / all.length;
  const target = of("loadBalancerBrokerLoadTargetStd");
  const deviation = Math.sqrt(all.reduce((sum, load) => sum + (load - mean) ** 2, 0) / all.length);
  if (deviation > target) return true;
  if (names.some((name) => traffic(brokers[name]) === 0)) return true;
  if (names.some((name) => loads[name] < mean * Math.min(0.5, target / 2))) return true;
  const most = of("loadBalancerBrokerOverloadedThresholdPercentage") / 100;
  return names.some((name) => loads[name] > most && loads[name] > mean + target);
}

// ---- AvgShedder

function evenOut({ brokers, bundles }, settings, state) {
  const of = (name) => setting(settings, name);
  const scores = Object.fromEntries(Object.entries(brokers).map(([name, broker]) =>
    [name, usage(broker, (resource) => of(WEIGHTS[resource]))]));
  const byScore = Object.keys(brokers).sort((a, b) => scores[a] - scores[b] || (a < b ? -1 : 1));
  const [idle, busy] = [byScore[0], byScore.at(-1)];
  const pair = `${idle} ${busy}`, difference = scores[busy] - scores[idle];
  const counts = state.hits[pair] ?? { Low: 0, High: 0 };
  state.hits = { [pair]: counts };
  for (const level of ["Low", "High"])
    counts[level] = difference > of(`loadBalancerAvgShedder${level}Threshold`) ? counts[level] + 1 : 0;
  const due = ["Low", "High"].some((level) =>
    counts[level] > 0 && counts[level] >= of(`loadBalancerAvgShedderHitCount${level}Threshold`));
  if (!due) return [];
  counts.Low = counts.High = 0;
  const places = String(of("loadBalancerLoadPlacementStrategy")).endsWith("AvgShedder");
  for (const [rate, least] of [[messages, "minUnloadMessage"], [traffic, "minUnloadMessageThroughput"]]) {
    let left = (rate(brokers[busy]) - rate(brokers[idle])) * of("maxUnloadPercentage");
    if (left < of(least)) continue;
    const unload = [];
    const loads = (brokers[busy].bundles ?? []).map((name) => [name, rate(measured(bundles[name]?.shortTermData))])
      .sort((a, b) => b[1] - a[1]);
    for (const [bundle, load] of loads) {
      const ago = state.seconds - (state.unloaded[bundle] ?? -Infinity);
      if (ago <= of("loadBalancerSheddingGracePeriodMinutes") * 60) continue;
      if (load <= 0 || load > left) continue;
      unload.push({ broker: busy, bundle, ...(places ? { to: idle } : {}) });
      left -= load;
    }
    return unload;
  }
  return [];
}

// ---- Stories

const tell = {
  broker_up: (cluster, { broker }, step) => {
    if (cluster.up.has(broker)) return { ignored: "it is up" };
    cluster.up.add(broker);
    assignAll(cluster, step);
  },
  broker_down: (cluster, { broker }, step) => leave(cluster, broker, step, false),
  broker_stop: (cluster, { broker }, step) => leave(cluster, broker, step, true),
  namespace: (cluster, { name, bundles }) => {
    if (cluster.namespaces[name]) return { ignored: "it exists" };
    cluster.namespaces[name] = boundaries(bundles ?? setting(cluster.settings, "defaultNumberOfNamespaceBundles"));
  },
  topic: (cluster, { topic, ...rates }, step) => {
    if (!bundleOf(cluster, topic)) return { ignored: "no such namespace" };
    cluster.topics[topic] = rates;
    assignAll(cluster, step);
  },
  unload: (cluster, what, step) => {
    if (what.topic) return bundleOf(cluster, what.topic) ? undefined : { ignored: "no such topic" };
    if (what.namespace) {
      if (!cluster.namespaces[what.namespace]) return { ignored: "no such namespace" };
      for (const bundle of Object.keys(cluster.owners))
        if (namespaceOf(bundle) === what.namespace) release(cluster, bundle, step, "admin");
      return assignAll(cluster, step);
    }
    const bundle = bundleOf(cluster, what.bundleOf);
    if (!bundle || !cluster.owners[bundle]) return { ignored: "no such bundle" };
    if (what.to !== undefined && !cluster.up.has(what.to)) return { refused: "that broker is not up" };
    if (what.to === cluster.owners[bundle]) return { refused: "it owns the bundle" };
    release(cluster, bundle, step, "admin", what.to);
    assignAll(cluster, step);
  },
  tick: () => undefined,
};

function leave(cluster, broker, step, graceful) {
  if (!cluster.up.delete(broker)) return { ignored: "it is not up" };
  for (const [bundle, owner] of Object.entries(cluster.owners)) {
    if (owner !== broker) continue;
    if (graceful) release(cluster, bundle, step, "stop");
    else delete cluster.owners[bundle];
  }
  assignAll(cluster, step);
}

function release(cluster, bundle, step, reason, to) {
  const from = cluster.owners[bundle];
  step.unloaded.push({ bundle, from, reason });
  delete cluster.owners[bundle];
  const others = [...cluster.up].filter((name) => name !== from);
  const next = to ?? leastLoaded(cluster, others);
  if (next) assign(cluster, bundle, next, step);
}

function leastLoaded(cluster, brokers) {
  const load = (broker) => Object.entries(cluster.topics).reduce((sum, [topic, rates]) =>
    sum + (cluster.owners[bundleOf(cluster, topic)] === broker ? traffic(rates) : 0), 0);
  const known = Object.fromEntries([...brokers].map((broker) => [broker, load(broker)]));
  return [...brokers].sort((a, b) => known[a] - known[b])[0];
}

function assign(cluster, bundle, broker, step) {
  cluster.owners[bundle] = broker;
  step.assigned.push({ bundle, to: broker });
}

function assignAll(cluster, step) {
  for (const topic of Object.keys(cluster.topics)) {
    const bundle = bundleOf(cluster, topic);
    if (cluster.owners[bundle] || cluster.up.size === 0) continue;
    assign(cluster, bundle, leastLoaded(cluster, cluster.up), step);
  }
}

const ownersNow = (cluster) =>
  Object.fromEntries(Object.keys(cluster.topics).map((topic) => [topic, cluster.owners[bundleOf(cluster, topic)] ?? null]));

function bundleOf(cluster, topic) {
  const namespace = topic.split("://")[1].split("/").slice(0, 2).join("/");
  const ends = cluster.namespaces[namespace];
  if (!ends) return null;
  const place = Math.max(0, ends.slice(0, -1).findLastIndex((end) => end <= hash(topic)));
  return `${namespace}/${hex(ends[place])}_${hex(ends[place + 1])}`;
}

// ---- Quantities

const messages = (rates) => (rates.msgRateIn ?? 0) + (rates.msgRateOut ?? 0);
const traffic = (rates) => (rates.msgThroughputIn ?? 0) + (rates.msgThroughputOut ?? 0);
const relative = (before, now) => (before === now ? 0 : Math.abs(now - before) / before * 100);
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const namespaceOf = (bundle) => bundle.slice(0, bundle.lastIndexOf("/"));
const measured = (average) => (average?.numSamples > 0 ? average
  : { msgRateIn: 50, msgRateOut: 50, msgThroughputIn: 50e3, msgThroughputOut: 50e3 });
const usage = (broker, weight) => Math.max(0, ...Object.keys(WEIGHTS).map((name) =>
  (broker[name]?.limit ? broker[name].usage * 100 / broker[name].limit : 0) * weight(name)));
function setting(settings, name) {
  const value = settings[name] ?? DEFAULTS[name];
  return typeof value === "string" && /^(true|false|-?[\d.]+)$/.test(value) ? JSON.parse(value) : value;
}
const hex = (number) => "0x" + number.toString(16).padStart(8, "0");
const boundaries = (length) =>
  [...Array.from({ length }, (_, i) => i * Math.floor(2 ** 32 / length)), LAST_HASH];

const CRC = Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
  return byte;
});
const hash = (topic) =>
  ~Buffer.from(topic, "utf8").reduce((crc, byte) => (crc >>> 8) ^ CRC[(crc ^ byte) & 255], -1) >>> 0;

// ---- The protocol

const HELLO = {
  protocol: 1, name: "documented", version: "1.0", batch: 500, manager: "extensible",
  operations: Object.keys(operations), strategies: ["TransferShedder", "AvgShedder"], readings: READINGS,
};

function reply({ ask, cases }) {
  if (ask === "hello") return { answer: HELLO };
  if (!Object.hasOwn(operations, ask)) return { error: { code: "unsupported", message: `no ${ask} here` } };
  return {
    answers: cases.map((question) => {
      try {
        return operations[ask](question);
      } catch (broken) {
        return { failed: broken.message };
      }
    }),
  };
}

let pending = "";
for await (const chunk of process.stdin.setEncoding("utf8")) {
  pending += chunk;
  const complete = pending.split("\n");
  pending = complete.pop();
  for (const line of complete) {
    const message = JSON.parse(line);
    if (message.ask === "bye") process.exit(0);
    process.stdout.write(JSON.stringify({ id: message.id, ...reply(message) }) + "\n");
  }
}
