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
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * A {@code LoadSheddingStrategy} of Pulsar, from 3.0 on, as a balancer for {@link Conformance#tests}.
 *
 * <p>The strategy alone is asked, with a new object for each question. Pulsar's own classes are those of the
 * class path of the tests; as in {@code ModularLoadManagerImpl}, nothing is asked where shedding is switched
 * off or there is one broker, and unloads from before the grace period are forgotten. Questions about usages
 * of earlier cycles are skipped.
 */
public final class SheddingStrategy implements UnaryOperator<JsonNode> {
    private static final ObjectMapper JSON =
            new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
    private static final String LOAD_DATA = "org.apache.pulsar.broker.loadbalance.LoadData";
    private static final String CONFIGURATION = "org.apache.pulsar.broker.ServiceConfiguration";
    private static final String DATA = "org.apache.pulsar.policies.data.loadbalancer.";
    private static final String ENABLED = "loadBalancerSheddingEnabled";
    private static final String GRACE = "loadBalancerSheddingGracePeriodMinutes";
    private static final int SHORT_TERM = 10;
    private static final int LONG_TERM = 1000;
    private static final long MINUTE = 60_000;

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
            return JSON.createObjectNode().put("unsupported", "a strategy decides one cycle, by its own memory");
        }
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode unload = answer.putArray("unload");
        if (!asked.at("/settings/" + ENABLED).asBoolean(true) || asked.get("brokers").size() < 2) {
            return answer;
        }
        unloads(asked).forEach((broker, bundles) -> ((Collection<?>) bundles)
                .forEach(bundle -> unload.addObject().put("broker", (String) broker).put("bundle", (String) bundle)));
        return answer;
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
        Class<?> report = Class.forName(DATA + "LocalBrokerData");
        Class<?> bundle = Class.forName(DATA + "BundleData");
        var broker = Class.forName(DATA + "BrokerData").getConstructor(report);
        var brokers = (Map<String, Object>) loadData.getMethod("getBrokerData").invoke(loads);
        for (Map.Entry<String, JsonNode> one : asked.get("brokers").properties()) {
            brokers.put(one.getKey(), broker.newInstance(JSON.treeToValue(one.getValue(), report)));
        }
        var bundles = (Map<String, Object>) loadData.getMethod("getBundleData").invoke(loads);
        for (Map.Entry<String, JsonNode> one : asked.get("bundles").properties()) {
            Object fresh = bundle.getConstructor(int.class, int.class).newInstance(SHORT_TERM, LONG_TERM);
            bundles.put(one.getKey(), JSON.readerForUpdating(fresh).readValue(one.getValue()));
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

    private static Object settings(Class<?> configuration, JsonNode asked) throws ReflectiveOperationException {
        Object settings = configuration.getConstructor().newInstance();
        for (Map.Entry<String, JsonNode> one : asked.get("settings").properties()) {
            Field field = configuration.getDeclaredField(one.getKey());
            field.setAccessible(true);
            field.set(settings, JSON.convertValue(one.getValue(), field.getType()));
        }
        return settings;
    }
}
