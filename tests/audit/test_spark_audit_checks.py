"""The audit's checks, as Spark columns, agree with the suite's checks on the suite's cases."""

from itertools import product
from random import Random
from types import MappingProxyType

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.protocol import json_text
from pulsar_conformance.adapters.spark import shapes, shedding, threshold, usage
from pulsar_conformance.adapters.spark.answers_shedding import (
    OPERATIONS,
    brokers_of,
)
from pulsar_conformance.adapters.spark.cases import PlanBasis, parsed_cases
from pulsar_conformance.adapters.spark.settings import in_force
from pulsar_conformance.audit.tables.decisions import add_unloads, decided_table
from pulsar_conformance.audit.verdicts.checks import BOUND_CHECKS, CHECKS
from pulsar_conformance.audit.verdicts.checks.acts import summarize_brokers
from pulsar_conformance.audit.verdicts.checks.facts import facts
from pulsar_conformance.audit.verdicts.judging import judge_cycles
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings
from pyspark.sql import functions as F
from standins.changed_answers import changed_answers
from standins.sparks import audit_session, spark

pytestmark = pytest.mark.spark

assert audit_session
assert spark

PROFILE = "documented-3.0"
OTHER_ALTERNATIVES = {
    "overload-amount": "one",
    "overload-scope": "all",
    "expensive-measure": "throughput",
    "overload-trigger": "reaches",
    "threshold-trigger": "reaches",
    "shed-measure": "message-rate",
    "uniform-trigger": "either",
    "uniform-difference": "messages",
    "lower-boundary": "printed-sum",
    "threshold-order": "traffic",
    "uniform-multiplier": "difference",
    "threshold-released": "usage",
    "threshold-target": "percent",
    "grace-of": "topic",
    "grace-edge": "free",
}
"""An alternative other than the default, for every reading about shedding."""

FEWEST, FEW, MANY = 2, 6, 12
"""Numbers of trials per rule. `FEW` are enough to keep, to break and not to reach each rule."""

RULES = {
    profile: [one.id for one in specs.load().rules_of(profile) if one.id in CHECKS]
    for profile in (PROFILE, "documented-4.2")
}
"""The rules about single cycles, by profile."""

CHANGED = [f"THRESHOLD-{number}" for number in ("01", "02", "06", "07", "08", "18", "20")] + [
    "UNIFORM-08",
    "SHED-17",
]
"""Rules that 4.x changed or added."""


def asked(readings, profile, rules, each):
    """Yield trials of every rule, each with right and wrong answers."""
    model, random = Model(profile, readings), Random(5)
    for rule in rules:
        for trial in draw_trials(rule, profile, 12, each):
            if len(trial.questions) > 1:
                continue
            case = trial.questions[0].case
            answer = model.answer("shed.select", case)
            for pairs in changed_answers(random, case, answer):
                yield trial, pairs


def said_by_columns(
    session,
    questions,
    readings,
    besides=MappingProxyType({}),
    profile=PROFILE,
    rules=RULES[PROFILE],
):
    """Return the results of the audit's columns, by the question's number and the rule."""
    shape = OPERATIONS["shed.select"].shape
    chosen = PlanBasis(specs.load().defaults(profile), readings)
    texts = [(n, json_text(trial.questions[0].case)) for n, (trial, _) in enumerate(questions)]
    raw = parsed_cases(session.createDataFrame(texts, "cycle bigint, text string"), shape)
    raw = raw.repartition("cycle")
    force = in_force(F.col("settings"), shedding.deciding_settings(), chosen.defaults)
    cases = raw.withColumns({"given": F.col("settings"), "settings": force})
    owners = brokers_of(cases, chosen)
    brokers, bundles = owners.drop("owns"), owners.select("cycle", "broker", F.inline("owns"))
    took = [
        (n, one["broker"], one["bundle"], place)
        for n, (_, pairs) in enumerate(questions)
        for place, one in enumerate(pairs)
    ]
    went = session.createDataFrame(took, "cycle bigint, broker string, bundle string, place bigint")
    times = F.array_sort(F.collect_list(F.timestamp_seconds("place"))).alias("done")
    sure = F.array().cast("array<timestamp>").alias("doubtful"), F.lit(False).alias("claimed")
    went = went.groupBy("cycle", "broker", "bundle").agg(times)
    went = went.select("*", *sure)
    decided = shedding.decision_rows(brokers, bundles, readings)
    decided = add_unloads(decided_table(decided, readings), went)
    named = raw.select("cycle", F.map_keys("settings").alias("named"))
    settled = brokers.groupBy("cycle").agg(
        F.any_value("settings").alias("settings"), F.any_value("strategy").alias("strategy")
    )
    acted = summarize_brokers(decided, ("cycle", "broker"))
    judgements = judge_cycles(
        facts(acted, reported(cases), settled.join(named, "cycle"), readings),
        rules,
        readings,
        besides,
    )
    return {(one.cycle, one.rule): one for one in judgements.collect()}


