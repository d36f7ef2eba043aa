import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import pulsarconformance.Conformance;

/** A name that does not exist is an error, and so is a choice that leaves no example. */
class MistakesTest {
    @Test
    void anUnknownProfile() {
        String said = refused(() -> conformance().by("nonsense"));
        assertTrue(said.startsWith("nonsense is no profile; choose from documented-3.0, "), said);
        assertTrue(said.contains("documented-4.2"), said);
    }

    @Test
    void anUnknownStrategy() {
        String said = refused(() -> conformance().shedding("MyShedder", Object::new));
        String start = "MyShedder is no documented strategy; choose from ";
        assertTrue(said.startsWith(start), said);
        assertTrue(said.substring(start.length()).startsWith("OverloadShedder, ThresholdShedder, "), said);
    }

    @Test
    void everyStrategyThatCanBeChosenHasExamples() {
        String said = refused(() -> conformance().shedding("MyShedder", Object::new));
        for (String strategy : said.substring(said.indexOf("from ") + "from ".length()).split(", ")) {
            String none = refused(() -> conformance().by("documented-2.4").shedding(strategy, Object::new));
            assertTrue(none.contains("there are examples "), none);
        }
    }

    @Test
    void aDocumentedStrategyWithoutAllowedAnswers() {
        String said = refused(() -> conformance().shedding("AvgShedder", Object::new));
        String start = "AvgShedder has no examples of shed.select with allowed answers; choose from OverloadShedder, ";
        assertTrue(said.startsWith(start), said);
    }

    @Test
    void aPartOfAStrategysName() {
        String said = refused(() -> conformance().shedding("Shedder", Object::new));
        assertTrue(said.startsWith("Shedder is no documented strategy"), said);
    }

    @Test
    void anUnknownReading() {
        String said = refused(() -> conformance().reading("overload-amounts", "margin"));
        assertTrue(said.startsWith("overload-amounts is no reading; choose from "), said);
        assertTrue(said.contains("overload-amount, "), said);
    }

    @Test
    void anUnknownValue() {
        String said = refused(() -> conformance().reading("overload-trigger", "reached"));
        assertEquals("reached is no value of overload-trigger; choose from exceeds, reaches", said);
    }

    @Test
    void aReadingThatLaterDocumentsContradict() {
        String said = refused(() -> conformance().by("documented-4.2").reading("lower-boundary", "average-minus-10")
                .shedding("ThresholdShedder", Object::new));
        String start = "average-minus-10 is no value of lower-boundary under documented-4.2; choose from ";
        assertEquals(start + "average-minus-threshold", said);
    }

    @Test
    void anUnknownOperation() {
        String said = refused(() -> conformance().about("shed"));
        assertTrue(said.startsWith("shed is no operation; choose from "), said);
    }

    @Test
    void noExampleOfTheProfile() {
        String said = refused(() -> conformance().by("documented-2.4").shedding("OverloadShedder", Object::new));
        String start = "no example of documented-2.4 is left for these questions without readings; "
                + "there are examples of ";
        assertTrue(said.startsWith(start), said);
        assertTrue(said.contains("documented-4.2"), said);
    }

    @Test
    void noExampleThatAPredicateAccepts() {
        String said = refused(() -> conformance().about("shed.select", asked -> false).tests(asked -> asked));
        assertTrue(said.endsWith("; no profile has any"), said);
    }

    @Test
    void noExampleWithoutAReading() {
        String said = refused(() -> conformance().about("shed.select", MistakesTest::restsOnAReading)
                .tests(asked -> asked));
        assertTrue(said.contains("; there are examples with "), said);
        assertTrue(said.contains("shed-window=short-term, uniform-multiplier=ratio"), said);
    }

    @ParameterizedTest
    @ValueSource(strings = {"documented-4.0", "documented-4.2", "documented-5.0"})
    void laterDocumentsKeepExamples(String profile) {
        for (String strategy : new String[] {"OverloadShedder", "ThresholdShedder", "UniformLoadShedder"}) {
            long found = conformance().by(profile).shedding(strategy, Object::new).count();
            assertTrue(found > 0, profile + " has " + found + " for " + strategy);
        }
        String name = "org.apache.pulsar.broker.loadbalance.impl.OverloadShedder";
        assertEquals(conformance().by(profile).shedding("OverloadShedder", Object::new).count(),
                conformance().by(profile).shedding(name, Object::new).count());
    }

    /** True of the examples in which b1 sends and receives 50,000 messages. */
    private static boolean restsOnAReading(JsonNode asked) {
        boolean uniform = asked.at("/case/strategy").asText().endsWith(".UniformLoadShedder");
        return uniform && asked.at("/case/brokers/b1/msgRateOut").asInt() == 50_000;
    }

    private static String refused(Executable mistake) {
        return assertThrows(IllegalArgumentException.class, mistake).getMessage();
    }

    private static Conformance conformance() {
        Path archive = Path.of(System.getProperty("pulsar.conformance.fixtures"));
        assumeTrue(Files.exists(archive), archive + " is not there; nox -s fixtures writes it");
        return Conformance.of(archive);
    }
}
