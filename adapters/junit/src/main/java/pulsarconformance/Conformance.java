package pulsarconformance;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.opentest4j.TestAbortedException;

/**
 * Worked examples of Pulsar's documents as dynamic tests, one per example.
 *
 * <pre>{@code
 * @TestFactory
 * Stream<DynamicTest> shedding() {
 *     return Conformance.of(Path.of("pulsar-conformance-fixtures-0.1.0.tar.gz"))
 *             .about("shed.select", asked -> asked.at("/case/strategy").asText().endsWith("OverloadShedder"))
 *             .tests(asked -> myAnswer(asked.get("case")));
 * }
 * }</pre>
 *
 * A question is {@code {"ask": OPERATION, "case": {...}}}, and its answer is that of the protocol, such
 * as {@code {"unload": [{"broker": ..., "bundle": ...}]}}. An answer {@code {"unsupported": WHY}}
 * skips its example.
 */
public final class Conformance {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Tolerance in comparisons of numbers: points of a percentage, or a share of any other number. */
    private static final double POINTS = 1e-3;
    private static final double SHARE = 1e-5;
    /** Maximum number of allowed answers that the message of a failure lists. */
    private static final int SHOWN = 2;
    /** Maximum number of bundles whose traffic the message of a failure shows. */
    private static final int BUNDLES = 5;

    private final Map<String, JsonNode> files;
    private final Map<String, String> readings;
    private final Predicate<JsonNode> chosen;
    private final String profile;

    private Conformance(
            Map<String, JsonNode> files, Map<String, String> readings, Predicate<JsonNode> chosen, String profile) {
        this.files = files;
        this.readings = readings;
        this.chosen = chosen;
        this.profile = profile;
    }

    /** Reads the archive that {@code nox -s fixtures} writes; judges by documented-3.0. */
    public static Conformance of(Path archive) {
        return new Conformance(Archive.read(archive), Map.of(), question -> true, "documented-3.0");
    }

    /**
     * Judges by other documents, such as documented-4.2.
     *
     * @throws IllegalArgumentException if there is no such profile
     */
    public Conformance by(String otherProfile) {
        check("profile", otherProfile, known("profiles"));
        return new Conformance(files, readings, chosen, otherProfile);
    }

    /**
     * Also asks examples that depend on this alternative of a reading, which the balancer follows.
     *
     * @throws IllegalArgumentException if there is no such reading, or it has no such value
     */
    public Conformance reading(String name, String value) {
        check("reading", name, known("readings"));
        check("value of " + name, value, known("readings").get(name));
        Map<String, String> more = new HashMap<>(readings);
        more.put(name, value);
        return new Conformance(files, more, chosen, profile);
    }

    /**
     * Asks only questions of one operation.
     *
     * @throws IllegalArgumentException if there is no such operation
     */
    public Conformance about(String operation) {
        return about(operation, question -> true);
    }

    /**
     * Asks only those questions of one operation that a predicate accepts, such as those about one strategy.
     *
     * @throws IllegalArgumentException if there is no such operation
     */
    public Conformance about(String operation, Predicate<JsonNode> which) {
        check("operation", operation, known("operations"));
        Predicate<JsonNode> asked = question -> question.get("ask").asText().equals(operation);
        return new Conformance(files, readings, chosen.and(asked).and(which), profile);
    }

    /**
     * Hands over a shedding strategy of Pulsar that stands in for a documented one, such as OverloadShedder.
     *
     * @throws IllegalArgumentException if no example is about the documented strategy, or none is left
     */
    public Stream<DynamicTest> shedding(String documented, Supplier<?> strategies) {
        String name = simple(documented);
        Set<String> judged = judgedStrategies();
        if (!judged.contains(name)) {
            boolean exists = stream(known("strategies")).anyMatch(one -> one.asText().equals(name));
            throw new IllegalArgumentException(
                    name + (exists ? " has no examples of shed.select with allowed answers"
                            : " is no documented strategy") + "; choose from " + String.join(", ", judged));
        }
        return about("shed.select", asked -> strategy(asked).equals(name)).tests(new SheddingStrategy(strategies));
    }

    /**
     * Returns a test for each example, named after its ID; a failure shows the ID, the title, the readings that it
     * rests on, the rules that it illustrates, the arithmetic, allowed answers and a command that explains it.
     * An example that only rules judge fails for the answers that the archive refutes; without any, it is skipped.
     *
     * @throws IllegalArgumentException if the documents contradict a reading, or no example is left
     */
    public Stream<DynamicTest> tests(UnaryOperator<JsonNode> balancer) {
        JsonNode permitted = known("permitted").get(profile);
        readings.forEach((name, value) -> check("value of " + name + " under " + profile, value, permitted.get(name)));
        List<JsonNode> left = asked().filter(this::isJudged).toList();
        if (left.stream().noneMatch(Conformance::decides)) {
            throw new IllegalArgumentException(noneLeft());
        }
        return left.stream().map(one -> DynamicTest.dynamicTest(id(one), () -> judge(one, balancer)));
    }