def reported(cases):
    """Return the brokers of cases, in the columns that `facts` expects."""
    each = cases.select(
        "cycle", "settings", F.posexplode("brokers").alias("turn", "broker", "report")
    )
    report, settings = F.col("report"), F.col("settings")
    percent = usage.percents_of_limits(report)
    each = each.withColumn("percent", percent)
    present = usage.maximum(usage.weighted_percents_of(F.col("percent"), settings))
    none = F.array().cast("array<double>")
    history = F.coalesce(report["usageHistory"], none)
    seen = F.concat(history, F.array(present))
    mixed = usage.smoothed_usage(history, present, settings[threshold.HISTORY_SHARE])
    return each.select(
        "cycle",
        "broker",
        "turn",
        "percent",
        *(mixed.alias(name) for name in ("smoothed", "lower", "upper")),
        (F.size(history) > 0).alias("observed"),
        F.array_min(seen).alias("least"),
        F.array_max(seen).alias("most"),
        shapes.traffic(report).alias("carries"),
    )


@pytest.mark.parametrize(
    ("profile", "rules", "otherwise", "each"),
    [
        pytest.param(PROFILE, RULES[PROFILE], {}, FEW, id="usual"),
        pytest.param(PROFILE, RULES[PROFILE], {}, MANY, id="many", marks=pytest.mark.thorough),
        pytest.param(PROFILE, RULES[PROFILE], OTHER_ALTERNATIVES, FEWEST, id="otherwise"),
        pytest.param(
            PROFILE,
            RULES[PROFILE],
            OTHER_ALTERNATIVES,
            MANY,
            id="many otherwise",
            marks=pytest.mark.thorough,
        ),
        pytest.param("documented-4.2", CHANGED, {}, MANY, id="4.2"),
    ],
)
def test_columns_say_what_the_suite_says(audit_session, profile, rules, otherwise, each):
    readings = {**specs.load().default_readings(profile), **otherwise}
    evaluator = RuleEvaluator(specs.load().defaults(profile), Readings.of(profile, otherwise))
    questions = list(asked(readings, profile, rules, each))
    said = said_by_columns(audit_session, questions, readings, profile=profile, rules=rules)
    words = set()
    for (number, (trial, pairs)), rule in product(enumerate(questions), rules):
        word = evaluator.judge(rule, trial, [{"unload": pairs}]).word
        one = said.get((number, rule))
        columns = "not_reached" if one is None else "violated" if one.broken else "allowed"
        assert columns == word, (rule, trial.questions[0].case, pairs, one)
        words.add((rule, word))
    every = {(rule, word) for rule in rules for word in ("allowed", "violated", "not_reached")}
    assert otherwise or words == every


@pytest.mark.parametrize("each", [FEWEST, pytest.param(MANY, marks=pytest.mark.thorough)])
def test_bounds_accuse_nobody_who_decides_as_the_documents_say(audit_session, each):
    """With any share of earlier usage, the model's answers are within the bounds."""
    readings = specs.load().default_readings(PROFILE)
    model, questions = Model(PROFILE, readings), []
    for rule in RULES[PROFILE]:
        if not rule.startswith("THRESHOLD"):
            continue
        for trial in draw_trials(rule, PROFILE, 13, each):
            case = trial.questions[0].case
            on = {threshold.LOWER_BOUNDARY: True}
            for share, more in ((0, {}), (0.3, {}), (0.9, {}), (1, {}), (0.3, on), (0.9, on)):
                settings = {**case["settings"], threshold.HISTORY_SHARE: share, **more}
                mixed = {**case, "settings": settings}
                pairs = model.answer("shed.select", mixed)["unload"]
                questions.append((Trial.of("shed.select", mixed), pairs))
    said = said_by_columns(audit_session, questions, readings, BOUND_CHECKS)
    found = [
        said.get((number, rule)) for number, rule in product(range(len(questions)), BOUND_CHECKS)
    ]
    assert not [one for one in found if one is not None and one.broken]
    reached = {one.rule for one in found if one is not None and one.reached}
    assert reached == set(BOUND_CHECKS)
