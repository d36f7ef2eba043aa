import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Comparator.comparingDouble;
import static java.util.stream.Collectors.joining;

import java.io.*;
import java.util.*;
import java.util.function.*;
import java.util.regex.*;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/**
 * A load balancer that speaks the adapter protocol, version 1. Run it with {@code java Main.java}:
 * Java 17 runs a single source file without a build, so everything is in this one.
 * Rates are messages per second, throughput is bytes per second, usage and thresholds are percent.
 * To make it yours, keep main, reply, Obj and Json, and replace the methods in OPERATIONS.
 */
public class Main {
    static final double OVERLOAD_MARGIN = 5; // points shed beyond the excess
    static final double BELOW_AVERAGE = 5;   // points, or percent of the average, at which shedding stops
    static final double LOWER_BOUNDARY = 10; // points
    static final double NEVER_MEASURED = 50; // messages and KB per second, in each direction
    static final String POSITIONS = "specified_positions_divide";
    static final String BUILT_IN = "org.apache.pulsar.broker.loadbalance.impl.";
    static final ToDoubleFunction<String> UNWEIGHTED = resource -> 1;

    static final Map<String, Function<Case, Obj>> OPERATIONS = Map.of(
            "bundles.create", Main::createBundles,
            "bundles.locate", Main::locateTopics,
            "bundles.split", Main::splitBundle,
            "bundles.split_candidates", Main::splitCandidates,
            "usage.max", Main::maximumUsage,
            "manager.choose", Main::chooseManager,
            "shed.select", Main::selectUnloads);

    static final String EXTENSIBLE = BUILT_IN + "ExtensibleLoadManagerImpl";
    static final Map<String, String> MANAGERS = Map.of(
            BUILT_IN + "SimpleLoadManagerImpl", "simple",
            BUILT_IN + "ModularLoadManagerImpl", "modular",
            EXTENSIBLE, "extensible");

    static final Map<String, Function<Case, List<Obj>>> STRATEGIES = Map.of(
            "OverloadShedder", Main::overloadShedder,
            "ThresholdShedder", Main::thresholdShedder,
            "UniformLoadShedder", Main::uniformLoadShedder);

    /** The readings that this implementation can follow, by the first value unless hello asks for another. */
    static final Obj READINGS = (Obj) Json.read("""
            {"overload-trigger": ["exceeds", "reaches"],  "overload-amount": ["margin", "one"],
             "overload-scope": ["overload-shedder"],      "shed-measure": ["throughput", "message-rate"],
             "threshold-trigger": ["exceeds"],            "threshold-target": ["points", "percent"],
             "expensive-measure": ["message-rate", "throughput"],
             "shed-window": ["short-term", "long-term"],  "broker-rates": ["reported", "bundles"],
             "threshold-released": ["traffic", "usage"],  "threshold-order": ["traffic"],
             "lower-boundary": ["average-minus-threshold", "average-minus-10", "printed-sum"],
             "lower-boundary-amount": ["some", "enough"], "uniform-multiplier": ["ratio", "difference"],
             "uniform-trigger": ["both", "either"],       "uniform-difference": ["percent", "messages"],
             "grace-of": ["bundle"],                      "grace-edge": ["blocked", "free"],
             "split-key": ["default", "supported"],       "split-rate-window": ["long-term", "latest"],
             "split-ways": ["several"],                   "range-halves": ["equal", "by-name"],
             "megabyte": ["decimal", "binary"],           "kilobyte": ["decimal", "binary"],
             "absent-manager": ["conf", "default"],
             "partitions": ["hashed"]}""");