    /** Returns the shedding strategies about which there are examples with allowed answers. */
    private Set<String> judgedStrategies() {
        return about("shed.select", asked -> !strategy(asked).isEmpty()).asked()
                .filter(example -> example.get("allowed").isArray())
                .flatMap(example -> stream(example.get("questions"))).map(Conformance::strategy)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static String strategy(JsonNode question) {
        JsonNode named = question.at("/case/strategy");
        return named.isTextual() ? simple(named.asText()) : "";
    }

    /** Returns the examples whose questions are chosen, for all profiles and readings. */
    private Stream<JsonNode> asked() {
        return files.entrySet().stream().filter(file -> file.getKey().contains("/cases/"))
                .sorted(Map.Entry.comparingByKey()).map(Map.Entry::getValue)
                .filter(one -> stream(one.get("questions")).allMatch(chosen));
    }

    /** True if some answers to an example fail it. */
    private static boolean decides(JsonNode example) {
        return example.get("allowed").isArray() || !example.path("refuted").isEmpty();
    }

    private boolean isJudged(JsonNode example) {
        return contains(example.get("profiles"), profile) && follows(example);
    }

    private boolean follows(JsonNode example) {
        boolean follows = true;
        for (Map.Entry<String, JsonNode> one : example.get("readings").properties()) {
            follows &= one.getValue().asText().equals(readings.get(one.getKey()));
        }
        return follows;
    }

    private String noneLeft() {
        String what = "no example of " + profile + " is left for these questions"
                + (readings.isEmpty() ? " without readings" : " and the readings " + new TreeMap<>(readings));
        String needed = asked().filter(one -> contains(one.get("profiles"), profile)).map(Conformance::readingsOf)
                .distinct().sorted().collect(Collectors.joining("; "));
        String others = asked().filter(this::follows).flatMap(one -> stream(one.get("profiles"))).map(JsonNode::asText)
                .distinct().sorted().collect(Collectors.joining(", "));
        if (!needed.isEmpty()) {
            return what + "; there are examples with " + needed;
        }
        return what + (others.isEmpty() ? "; no profile has any" : "; there are examples of " + others);
    }

    private static String id(JsonNode example) {
        return example.get("id").asText();
    }

    private static String readingsOf(JsonNode example) {
        return example.get("readings").properties().stream().map(one -> one.getKey() + '=' + one.getValue().asText())
                .sorted().collect(Collectors.joining(", "));
    }

    private static String simple(String className) {
        return className.substring(className.lastIndexOf('.') + 1);
    }

    /** Returns a list of names from the archive's index, or an object whose keys are names. */
    private JsonNode known(String list) {
        JsonNode found = file("/index.json").path(list);
        if (found.isMissingNode()) {
            throw new IllegalArgumentException(
                    "the archive's index has no " + list + ", since it is older than this kit; "
                            + "write it again with nox -s fixtures");
        }
        return found;
    }

    private static void check(String what, String name, JsonNode known) {
        List<String> names = new ArrayList<>();
        if (known.isArray()) {
            known.forEach(one -> names.add(one.asText()));
        } else {
            known.fieldNames().forEachRemaining(names::add);
        }
        if (!names.contains(name)) {
            throw new IllegalArgumentException(
                    name + " is no " + what + "; choose from " + String.join(", ", names));
        }
    }

    private JsonNode file(String ending) {
        return files.entrySet().stream().filter(one -> one.getKey().endsWith(ending))
                .findFirst().orElseThrow().getValue();
    }

    private void judge(JsonNode example, UnaryOperator<JsonNode> balancer) {
        assumeTrue(decides(example), () -> id(example) + " needs the suite: " + byRules(example));
        ArrayNode answers = JSON.createArrayNode();
        for (JsonNode question : example.get("questions")) {
            JsonNode answer = answered(example, question, balancer);
            assumeFalse(answer.has("unsupported"), () -> id(example) + ": " + answer.get("unsupported").asText());
            answers.add(answer);
        }
        JsonNode allowed = example.get("allowed");
        JsonNode list = allowed.isArray() ? allowed : example.get("refuted");
        boolean listed = stream(list).anyMatch(one -> alike(one, answers));
        if (listed != allowed.isArray()) {
            fail(explained(example, answers));
        }
    }

    private static String byRules(JsonNode example) {
        return "only rules judge its answer: " + example.path("judged_by_rules").asText();
    }

    private JsonNode answered(JsonNode example, JsonNode question, UnaryOperator<JsonNode> balancer) {
        try {
            return balancer.apply(question.deepCopy());
        } catch (TestAbortedException skipped) {
            throw skipped;
        } catch (RuntimeException thrown) {
            throw new IllegalStateException(headed(example) + thrown + '\n' + command(example), thrown);
        }
    }

    private static String headed(JsonNode example) {
        String rests = readingsOf(example);
        return id(example) + ": " + example.get("title").asText() + '\n'
                + (rests.isEmpty() ? "" : "it rests on the readings " + rests + '\n');
    }

    private String command(JsonNode example) {
        return "pulsar-conformance explain --example " + id(example) + " --judge-by " + profile;
    }

    private String explained(JsonNode example, JsonNode answers) {
        StringBuilder text = new StringBuilder(headed(example));
        String names = stream(example.get("rules")).map(JsonNode::asText).collect(Collectors.joining(", "));
        text.append("the answer as a whole differs from this example's; no rule is judged by itself.\n")
                .append("the example illustrates ").append(names).append(":\n");
        JsonNode rules = file("/rules.json");
        for (JsonNode id : example.get("rules")) {
            JsonNode rule = rules.get(id.asText());
            text.append(id.asText()).append(": ").append(rule.get("statement").asText().strip()).append('\n');
            stream(rule.get("sources")).filter(one -> contains(one.path("profiles"), profile))
                    .map(one -> "  " + one.get("document").asText() + " § " + one.get("section").asText() + '\n')
                    .distinct().forEach(text::append);
        }
        example.get("arithmetic").forEach(line -> text.append("    ").append(line.asText()).append('\n'));
        JsonNode allowed = example.get("allowed");
        if (!allowed.isArray()) {
            text.append(byRules(example)).append('\n');
        }
        stream(allowed).limit(SHOWN).forEach(one -> text.append("allowed   ").append(one).append('\n'));
        if (allowed.size() > SHOWN) {
            text.append("          or one of ").append(allowed.size() - SHOWN).append(" more\n");
        }
        if (allowed.size() > 1) {
            text.append("          by the rules of this example; another rule may forbid some\n");
        }
        text.append("answered  ").append(answers).append('\n');
        differing(allowed.path(0), answers).forEach(bundle -> traffic(example, bundle).forEach(text::append));
        return text.append(command(example)).toString();
    }

    /** Returns the first bundles that only one of two lists of answers unloads. */
    private static Stream<String> differing(JsonNode allowed, JsonNode given) {
        Set<String> one = new TreeSet<>(allowed.findValuesAsText("bundle"));
        Set<String> other = new TreeSet<>(given.findValuesAsText("bundle"));
        return Stream.concat(one.stream(), other.stream()).distinct()
                .filter(bundle -> one.contains(bundle) != other.contains(bundle)).limit(BUNDLES);
    }

    /** Returns lines with the traffic of a bundle in the example's cases, for each direction. */
    private static Stream<String> traffic(JsonNode example, String bundle) {
        return stream(example.get("questions")).map(one -> one.at("/case/bundles").path(bundle))
                .flatMap(data -> data.properties().stream())
                .filter(window -> window.getValue().has("msgThroughputIn")
                        || window.getValue().has("msgThroughputOut"))
                .map(window -> "traffic   " + bundle + ' ' + window.getKey()
                        + ": in " + rates(window.getValue(), "In") + "; out " + rates(window.getValue(), "Out") + '\n')
                .distinct();
    }

    private static String rates(JsonNode average, String direction) {
        return average.path("msgThroughput" + direction).asText("0") + " B/s, "
                + average.path("msgRate" + direction).asText("0") + " msg/s";
    }

    /** True if an answer is allowed, regardless of free text, order and rounding. */
    private static boolean alike(JsonNode allowed, JsonNode given) {
        if (allowed.isNumber() && given.isNumber()) {
            double apart = Math.abs(allowed.asDouble() - given.asDouble());
            return apart <= POINTS || apart <= SHARE * Math.abs(allowed.asDouble());
        }
        if (allowed.isArray() && given.isArray()) {
            List<JsonNode> left = new ArrayList<>(stream(given).toList());
            boolean all = stream(allowed).allMatch(one -> {
                int place = 0;
                while (place < left.size() && !alike(one, left.get(place))) {
                    place++;
                }
                return place < left.size() && left.remove(place) != null;
            });
            return all && left.isEmpty();
        }
        if (allowed.isObject() && given.isObject()) {
            return allowed.has("refused") && given.has("refused") || fields(allowed).equals(fields(given))
                    && fields(allowed).stream().allMatch(name -> alike(allowed.get(name), given.get(name)));
        }
        return allowed.equals(given);
    }

    private static Set<String> fields(JsonNode value) {
        Set<String> names = new HashSet<>();
        value.fieldNames().forEachRemaining(names::add);
        names.remove("why");
        return names;
    }

    private static boolean contains(JsonNode list, String text) {
        return stream(list).anyMatch(one -> one.asText().equals(text));
    }

    private static Stream<JsonNode> stream(JsonNode list) {
        List<JsonNode> found = new ArrayList<>();
        list.forEach(found::add);
        return found.stream();
    }
}
