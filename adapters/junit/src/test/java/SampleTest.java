import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.opentest4j.TestAbortedException;
import pulsarconformance.Conformance;

/** The Java sample passes, and each fault in it fails at least one example. */
class SampleTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String EXAMPLE = "overload-95-over-85-no-more";
    private static final String TITLE = "The first two bundles make up 15 %, so that no third one goes";
    private static final String READINGS = "it rests on the readings overload-amount=margin, shed-window=short-term";
    private static final String COMMAND = "pulsar-conformance explain --example ";
    private static final String THRESHOLD = "loadBalancerBrokerOverloadedThresholdPercentage";

    @TestFactory
    Stream<DynamicTest> theSampleIsRight() {
        return conformance().tests(SampleTest::answer);
    }

    @TestFactory
    Stream<DynamicTest> aFaultIsFound() {
        Conformance shedding = conformance().about("shed.select");
        return faults().entrySet().stream().map(fault -> DynamicTest.dynamicTest(fault.getKey(), () -> {
            List<DynamicTest> tests = shedding.tests(fault.getValue()).toList();
            assertTrue(tests.stream().anyMatch(SampleTest::fails), "no example fails");
        }));
    }

    @Test
    void aFailurePrintsTheIdAndTheTitleOnceAndHowToExplainIt() {
        UnaryOperator<JsonNode> nothing = asked -> answered(asked, unload -> unload.removeAll());
        String message = assertThrows(AssertionError.class, () -> run(EXAMPLE, nothing)).getMessage();
        assertTrue(message.startsWith(EXAMPLE + ": " + TITLE + "\n" + READINGS + "\n"), message);
        assertEquals(message.indexOf(TITLE), message.lastIndexOf(TITLE), message);
        assertTrue(message.endsWith("\n" + COMMAND + EXAMPLE + " --judge-by documented-3.0"), message);
    }

    @Test
    void anExceptionNamesTheExample() {
        UnaryOperator<JsonNode> broken = asked -> {
            throw new UnsupportedOperationException("not yet");
        };
        String message = assertThrows(IllegalStateException.class, () -> run(EXAMPLE, broken)).getMessage();
        assertTrue(message.startsWith(EXAMPLE + ": "), message);
        assertTrue(message.contains("UnsupportedOperationException: not yet\n" + COMMAND), message);
    }

    @Test
    void anExampleThatOnlyRulesJudgeFailsForARefutedAnswer() {
        UnaryOperator<JsonNode> nothing = asked -> answered(asked, unload -> unload.removeAll());
        String id = "threshold-busiest-of-two-for-an-idle-broker";
        String message = assertThrows(AssertionError.class, () -> run(id, nothing)).getMessage();
        assertTrue(message.contains("\nonly rules judge its answer: broker2 sheds one of its bundles or both; "), message);
        assertTrue(message.contains("\nanswered  [{\"unload\":[]}]\n"), message);
    }

    @Test
    void anExampleThatOnlyRulesJudgeIsSkippedWithoutARefutedAnswer() {
        Conformance later = Conformance.of(archive()).by("documented-4.2");
        String message = assertThrows(TestAbortedException.class,
                () -> run(later, "transfer-switched-off", SampleTest::answer)).getMessage();
        assertTrue(message.contains("transfer-switched-off needs the suite: only rules judge its answer: "), message);
    }

    private static void run(String id, UnaryOperator<JsonNode> balancer) throws Throwable {
        run(conformance(), id, balancer);
    }

    private static void run(Conformance kit, String id, UnaryOperator<JsonNode> balancer) throws Throwable {
        kit.about("shed.select").tests(balancer).filter(one -> one.getDisplayName().equals(id))
                .findAny().orElseThrow().getExecutable().execute();
    }

    private static Path archive() {
        Path archive = Path.of(System.getProperty("pulsar.conformance.fixtures"));
        assumeTrue(Files.exists(archive), archive + " is not there; nox -s fixtures writes it");
        return archive;
    }

    private static Conformance conformance() {
        Conformance made = Conformance.of(archive());
        for (Map.Entry<String, Object> one : Main.READINGS.entrySet()) {
            made = made.reading(one.getKey(), (String) ((List<?>) one.getValue()).get(0));
        }
        return made;
    }

    private static boolean fails(DynamicTest test) {
        try {
            test.getExecutable().execute();
            return false;
        } catch (AssertionError found) {
            return true;
        } catch (Throwable skipped) {
            return false;
        }
    }

    /** Returns the sample's answer to a question, through the JSON of the protocol. */
    private static JsonNode answer(JsonNode question) {
        ObjectNode message = JSON.createObjectNode().put("id", 1);
        message.set("ask", question.get("ask"));
        message.set("cases", JSON.createArrayNode().add(question.get("case")));
        Map<String, String> readings = new HashMap<>();
        Main.reply((Main.Obj) Main.Json.read("{\"ask\": \"hello\"}"), readings);
        Main.Obj reply = Main.reply((Main.Obj) Main.Json.read(message.toString()), readings);
        try {
            JsonNode found = JSON.readTree(Main.Json.write(reply));
            return found.has("answers") ? found.get("answers").get(0)
                    : JSON.createObjectNode().put("unsupported", found.toString());
        } catch (JsonProcessingException wrong) {
            throw new AssertionError(wrong);
        }
    }

    /** Twenty faults: the sample asked about a changed case, or its answer changed. */
    private static Map<String, UnaryOperator<JsonNode>> faults() {
        Map<String, UnaryOperator<JsonNode>> found = new LinkedHashMap<>();
        found.put("sheds nothing", asked -> answered(asked, unload -> unload.removeAll()));
        found.put("keeps its last choice", asked -> answered(asked, SampleTest::removeLast));
        found.put("keeps its first choice", asked -> answered(asked, unload -> {
            if (!unload.isEmpty()) {
                unload.remove(0);
            }
        }));
        found.put("sheds one bundle at most", asked -> answered(asked, unload -> {
            while (unload.size() > 1) {
                removeLast(unload);
            }
        }));
        found.put("ignores the grace period", changing(one -> one.set("recentlyUnloaded", JSON.createObjectNode())));
        for (String resource : List.of("cpu", "memory", "bandwidthIn", "bandwidthOut")) {
            found.put("ignores " + resource, changing(one -> one.get("brokers").forEach(
                    broker -> ((ObjectNode) broker).remove(resource))));
        }
        found.put("ignores the settings", changing(one -> one.set("settings", JSON.createObjectNode())));
        for (String setting : List.of(
                "loadBalancerBrokerThresholdShedderPercentage",
                "loadBalancerSheddingEnabled",
                "loadBalancerMsgRateDifferenceShedderThreshold",
                "loadBalancerSheddingGracePeriodMinutes")) {
            found.put("ignores " + setting, changing(one -> ((ObjectNode) one.get("settings")).remove(setting)));
        }
        for (int points : List.of(-5, 5)) {
            found.put("overloaded " + points + " points later", changing(one -> ((ObjectNode) one.get("settings")).put(
                    THRESHOLD, one.get("settings").path(THRESHOLD).asDouble(85) + points)));
        }
        found.put("names another broker", asked -> answered(asked, unload -> unload.forEach(
                one -> ((ObjectNode) one).put("broker", "b0"))));
        found.put("sheds each bundle twice", asked -> answered(asked, unload -> unload.addAll(unload.deepCopy())));
        found.put("ignores what bundles carried lately", changing(one -> one.get("bundles").forEach(
                bundle -> ((ObjectNode) bundle).remove("shortTermData"))));
        found.put("always OverloadShedder", changing(one -> one.put("strategy", "OverloadShedder")));
        return found;
    }

    private static UnaryOperator<JsonNode> changing(Consumer<ObjectNode> change) {
        return question -> {
            change.accept((ObjectNode) question.get("case"));
            return answer(question);
        };
    }

    private static JsonNode answered(JsonNode question, Consumer<ArrayNode> change) {
        JsonNode answer = answer(question);
        if (answer.get("unload") instanceof ArrayNode unload) {
            change.accept(unload);
        }
        return answer;
    }

    private static void removeLast(ArrayNode unload) {
        if (!unload.isEmpty()) {
            unload.remove(unload.size() - 1);
        }
    }
}