    /** The documented defaults. A case that needs a setting without a default gives it. */
    static final Obj DEFAULTS = (Obj) Json.read("""
            {"defaultNumberOfNamespaceBundles": 4,
             "defaultNamespaceBundleSplitAlgorithm": "range_equally_divide",
             "loadBalancerAutoBundleSplitEnabled": true, "loadBalancerAutoUnloadSplitBundlesEnabled": true,
             "loadBalancerNamespaceBundleMaxTopics": 1000, "loadBalancerNamespaceBundleMaxSessions": 1000,
             "loadBalancerNamespaceBundleMaxMsgRate": 30000,
             "loadBalancerNamespaceBundleMaxBandwidthMbytes": 100, "loadBalancerNamespaceMaximumBundles": 128,
             "loadBalancerSheddingEnabled": true, "loadBalancerSheddingGracePeriodMinutes": 30,
             "loadBalancerLoadSheddingStrategy": "org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder",
             "loadBalancerBrokerOverloadedThresholdPercentage": 85,
             "loadBalancerBrokerThresholdShedderPercentage": 10,
             "loadBalancerMsgRateDifferenceShedderThreshold": 50,
             "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": 4,
             "loadBalancerCPUResourceWeight": 1, "loadBalancerMemoryResourceWeight": 1,
             "loadBalancerDirectMemoryResourceWeight": 1,
             "loadBalancerBandwithInResourceWeight": 1, "loadBalancerBandwithOutResourceWeight": 1,
             "lowerBoundarySheddingEnabled": false}""");

    static final Obj WEIGHTS = (Obj) Json.read("""
            {"cpu": "loadBalancerCPUResourceWeight", "memory": "loadBalancerMemoryResourceWeight",
             "directMemory": "loadBalancerDirectMemoryResourceWeight",
             "bandwidthIn": "loadBalancerBandwithInResourceWeight",
             "bandwidthOut": "loadBalancerBandwithOutResourceWeight"}""");

