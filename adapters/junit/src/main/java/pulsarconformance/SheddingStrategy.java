package pulsarconformance;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * A {@code LoadSheddingStrategy} of Pulsar, from 3.0 on, as a balancer for {@link Conformance#tests}.
 *
 * <p>Only the strategy is asked; each question gets a new object. Pulsar's own classes come from the class path
 * of the tests. As in {@code ModularLoadManagerImpl}, the strategy is not asked if shedding is switched off or
 * there is a single broker, unloads before the grace period are forgotten, and bundles of excluded namespaces
 * that the strategy chooses stay. As the last statistics of a
 * bundle, a report has the bundle's short-term average and one topic. Questions about usage in earlier cycles
 * are skipped.
 */
public final class SheddingStrategy implements UnaryOperator<JsonNode> {
    private static final ObjectMapper JSON =
            new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
    private static final String LOAD_DATA = "org.apache.pulsar.broker.loadbalance.LoadData";
    private static final String CONFIGURATION = "org.apache.pulsar.broker.ServiceConfiguration";
    private static final String DATA = "org.apache.pulsar.policies.data.loadbalancer.";
    private static final String ENABLED = "loadBalancerSheddingEnabled";
    private static final String EXCLUDED = "loadBalancerSheddingExcludedNamespaces";
    private static final String GRACE = "loadBalancerSheddingGracePeriodMinutes";
    private static final int SHORT_TERM = 10;
    private static final int LONG_TERM = 1000;
    private static final long MINUTE = 60_000;
    private static final String[] RATES = {"msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut"};
    /** The load that the leader assumes for a bundle without samples, as documented. */
    private static final ObjectNode ASSUMED = JSON.createObjectNode()
            .put(RATES[0], 50.0).put(RATES[1], 50.0).put(RATES[2], 50_000.0).put(RATES[3], 50_000.0);

    private final Supplier<?> strategies;

    /** Asks the strategies that a supplier makes, such as {@code MyShedder::new}. */
    public SheddingStrategy(Supplier<?> strategies) {
        this.strategies = strategies;
    }

    @Override
    public JsonNode apply(JsonNode question) {
        JsonNode asked = question.get("case");
        String ask = question.get("ask").asText();
        if (!ask.equals("shed.select") || asked.findValue("usageHistory") != null) {
            return JSON.createObjectNode()
                    .put("unsupported", "this kit asks strategies about one cycle, without earlier usage");
        }
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode unload = answer.putArray("unload");
        if (!asked.at("/settings/" + ENABLED).asBoolean(true) || asked.get("brokers").size() < 2) {
            return answer;
        }
        List<String> excluded =
                List.of(asked.at("/settings/" + EXCLUDED).asText("").strip().split("\\s*,\\s*"));
        unloads(asked).forEach((broker, bundles) -> ((Collection<?>) bundles).stream()
                .filter(bundle -> !excluded.contains(namespace((String) bundle)))
                .forEach(bundle -> unload.addObject().put("broker", (String) broker).put("bundle", (String) bundle)));
        return answer;
    }

    private static String namespace(String bundle) {
        return bundle.substring(0, bundle.lastIndexOf('/'));
    }

    private Map<?, ?> unloads(JsonNode asked) {
        try {
            Object strategy = strategies.get();
            Class<?> loadData = Class.forName(LOAD_DATA);
            Class<?> configuration = Class.forName(CONFIGURATION);
            Method find = strategy.getClass().getMethod("findBundlesForUnloading", loadData, configuration);
            find.setAccessible(true);
            Object settings = settings(configuration, asked);
            Field grace = configuration.getDeclaredField(GRACE);
            grace.setAccessible(true);
            double minutes = ((Number) grace.get(settings)).doubleValue();
            Object found = find.invoke(strategy, loads(loadData, asked, minutes), settings);
            return (Map<?, ?>) found.getClass().getMethod("asMap").invoke(found);
        } catch (InvocationTargetException thrown) {
            throw new IllegalStateException("the strategy failed: " + thrown.getCause(), thrown.getCause());
        } catch (ReflectiveOperationException | IOException wrong) {
            throw new IllegalStateException("no strategy of Pulsar 3.0 or later can be asked: " + wrong, wrong);
        }
    }

    @SuppressWarnings("unchecked")
    private static Object loads(Class<?> loadData, JsonNode asked, double grace)
            throws ReflectiveOperationException, IOException {
        Object loads = loadData.getConstructor().newInstance();
        var bundles = (Map<String, Object>) loadData.getMethod("getBundleData").invoke(loads);
        bundles.putAll(bundles(asked));
        Class<?> report = Class.forName(DATA + "LocalBrokerData");
        Class<?> broker = Class.forName(DATA + "BrokerData");
        Class<?> sums = Class.forName(DATA + "TimeAverageBrokerData");
        Class<?> stats = Class.forName(DATA + "NamespaceBundleStats");
        var brokers = (Map<String, Object>) loadData.getMethod("getBrokerData").invoke(loads);
        for (Map.Entry<String, JsonNode> one : asked.get("brokers").properties()) {
            JsonNode whole = report(one.getValue(), asked.get("bundles"));
            Object made = broker.getConstructor(report).newInstance(JSON.treeToValue(whole, report));
            Object sum = sums.getConstructor().newInstance();
            Set<String> owned = new HashSet<>();
            whole.path("lastStats").fieldNames().forEachRemaining(owned::add);
            sums.getMethod("reset", Set.class, Map.class, stats)
                    .invoke(sum, owned, bundles, JSON.treeToValue(ASSUMED, stats));
            broker.getMethod("setTimeAverageData", sums).invoke(made, sum);
            brokers.put(one.getKey(), made);
        }
        var unloaded = (Map<String, Long>) loadData.getMethod("getRecentlyUnloadedBundles").invoke(loads);
        for (Map.Entry<String, JsonNode> one : asked.path("recentlyUnloaded").properties()) {
            double minutes = one.getValue().asDouble();
            if (minutes <= grace) {
                unloaded.put(one.getKey(), System.currentTimeMillis() - Math.round(minutes * MINUTE));
            }
        }
        return loads;
    }

    /** Returns the averages of all bundles; one without samples has the load that the leader assumes. */
    private static Map<String, Object> bundles(JsonNode asked) throws ReflectiveOperationException, IOException {
        Class<?> kind = Class.forName(DATA + "BundleData");
        Class<?> stats = Class.forName(DATA + "NamespaceBundleStats");
        var fresh = kind.getConstructor(int.class, int.class, stats);
        Map<String, Object> found = new LinkedHashMap<>();
        Set<String> names = new LinkedHashSet<>();
        asked.get("brokers").forEach(one -> one.path("bundles").forEach(bundle -> names.add(bundle.asText())));
        asked.get("bundles").fieldNames().forEachRemaining(names::add);
        for (String name : names) {
            Object data = fresh.newInstance(SHORT_TERM, LONG_TERM, JSON.treeToValue(ASSUMED, stats));
            ObjectNode measured = JSON.createObjectNode();
            for (Map.Entry<String, JsonNode> window : asked.get("bundles").path(name).properties()) {
                if (window.getValue().path("numSamples").asInt() > 0) {
                    measured.set(window.getKey(), window.getValue());
                }
            }
            found.put(name, JSON.readerForUpdating(data).readValue(measured));
        }
        return found;
    }

    /** Returns a report with the last statistics of its bundles, their number, and that of topics. */
    private static JsonNode report(JsonNode given, JsonNode bundles) {
        ObjectNode report = given.deepCopy();
        ObjectNode stats = JSON.createObjectNode();
        int topics = 0;
        for (JsonNode bundle : given.path("bundles")) {
            JsonNode average = bundles.path(bundle.asText()).path("shortTermData");
            boolean measured = average.path("numSamples").asInt() > 0;
            ObjectNode last = stats.putObject(bundle.asText()).put("topics", 1);
            for (String rate : RATES) {
                last.put(rate, (measured ? average : ASSUMED).path(rate).asDouble());
            }
            if (given.path("lastStats").get(bundle.asText()) instanceof ObjectNode known) {
                last.setAll(known);
            }
            topics += last.get("topics").asInt();
        }
        report.set("lastStats", stats);
        report.put("numBundles", stats.size()).put("numTopics", given.path("numTopics").asInt(topics));
        return report;
    }

    private static Object settings(Class<?> configuration, JsonNode asked) throws ReflectiveOperationException {
        Object settings = configuration.getConstructor().newInstance();
        for (Map.Entry<String, JsonNode> one : asked.get("settings").properties()) {
            if (one.getKey().equals(EXCLUDED)) {
                continue;
            }
            Field field = configuration.getDeclaredField(one.getKey());
            field.setAccessible(true);
            field.set(settings, JSON.convertValue(one.getValue(), field.getType()));
        }
        return settings;
    }
}
