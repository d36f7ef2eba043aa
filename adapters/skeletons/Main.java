// A load balancer to be judged, run with `java Main.java` (Java 17 or later): fill in what you have,
// and name it in `operations`. Standard output is for messages alone; print to System.err.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

public class Main {
    static final long HASHES = 1L << 32;
    static final long DEFAULT_BUNDLES = 4;

    // For each operation, the function that answers one case. Instead of an answer, it may return
    // {"refused": why} if the rules forbid the request, or {"unsupported": why} if it isn't offered.
    static final Map<String, Function<Map<String, Object>, Object>> OPERATIONS =
            Map.of("bundles.create", Main::create);

    static Object create(Map<String, Object> asked) {
        Object number = asked.get("bundles");
        if (number == null) {
            Map<String, Object> settings = Json.object(asked.get("settings"));
            number = settings.getOrDefault("defaultNumberOfNamespaceBundles", DEFAULT_BUNDLES);
        }
        // A setting may be text, as in broker.conf: "16" for 16.
        long count = new BigDecimal(number.toString()).longValue();
        List<Object> boundaries = new ArrayList<>();
        for (long i = 0; i < count; i++) {
            boundaries.add(String.format("0x%08x", i * (HASHES / count)));
        }
        boundaries.add("0xffffffff");
        return Map.of("boundaries", boundaries);
    }

    // Bundles to unload in one cycle: add "shed.select", Main::select to OPERATIONS. The case's
    // "brokers" have the usage and the bundles of each broker, its "bundles" the traffic of each
    // bundle. A bundle that is missing there, or has "numSamples" 0, is taken to carry 50 msg/s and
    // 50 KB/s each way (DATA-04, DATA-05). Its "strategy" is a full class name, its last part
    // ("OverloadShedder"), or null: then the setting loadBalancerLoadSheddingStrategy, or its
    // default, names it. The command
    //     pulsar-conformance schema shed.select --example
    // prints such a case, and the answer to it:
    //     {"unload": [{"broker": "b1", "bundle": "shop/eu/0x60000000_0x80000000"}, ...]}
    static Object select(Map<String, Object> asked) {
        return Map.of("unload", List.of());
    }

    // `asked` has the profile and the readings by which the suite will judge.
    static Object hello(Map<String, Object> asked) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("protocol", 1);
        answer.put("name", "my-balancer");
        answer.put("version", "0.1");
        answer.put("batch", 1000);
        answer.put("manager", "modular");
        answer.put("operations", new ArrayList<>(OPERATIONS.keySet()));
        // With shed.select: full class names, or "OverloadShedder" and so on.
        answer.put("strategies", List.of());
        answer.put("algorithms", List.of()); // split algorithms, once bundles.split is offered
        answer.put("readings", Map.of()); // readings that you follow; the profile decides the others
        answer.put("neutral", Map.of()); // settings without effect here, each with the reason
        return answer;
    }

    static Map<String, Object> reply(Map<String, Object> message) {
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("id", message.get("id"));
        String ask = (String) message.get("ask");
        if (ask.equals("hello")) {
            reply.put("answer", hello(message));
        } else if (!OPERATIONS.containsKey(ask)) {
            reply.put("error", Map.of("code", "unknown-operation", "message", ask + " is not offered"));
        } else {
            List<Object> answers = new ArrayList<>();
            for (Object asked : (List<?>) message.get("cases")) {
                answers.add(answer(OPERATIONS.get(ask), asked));
            }
            reply.put("answers", answers);
        }
        return reply;
    }

    // An exception fails only its case.
    static Object answer(Function<Map<String, Object>, Object> operation, Object asked) {
        try {
            return operation.apply(Json.object(asked));
        } catch (RuntimeException error) {
            return Map.of("failed", error.toString());
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err);
        var messages = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = messages.readLine()) != null; ) {
            Map<String, Object> message = Json.object(new Json(line).read());
            if ("bye".equals(message.get("ask"))) {
                break;
            }
            replies.write((Json.text(reply(message)) + "\n").getBytes(StandardCharsets.UTF_8));
            replies.flush();
        }
    }
}

/** JSON as maps, lists, strings, Long, Double, Boolean and null; use a library if you have one. */
class Json {
    private final String text;
    private int at = 0;

    Json(String text) {
        this.text = text;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    Object read() {
        Object value = value();
        if (peek() != 0) {
            throw new IllegalArgumentException("text after the end, at " + at);
        }
        return value;
    }

    private Object value() {
        return switch (peek()) {
            case '{' -> members();
            case '[' -> items();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> members() {
        Map<String, Object> found = new LinkedHashMap<>();
        for (expect('{'); peek() != '}'; ) {
            peek();
            String name = string();
            peek();
            expect(':');
            found.put(name, value());
            if (peek() == ',') {
                at++;
            }
        }
        at++;
        return found;
    }

    private List<Object> items() {
        List<Object> found = new ArrayList<>();
        for (expect('['); peek() != ']'; ) {
            found.add(value());
            if (peek() == ',') {
                at++;
            }
        }
        at++;
        return found;
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        expect('"');
        for (char c; (c = text.charAt(at++)) != '"'; ) {
            found.append(c == '\\' ? escaped() : c);
        }
        return found.toString();
    }

    private char escaped() {
        char c = text.charAt(at++);
        return switch (c) {
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> (char) Integer.parseInt(text.substring(at, at += 4), 16);
            default -> c;
        };
    }

    private Object number() {
        int from = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String found = text.substring(from, at);
        try {
            return Long.valueOf(found);
        } catch (NumberFormatException error) {
            return Double.valueOf(found);
        }
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw new IllegalArgumentException("no JSON at " + at);
        }
        at += word.length();
        return value;
    }

    /** Returns the next character that is not a space, or 0 at the end. */
    private char peek() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private void expect(char wanted) {
        if (text.charAt(at) != wanted) {
            throw new IllegalArgumentException("no " + wanted + " at " + at);
        }
        at++;
    }

    static String text(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> map) {
            String before = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(before);
                quote((String) entry.getKey(), out);
                out.append(':');
                write(entry.getValue(), out);
                before = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof List<?> list) {
            String before = "[";
            for (Object item : list) {
                out.append(before);
                write(item, out);
                before = ",";
            }
            out.append(list.isEmpty() ? "[]" : "]");
        } else if (value instanceof String string) {
            quote(string, out);
        } else {
            out.append(value);
        }
    }

    private static void quote(String string, StringBuilder out) {
        out.append('"');
        for (char c : string.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