    public static void main(String[] args) throws IOException {
        var in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        var out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, UTF_8);
        var readings = new TreeMap<String, String>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            var reply = Obj.of("id", null);
            try {
                var message = (Obj) Json.read(line);
                if ("bye".equals(message.get("ask"))) return;
                reply.put("id", message.get("id"));
                reply.putAll(reply(message, readings));
            } catch (RuntimeException mistake) {
                reply.put("error", Obj.of("code", "protocol", "message", mistake.getMessage()));
            }
            out.print(Json.write(reply) + "\n");
            out.flush();
        }
    }

    static Obj reply(Obj message, Map<String, String> readings) {
        String ask = message.get("ask", "");
        if (ask.equals("hello")) {
            Obj asked = message.get("readings", new Obj());
            READINGS.forEach((name, values) -> readings.put(name, ((List<?>) values).contains(asked.get(name))
                    ? asked.get(name, "") : READINGS.get(name, List.of("")).get(0)));
            return Obj.of("answer", Obj.of("protocol", 1, "name", "sample-java", "version", "1.0",
                    "batch", 500, "manager", "modular", "operations", new TreeSet<>(OPERATIONS.keySet()),
                    "strategies", new TreeSet<>(STRATEGIES.keySet()), "readings", readings,
                    "algorithms", List.of("range_equally_divide", "topic_count_equally_divide", POSITIONS)));
        }
        var operation = OPERATIONS.get(ask);
        if (operation == null)
            return Obj.of("error", Obj.of("code", "unsupported", "message", "there is no operation " + ask));
        var cases = (List<?>) Objects.requireNonNull(message.get("cases"), "cases are missing");
        return Obj.of("answers", cases.stream().map(each -> {
            try {
                return operation.apply(new Case((Obj) each, readings));
            } catch (NoAnswer none) {
                return Obj.of(none.kind, none.getMessage());
            } catch (RuntimeException broken) { // fails only this case
                return Obj.of("failed", broken.toString());
            }
        }).toList());
    }

    static Obj createBundles(Case c) {
        double bundles = c.data.get("bundles", c.number("defaultNumberOfNamespaceBundles"));
        long width = (1L << 32) / (long) bundles;
        var boundaries = new ArrayList<String>();
        for (long i = 0; i < bundles; i++) boundaries.add(hex(i * width));
        boundaries.add("0xffffffff");
        return Obj.of("boundaries", boundaries);
    }

    static Obj locateTopics(Case c) {
        var boundaries = c.strings("boundaries").stream().map(Long::decode).toList();
        var ranges = ranges(boundaries);
        return Obj.of("bundles", c.strings("topics").stream().map(Main::hash).map(hash -> {
            int i = ranges.size() - 1; // from the last range down: only the last one contains its upper end
            while (hash < boundaries.get(i)) i--;
            return ranges.get(i);
        }).toList());
    }

    static Obj splitBundle(Case c) {
        String key = c.reading("split-key").equals("default")
                ? "defaultNamespaceBundleSplitAlgorithm" : "supportedNamespaceBundleSplitAlgorithms";
        boolean byDefault = c.data.get("algorithm") == null;
        String algorithm = byDefault ? c.text(key) : c.data.get("algorithm", "");
        if (algorithm.equals(POSITIONS) && (byDefault || "broker".equals(c.data.get("by"))))
            throw new NoAnswer("refused", POSITIONS + " is for an admin to ask for");
        var ends = c.data.get("bundle", "").split("_");
        long lower = Long.decode(ends[0]), upper = Long.decode(ends[1]);
        if (upper - lower <= 1) throw new NoAnswer("refused", "one hash can't be split");

        List<Long> positions = switch (algorithm) {
            case "range_equally_divide" -> {
                boolean lastCounts = c.reading("range-halves").equals("equal") && upper == 0xffffffffL;
                yield List.of(lower + (upper - lower + (lastCounts ? 1 : 0)) / 2);
            }
            case "topic_count_equally_divide" -> {
                var hashes = c.strings("topics").stream().map(Main::hash).sorted().toList();
                if (hashes.size() < 2) yield List.of();
                long below = hashes.get(hashes.size() / 2 - 1), above = hashes.get(hashes.size() / 2);
                yield below == above ? List.of() : List.of((below + above + 1) / 2);
            }
            case POSITIONS -> c.strings("positions").stream().map(Long::decode).toList();
            default -> throw new NoAnswer("unsupported", "there is no algorithm " + algorithm + " here");
        };
        var boundaries = new TreeSet<>(List.of(lower, upper));
        positions.stream().filter(position -> lower < position && position < upper).forEach(boundaries::add);
        return Obj.of("bundles", ranges(List.copyOf(boundaries)));
    }

    static Obj splitCandidates(Case c) {
        double megabyte = c.reading("megabyte").equals("decimal") ? 1e6 : 1 << 20;
        boolean active = c.data.get("leader", false) && c.on("loadBalancerAutoBundleSplitEnabled");
        var counts = new Obj();
        var split = new ArrayList<String>();
        for (Broker broker : active ? c.brokers() : List.<Broker>of()) {
            Obj stats = broker.load.get("lastStats", new Obj());
            for (String bundle : broker.bundles()) {
                if (!stats.containsKey(bundle)) continue;
                Obj now = stats.get(bundle, new Obj());
                Obj rates = c.reading("split-rate-window").equals("long-term")
                        ? c.average(bundle, "longTermData") : now;
                double sessions = now.get("producerCount", 0.0) + now.get("consumerCount", 0.0);
                double megabytes = bytes(rates) / megabyte;
                boolean tooMuch = now.get("topics", 0.0) > c.number("loadBalancerNamespaceBundleMaxTopics")
                        || sessions > c.number("loadBalancerNamespaceBundleMaxSessions")
                        || messages(rates) > c.number("loadBalancerNamespaceBundleMaxMsgRate")
                        || megabytes > c.number("loadBalancerNamespaceBundleMaxBandwidthMbytes");
                String namespace = bundle.substring(0, bundle.lastIndexOf('/'));
                double before = c.data.get("namespaceBundles", new Obj()).get(namespace, 0.0);
                double after = counts.get(namespace, before) + 1;
                if (!tooMuch || after > c.number("loadBalancerNamespaceMaximumBundles")) continue;
                counts.put(namespace, after);
                split.add(bundle);
            }
        }
        boolean unload = c.on("loadBalancerAutoUnloadSplitBundlesEnabled");
        return Obj.of("split", split, "unload", unload ? split : List.of());
    }

    static Obj maximumUsage(Case c) {
        var broker = new Broker("", c.data.get("broker", new Obj()));
        var usage = usage(broker, c.data.get("weighted", false) ? c::weight : UNWEIGHTED);
        return Obj.of("percent", usage.percent, "resource", usage.percent == 0 ? null : usage.resource);
    }

    static Obj chooseManager(Case c) {
        Object name = c.data.get("dynamic");
        if (EXTENSIBLE.equals(name)) throw new NoAnswer("refused", "pulsar-admin can't enable " + name);
        if (name == null && c.reading("absent-manager").equals("conf")) name = c.data.get("conf");
        return Obj.of("manager", name == null ? "simple" : MANAGERS.getOrDefault(name, "simple"));
    }

    static Obj selectUnloads(Case c) {
        boolean active = c.on("loadBalancerSheddingEnabled") && c.brokers().size() >= 2;
        if (!active) return Obj.of("unload", List.of());
        String name = c.data.get("strategy") == null
                ? c.text("loadBalancerLoadSheddingStrategy") : c.data.get("strategy", "");
        var strategy = STRATEGIES.get(name.startsWith(BUILT_IN) ? name.substring(BUILT_IN.length()) : name);
        if (strategy == null) throw new NoAnswer("unsupported", "there is no strategy " + name + " here");
        return Obj.of("unload", strategy.apply(c));
    }

    static List<Obj> overloadShedder(Case c) {
        double threshold = c.number("loadBalancerBrokerOverloadedThresholdPercentage");
        boolean onlyOne = c.reading("overload-amount").equals("one");
        var unload = new ArrayList<Obj>();
        for (Broker broker : c.brokers()) {
            double usage = usage(broker, UNWEIGHTED).percent;
            boolean overloaded = c.reading("overload-trigger").equals("reaches")
                    ? usage >= threshold : usage > threshold;
            if (!overloaded) continue;
            if (broker.bundles().size() < 2) continue;
            double share = usage - threshold + OVERLOAD_MARGIN;
            double need = share * c.traffic(c.carried(broker)) / 100;
            if (onlyOne)
                c.movable(broker).stream().sorted(comparingDouble(c::expense).reversed())
                        .findFirst().ifPresent(dearest -> unload.add(unload(broker, dearest)));
            else shed(c, broker, need, unload);
        }
        return unload;
    }

    static List<Obj> thresholdShedder(Case c) {
        double threshold = c.number("loadBalancerBrokerThresholdShedderPercentage");
        var usages = new LinkedHashMap<String, Double>();
        for (Broker broker : c.brokers())
            usages.put(broker.name, c.smoothed(broker, usage(broker, c::weight).percent));
        double average = mean(usages.values());
        double target = c.reading("threshold-target").equals("points")
                ? average - BELOW_AVERAGE : average * (100 - BELOW_AVERAGE) / 100;

        var unload = new ArrayList<Obj>();
        for (Broker broker : c.brokers()) {
            double usage = usages.get(broker.name);
            if (usage <= average + threshold) continue;
            double whole = c.reading("threshold-released").equals("traffic") ? 100 : usage;
            shed(c, broker, (usage - target) * c.traffic(c.carried(broker)) / whole, unload);
        }
        double boundary = switch (c.reading("lower-boundary")) {
            case "printed-sum" -> average;
            case "average-minus-threshold" -> average - threshold;
            default -> average - LOWER_BOUNDARY;
        };
        boolean wanted = c.on("lowerBoundarySheddingEnabled");
        if (wanted && unload.isEmpty() && usages.values().stream().anyMatch(usage -> usage < boundary))
            c.brokers().stream().filter(broker -> !c.movable(broker).isEmpty())
                    .max(comparingDouble(broker -> usages.get(broker.name)))
                    .ifPresent(busiest -> {
                        double usage = usages.get(busiest.name);
                        double whole = c.reading("threshold-released").equals("traffic") ? 100 : usage;
                        double need = (usage - target) * c.traffic(c.carried(busiest)) / whole;
                        if (c.reading("lower-boundary-amount").equals("enough")) shed(c, busiest, need, unload);
                        else unload.add(unload(busiest, c.movable(busiest).get(0)));
                    });
        return unload;
    }

    /** Unloads the bundles that a broker may unload, most traffic first, until they carry enough. */
    static void shed(Case c, Broker broker, double need, List<Obj> unload) {
        double shed = 0;
        for (Bundle bundle : c.movable(broker)) {
            if (shed >= need) break;
            unload.add(unload(broker, bundle));
            shed += bundle.traffic;
        }
    }

    static List<Obj> uniformLoadShedder(Case c) {
        double difference = c.number("loadBalancerMsgRateDifferenceShedderThreshold");
        double multiple = c.number("loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold");
        var rates = c.spread(Main::messages);
        var throughput = c.spread(Main::bytes);
        // Multiplies instead of dividing, so that an idle broker is not a special case.
        boolean rateDiffers = c.reading("uniform-difference").equals("percent")
                ? (rates.getMax() - rates.getMin()) * 100 > difference * rates.getMin()
                : rates.getMax() - rates.getMin() > difference;
        double larger = c.reading("uniform-multiplier").equals("ratio")
                ? throughput.getMax() : throughput.getMax() - throughput.getMin();
        boolean throughputDiffers = larger > multiple * throughput.getMin();
        boolean uneven = c.reading("uniform-trigger").equals("both")
                ? rateDiffers && throughputDiffers : rateDiffers || throughputDiffers;
        var unload = new ArrayList<Obj>();
        if (!uneven) return unload;
        var loads = c.spread(c::traffic);
        var busiest = Collections.max(c.brokers(), comparingDouble(broker -> c.traffic(c.carried(broker))));
        double room = (loads.getMax() - loads.getMin()) / 2;
        for (Bundle bundle : c.movable(busiest)) {
            if (bundle.traffic > room) continue;
            unload.add(unload(busiest, bundle));
            room -= bundle.traffic;
        }
        return unload;
    }

    /** Returns the highest usage of a broker's resources in percent, each times its weight. */
    static Usage usage(Broker broker, ToDoubleFunction<String> weight) {
        return WEIGHTS.keySet().stream().map(resource -> {
            Obj used = broker.load.get(resource, new Obj());
            double limit = used.get("limit", 0.0);
            double percent = limit == 0 ? 0 : used.get("usage", 0.0) * 100 / limit;
            return new Usage(resource, percent * weight.applyAsDouble(resource));
        }).max(comparingDouble(Usage::percent)).orElseThrow();
    }

    static double messages(Obj rates) {
        return rates.get("msgRateIn", 0.0) + rates.get("msgRateOut", 0.0);
    }

    static double bytes(Obj rates) {
        return rates.get("msgThroughputIn", 0.0) + rates.get("msgThroughputOut", 0.0);
    }

    static double mean(Collection<Double> values) {
        return values.stream().mapToDouble(value -> value).sum() / values.size();
    }

    static long hash(String topic) {
        var crc = new CRC32();
        crc.update(topic.getBytes(UTF_8));
        return crc.getValue();
    }

    static String hex(long hash) { return String.format("0x%08x", hash); }

    static List<String> ranges(List<Long> boundaries) {
        return IntStream.range(1, boundaries.size())
                .mapToObj(i -> hex(boundaries.get(i - 1)) + "_" + hex(boundaries.get(i))).toList();
    }

    static Obj unload(Broker broker, Bundle bundle) {
        return Obj.of("broker", broker.name, "bundle", bundle.name);
    }

    record Usage(String resource, double percent) {}
    record Bundle(String name, double traffic) {}
    record Broker(String name, Obj load) {
        List<String> bundles() { return load.get("bundles", List.of()); }
    }

    /** One question, and the readings by which it is answered. */
    record Case(Obj data, Map<String, String> readings) {
        String reading(String name) { return readings.get(name); }
        List<String> strings(String name) { return data.get(name, List.of()); }
        Obj settings() { return data.get("settings", new Obj()); }
        double number(String name) { return Double.parseDouble(setting(name).toString()); }
        boolean on(String name) { return Boolean.parseBoolean(setting(name).toString()); }
        String text(String name) { return (String) setting(name); }
        double weight(String resource) { return number(WEIGHTS.get(resource, "")); }

        Object setting(String name) {
            Object value = settings().get(name, DEFAULTS.get(name));
            if (value != null) return value;
            throw new NoAnswer("failed", "setting " + name + " is needed and not in the case");
        }

        List<Broker> brokers() {
            Obj brokers = data.get("brokers", new Obj());
            return brokers.keySet().stream().map(name -> new Broker(name, (Obj) brokers.get(name))).toList();
        }

        DoubleSummaryStatistics spread(ToDoubleFunction<Obj> measure) {
            return brokers().stream().map(this::carried).mapToDouble(measure).summaryStatistics();
        }

        double traffic(Obj rates) {
            return reading("shed-measure").equals("throughput") ? bytes(rates) : messages(rates);
        }

        /** Returns the bundles that a broker may unload, most traffic first. */
        List<Bundle> movable(Broker broker) {
            return broker.bundles().stream()
                    .filter(name -> !recentlyUnloaded(name))
                    .map(name -> new Bundle(name, traffic(average(name, window()))))
                    .sorted(comparingDouble(Bundle::traffic).reversed().thenComparing(Bundle::name)).toList();
        }

        String window() { return reading("shed-window").equals("short-term") ? "shortTermData" : "longTermData"; }

        double expense(Bundle bundle) {
            Obj rates = average(bundle.name, window());
            return reading("expensive-measure").equals("message-rate") ? messages(rates) : bytes(rates);
        }

        /** Returns the traffic that a broker reports, or the sum over its bundles. */
        Obj carried(Broker broker) {
            if (reading("broker-rates").equals("reported")) return broker.load;
            var bundles = broker.bundles().stream().map(name -> average(name, window())).toList();
            return Obj.of("msgRateIn", bundles.stream().mapToDouble(Main::messages).sum(),
                    "msgThroughputIn", bundles.stream().mapToDouble(Main::bytes).sum());
        }

        boolean recentlyUnloaded(String bundle) {
            double ago = data.get("recentlyUnloaded", new Obj()).get(bundle, Double.POSITIVE_INFINITY);
            double grace = number("loadBalancerSheddingGracePeriodMinutes");
            return reading("grace-edge").equals("blocked") ? ago <= grace : ago < grace;
        }

        Obj average(String bundle, String window) {
            Obj average = data.get("bundles", new Obj()).get(bundle, new Obj()).get(window, new Obj());
            if (average.get("numSamples", 0.0) > 0) return average;
            double bytes = NEVER_MEASURED * (reading("kilobyte").equals("decimal") ? 1000 : 1024);
            return Obj.of("msgRateIn", NEVER_MEASURED, "msgRateOut", NEVER_MEASURED,
                    "msgThroughputIn", bytes, "msgThroughputOut", bytes);
        }

        /** Returns the running average of earlier usages, oldest first, and the present one. */
        double smoothed(Broker broker, double now) {
            var observed = new ArrayList<>(broker.load.get("usageHistory", List.<Double>of()));
            observed.add(now);
            return observed.stream().reduce((usage, next) -> {
                double kept = number("loadBalancerHistoryResourcePercentage");
                return usage * kept + next * (1 - kept);
            }).orElseThrow();
        }
    }

    /** Thrown instead of an answer: refused, unsupported or failed, with the reason. */
    static class NoAnswer extends RuntimeException {
        final String kind;

        NoAnswer(String kind, String why) {
            super(why);
            this.kind = kind;
        }
    }

    /** A JSON object; for an absent or null value, get returns its second argument. */
    static class Obj extends LinkedHashMap<String, Object> {
        static Obj of(Object... namesAndValues) {
            var obj = new Obj();
            for (int i = 0; i < namesAndValues.length; i += 2)
                obj.put((String) namesAndValues[i], namesAndValues[i + 1]);
            return obj;
        }

        @SuppressWarnings("unchecked")
        <T> T get(String name, T absent) { return get(name) == null ? absent : (T) get(name); }
    }

    /** Strict JSON: a duplicate key is an error. Numbers are doubles. */
    static class Json {
        static final Pattern TOKEN = Pattern.compile("\\G[ \\t\\r\\n]*([\\[\\]{},:]|true|false|null|\\z"
                + "|-?(?:0|[1-9][0-9]*)(?:[.][0-9]+)?(?:[eE][-+]?[0-9]+)?"
                + "|\"(?:[^\"\\\\\\x00-\\x1f]++|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4})*+\")");
        static final Pattern ESCAPED = Pattern.compile("\\\\(?:u(....)|.)");
        static final Pattern SPECIAL = Pattern.compile("[\"\\\\\\x00-\\x1f]");
        final Matcher tokens;
        String token = "";

        Json(String text) { tokens = TOKEN.matcher(text); next(); }

        static Object read(String text) {
            var json = new Json(text);
            Object value = json.value();
            json.require(json.token.isEmpty());
            return value;
        }

        Object value() {
            String start = token;
            require(!start.isEmpty());
            next();
            switch (start.charAt(0)) {
                case '{':
                    var object = new Obj();
                    items("}", () -> {
                        require(token.startsWith("\""));
                        String name = (String) value();
                        require(!object.containsKey(name) && skip(":"));
                        object.put(name, value());
                    });
                    return object;
                case '[':
                    var list = new ArrayList<Object>();
                    items("]", () -> list.add(value()));
                    return list;
                case '"': return ESCAPED.matcher(start.substring(1, start.length() - 1)).replaceAll(
                        found -> Matcher.quoteReplacement(unescaped(found.group(), found.group(1))));
                case 't', 'f': return Boolean.valueOf(start);
                case 'n': return null;
                default: return Double.valueOf(start); // no other token is a number
            }
        }

        static String unescaped(String escape, String code) {
            if (code != null) return Character.toString(Integer.parseInt(code, 16));
            return escape.equals("\\/") ? "/" : escape.translateEscapes();
        }

        void items(String end, Runnable item) {
            if (!token.equals(end)) do item.run(); while (skip(","));
            require(skip(end));
        }

        boolean skip(String expected) {
            boolean found = token.equals(expected);
            if (found) next();
            return found;
        }

        void next() {
            require(tokens.find());
            token = tokens.group(1);
        }

        void require(boolean holds) {
            if (!holds) throw new IllegalArgumentException("no JSON, or one key twice, near " + token);
        }

        static String write(Object value) {
            if (value instanceof Map<?, ?> map) return map.entrySet().stream()
                    .map(each -> write(each.getKey()) + ":" + write(each.getValue()))
                    .collect(joining(",", "{", "}"));
            if (value instanceof Collection<?> list)
                return list.stream().map(Json::write).collect(joining(",", "[", "]"));
            if (value instanceof String text) return '"' + SPECIAL.matcher(text).replaceAll(
                    found -> String.format("\\\\u%04x", (int) found.group().charAt(0))) + '"';
            if (value instanceof Double number && number == number.longValue())
                return String.valueOf(number.longValue());
            return String.valueOf(value);
        }
    }
}
