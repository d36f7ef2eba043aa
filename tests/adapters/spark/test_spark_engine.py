"""The Spark engine keeps the rules, and answers thousands of cases in one job."""

from fractions import Fraction
from itertools import product
from zlib import crc32

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError, Connection, Limits
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.spark import connection as asking
from pulsar_conformance.adapters.spark import session
from pulsar_conformance.adapters.spark.session import COMPILED_FROM
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.reference import Model
from standins.examples import EXAMPLES
from standins.sparks import NAME, java_objects, spark, without_garbage_collection

assert spark
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

PROFILE = "documented-3.0"
SETTLED = (
    "settings.defaults",
    "bundles.create",
    "bundles.locate",
    "bundles.split",
    "usage.max",
    "usage.nic",
    "average.bundle",
    "average.broker",
)
"""Operations for which the documents and the readings allow a single answer."""


@pytest.fixture(scope="module")
def connection():
    with connect(NAME, PROFILE, {}) as opened:
        yield opened


def test_every_example_is_answered(connection):
    assert isinstance(connection, Connection)
    for operation in connection.hello.operations:
        answers = connection.ask(operation, EXAMPLES[operation])
        assert not any({"failed", "unsupported"} & set(answer) for answer in answers)


# Both kinds of plans give each answer. For few cases, compiling a plan takes longer than running
# it.
def test_few_cases_are_answered_by_interpreted_plans(connection, spark, monkeypatch):
    mode = "spark.sql.codegen.factoryMode"
    few, many = spark.session_for(COMPILED_FROM - 1), spark.session_for(COMPILED_FROM)
    assert (few.conf.get(mode), many.conf.get(mode)) == ("NO_CODEGEN", "FALLBACK")
    assert spark.session_for(1) is few
    assert many is spark.session
    cases = EXAMPLES["shed.select"]
    assert len(cases) < COMPILED_FROM
    answers = connection.ask("shed.select", cases)
    monkeypatch.setattr(session, "COMPILED_FROM", 1)
    assert connection.ask("shed.select", cases) == answers


def test_plans_are_freed_while_many_cases_are_asked(connection, monkeypatch):
    monkeypatch.setattr(asking, "MAX_HELD_CHARACTERS", 0)
    cases = EXAMPLES["usage.max"]
    connection.ask("usage.max", cases)
    with without_garbage_collection():
        before = java_objects()
        connection.ask("usage.max", cases)
        assert java_objects() - before < 50


def cases_of(operation, each):
    """Return legal cases of an operation, from the draws of every rule about it."""
    defaults = specs.load().defaults(PROFILE)
    rules = [rule for rule in specs.load().rules_of(PROFILE) if rule.id in checks()]
    return [
        question.case
        for rule in rules
        if operation in rule.operations
        for trial in draw(checks()[rule.id].draws, each, f"spark/{rule.id}")
        if trial_flaw(trial, defaults) is None
        for question in trial.questions
        if question.operation == operation
    ]


def approximate(value):
    """Return a value whose floats equal others within the precision of floating point."""
    if isinstance(value, dict):
        return {name: approximate(item) for name, item in value.items()}
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


@pytest.mark.parametrize("operation", SETTLED)
def test_it_agrees_with_the_model_where_nothing_is_open(connection, operation):
    model, cases = Model(PROFILE), cases_of(operation, 20)
    assert cases
    for case, answer in zip(cases, connection.ask(operation, cases), strict=True):
        expected = model.answer(operation, case)
        if "refused" in expected:
            assert "refused" in answer
        else:
            assert answer == approximate(expected), case


DOCUMENTED = [name for name, one in specs.load().profiles.items() if one.kind != "released"]
"""Profiles of documents. The engine follows the documents where releases differ."""
ALWAYS = "documented-5.0"
"""The profile whose rules the usual tests judge. The thorough tests judge the other profiles, and
`nox -s conformance` judges the engine by documented-3.0 and unwritten-3.0.
"""


def marked(profile):
    marks = () if profile == ALWAYS else pytest.mark.thorough
    return pytest.param(profile, marks=marks)


@pytest.mark.parametrize("profile", [marked(one) for one in DOCUMENTED])
def test_every_rule_holds_under_every_profile(profile, tmp_path):
    plan = Plan.make([NAME], [profile], examples=10, root=tmp_path)
    run = Run(plan, NAME, profile)
    rules = plan.rules_of(profile)
    run.prepare()
    verdicts = [run.verdict(rule) for rule in rules]
    run.close()
    assert [one for one in verdicts if one.verdict not in ("pass", "not_applicable")] == []


def bundle(place):
    return f"t/ns/0x{place:08x}_0x{place + 1:08x}"


def shedding(levels, settings, strategy):
    """Return a cycle with these usages of CPU, in which each broker has two bundles of 10 MB/s."""
    names = [bundle(place) for place in range(2 * len(levels))]
    load = {"msgThroughputIn": 1e7, "msgRateIn": 100, "numSamples": 1}
    return {
        "strategy": strategy,
        "settings": settings,
        "brokers": {
            f"b{place:02}": {
                "cpu": {"usage": level, "limit": 100},
                "msgThroughputIn": 2e7,
                "msgRateIn": 200,
                "bundles": names[2 * place : 2 * place + 2],
            }
            for place, level in enumerate(levels)
        },
        "bundles": {name: {"shortTermData": load} for name in names},
        "recentlyUnloaded": {},
    }


LEVELS = (0, 25, 50, 75, 100)


@pytest.mark.parametrize("trigger", ["exceeds", "reaches"])
def test_exact_edges_are_decided_exactly(trigger):
    over = {"exceeds": Fraction.__gt__, "reaches": Fraction.__ge__}[trigger]
    threshold = "loadBalancerBrokerThresholdShedderPercentage"
    overloaded = "loadBalancerBrokerOverloadedThresholdPercentage"
    cases, expected = [], []
    few = [levels for count in (2, 4) for levels in product(LEVELS, repeat=count)]
    for levels in (*few, *(levels * 4 for levels in few[::7])):
        average = Fraction(sum(levels), len(levels))
        for limit in (25, 50):
            shed = [over(Fraction(level), average + limit) for level in levels]
            cases.append(shedding(levels, {threshold: limit}, "ThresholdShedder"))
            expected.append({f"b{place:02}" for place, sheds in enumerate(shed) if sheds})
        shed = [over(Fraction(level), Fraction(75)) for level in levels]
        cases.append(shedding(levels, {overloaded: 75}, "OverloadShedder"))
        expected.append({f"b{place:02}" for place, sheds in enumerate(shed) if sheds})
    readings = {"overload-trigger": trigger, "threshold-trigger": trigger}
    with connect(NAME, PROFILE, readings) as following:
        answers = following.ask("shed.select", cases)
    assert [{one["broker"] for one in answer["unload"]} for answer in answers] == expected


def test_thousands_of_cases_are_one_job():
    case = shedding((100, 0), {}, "OverloadShedder")
    created = [{"bundles": 1 + place % 7, "settings": {}} for place in range(20_000)]
    with connect(NAME, PROFILE, {}) as fresh:
        assert fresh.remarks() == []
        answers = fresh.ask("bundles.create", created)
        fresh.ask("shed.select", [case] * 3)
        said = " ".join(fresh.remarks())
    assert [len(answer["boundaries"]) - 1 for answer in answers] == [
        case["bundles"] for case in created
    ]
    assert said.startswith(f"{NAME}, {PROFILE}: 2 jobs of Spark 4.")
    assert "answered 20003 cases" in said
    assert "bundles.create 20000, shed.select 3" in said


def test_a_topic_is_found_among_any_number_of_bundles(connection):
    """For each number of bundles, the answer equals the result of a linear search."""
    topics = [f"persistent://t/ns/topic-{number}" for number in range(40)]
    hashes = [crc32(topic.encode()) for topic in topics]
    cases, expected = [], []
    for count in (*range(1, 35), 63, 64, 65, 1000, 4095, 4096, 4097):
        # Some boundaries are hashes themselves: the one that begins there holds it.
        others = (7 + number * 1_000_003 for number in range(count))
        inner = sorted({*hashes[: count // 2], *others})
        cuts = [0, *inner[: count - 1], 0xFFFFFFFF]
        written = [f"0x{cut:08x}" for cut in cuts]
        cases.append({"boundaries": written, "topics": topics})
        places = [max(at for at, cut in enumerate(cuts[:-1]) if cut <= one) for one in hashes]
        expected.append([f"{written[place]}_{written[place + 1]}" for place in places])
    answers = connection.ask("bundles.locate", cases)
    assert [answer["bundles"] for answer in answers] == expected


def test_what_cannot_be_answered_is_that_cases_alone(connection):
    good = shedding((100, 0), {}, "OverloadShedder")
    unset, unknown = {**good, "strategy": "ThresholdShedder"}, {**good, "strategy": "x.y.Mine"}
    answers = connection.ask("shed.select", [unset, good, unknown])
    assert answers[0]["failed"].startswith("loadBalancerBrokerThresholdShedderPercentage: no doc")
    assert answers[1]["unload"][0]["broker"] == "b00"
    assert answers[2] == {"unsupported": "x.y.Mine is not documented"}


def test_an_unknown_operation_is_declined(connection):
    with pytest.raises(AdapterError) as caught:
        connection.ask("bundles.sing", [{}])
    assert caught.value.code == "unknown-operation"


def test_a_question_has_a_time_limit():
    slow = connect(NAME, PROFILE, {}, Limits(base=0.001, per_case=0))
    slow._jobs["bundles.create"] += 1
    with pytest.raises(AdapterError, match=r"bundles\.create, 1 case: no answer within 0.001 s"):
        slow.ask("bundles.create", [{"bundles": 1, "settings": {}}])
    assert slow.closed
    with pytest.raises(AdapterError, match="closed"):
        slow.ask("bundles.create", [{"bundles": 1, "settings": {}}])


def test_one_process_has_one_spark(connection):
    assert connection.ask("settings.defaults", [{}])
    with pytest.raises(AdapterError, match=r"this process already uses the Spark at local\[2\]"):
        connect("spark:local[3]", PROFILE, {})


OVERLOADED = "loadBalancerBrokerOverloadedThresholdPercentage"
LOADED = {"msgRateIn": 40_000, "numSamples": 1}
SPARE = {"loadBalancerNamespaceMaximumBundles": 3, "loadBalancerNamespaceBundleMaxTopics": "10"}


def splitting(settings, counts, silent=()):
    """Return a case of two bundles over the limit of messages; `silent` bundles lack statistics."""
    names = [bundle(place) for place in range(2)]
    stats = {"topics": 1, "producerCount": 1, "consumerCount": 1}
    shown = {name: stats for name in names if name not in silent}
    return {
        "settings": settings,
        "leader": True,
        "brokers": {"b0": {"bundles": names, "lastStats": shown}},
        "bundles": {name: {"longTermData": LOADED} for name in names},
        "namespaceBundles": counts,
    }


@pytest.mark.parametrize(
    ("operation", "case", "expected"),
    [
        (
            "shed.select",
            shedding((70, 10), {OVERLOADED: "60"}, "OverloadShedder"),
            {"unload": [{"broker": "b00", "bundle": bundle(0)}]},
        ),
        (
            "shed.select",
            shedding((95, 10), {"loadBalancerSheddingEnabled": "FALSE"}, "OverloadShedder"),
            {"unload": []},
        ),
        (
            "bundles.split_candidates",
            splitting(SPARE, {"t/ns": 2}, silent=(bundle(0),)),
            {"split": [bundle(1)], "unload": [bundle(1)]},
        ),
        (
            "bundles.split_candidates",
            splitting({}, {}),
            {"split": [bundle(0), bundle(1)], "unload": [bundle(0), bundle(1)]},
        ),
    ],
    ids=["threshold as text", "switched off as text", "last place", "namespace not counted"],
)
def test_unusual_cases_have_the_same_answer_as_in_the_model(connection, operation, case, expected):
    assert Model(PROFILE).answer(operation, case) == expected
    assert connection.ask(operation, [case]) == [expected]
