"""`pulsar-conformance explain`: each bundle of a case is explained, and mistakes are reported."""

import io
import json
import re
import sys

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.explain import paper
from pulsar_conformance.reference import Model
from standins.cycles import OVERLOAD, QUARTERS, UNIFORM, cycle, shed

SPECS = specs.load()


def walked(out):
    """Return for each bundle of a derivation its name, "goes" or "stays", and the reason."""
    joined = re.sub(r"\n {8,}", " ", out)
    steps = re.findall(r"^ +(goes|stays) +(\S+) = (.*)$", joined, re.MULTILINE)
    return [(name, becomes, why) for becomes, name, why in steps]


@pytest.mark.parametrize("example", fixtures.examples(), ids=lambda example: example.id)
def test_every_worked_example_can_be_explained(example, capsys):
    assert main(["explain", "--example", example.id]) == 0
    out = capsys.readouterr().out
    told = " ".join(out.split())
    assert example.title in told
    assert f"{example.document} § {example.section}" in told
    for line in example.arithmetic:
        assert " ".join(line.split()) in told
    for rule in example.rules:
        assert " ".join(f"{rule}: {SPECS.rules[rule].statement}".split()) in told
    for operation, _ in example.questions:
        assert operation in told
    assert "answer by hand" in told
    assert "by hand is different" not in told
    assert too_wide(out) == []


def too_wide(text):
    """Return the lines over 80 columns that have more than one word."""
    return [line for line in text.splitlines() if len(line) > 80 and len(line.split()) > 1]


@pytest.mark.parametrize(
    "rule", [rule for rule in checks() if "shed.select" in SPECS.rules[rule].operations]
)
def test_each_bundle_of_a_cycle_goes_as_answered_or_stays(rule):
    profile = SPECS.rules[rule].profiles[-1]
    for scope in ("overload-shedder", "all"):
        model = Model(profile, {"overload-scope": scope})
        for trial in draw(checks()[rule].draws, 5, f"explain/{rule}"):
            if trial_flaw(trial, model.defaults) is None:
                for question in trial.questions:
                    check_accounted(model, question, scope)


def check_accounted(model, question, scope):
    operation, case = question
    derived = model.derive(operation, case)
    if operation != "shed.select" or "unload" not in derived.answer:
        return
    steps = [step for step in derived.steps if step.label.strip() in ("goes", "stays")]
    named = [step.text.partition(" = ")[0].partition(",")[0] for step in steps]
    owned = [name for broker in case["brokers"].values() for name in broker.get("bundles", ())]
    assert set(named) == set(owned)
    going = [name for step, name in zip(steps, named, strict=True) if step.label.strip() == "goes"]
    answered = [one["bundle"] for one in derived.answer["unload"]]
    if scope == "all":
        assert set(going) == set(answered)
    else:
        assert going == answered
        assert len(named) == len(owned)
    assert all(", " in step.text for step in steps if step.label.strip() == "stays")


def test_bundles_stand_in_the_order_of_decision_each_with_its_reason(explain):
    recently = {QUARTERS[1]: 12, QUARTERS[0]: 31}
    status, out, _ = explain(shed(cycle(30, 60, 10, 20, recently=recently)))
    assert status == 0
    assert walked(out) == [
        (QUARTERS[1], "stays", "60 MB/s, unloaded 12 minutes ago, grace 30"),
        (QUARTERS[0], "goes", "30 MB/s, together 30 MB/s"),
        (QUARTERS[3], "stays", "20 MB/s, enough has gone"),
        (QUARTERS[2], "stays", "10 MB/s, enough has gone"),
    ]
    assert "(95 - 85) + 5 = 15 % of 120 MB/s = 18 MB/s" in out
    assert "b2 is not overloaded: it keeps all" in out
    assert out.endswith(f"answer\n  unload  {QUARTERS[0]} of b1\n")


def test_where_one_bundle_goes_the_others_need_not(explain):
    by_bytes = ("--reading", "overload-amount=one", "--reading", "expensive-measure=throughput")
    _, out, _ = explain(shed(cycle(30, 60)), *by_bytes)
    assert "overload-amount=one" in out.splitlines()[0]
    assert walked(out) == [
        (QUARTERS[1], "goes", "60 MB/s"),
        (QUARTERS[0], "stays", "30 MB/s, one is enough"),
    ]


def test_what_was_never_measured_is_said(explain):
    case = cycle(30, 60)
    del case["bundles"][QUARTERS[0]]
    _, out, _ = explain(shed(case))
    assert (
        QUARTERS[0],
        "stays",
        "100 KB/s, assumed as it was never measured, enough has gone",
    ) in walked(out)


def test_a_part_of_what_was_unloaded_stays_with_its_topics(explain):
    recently = {"shop/eu/0x00000000_0x80000000": 5}
    case = shed(cycle(30, 60, 40, recently=recently))
    _, out, _ = explain(case, "--reading", "grace-of=topic")
    why = "60 MB/s, unloaded as a part of shop/eu/0x00000000_0x80000000 5 minutes ago, grace 30"
    assert walked(out)[0] == (QUARTERS[1], "stays", why)


def test_a_uniform_cycle_says_what_does_not_fit_and_what_carries_nothing(explain):
    settings = {
        "loadBalancerMsgRateDifferenceShedderThreshold": 50,
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": 4,
    }
    case = cycle(70, 40, 0, strategy=UNIFORM, settings=settings)
    case["brokers"]["b1"]["msgRateIn"] = 100
    _, out, _ = explain(shed(case))
    assert walked(out) == [
        (QUARTERS[0], "stays", "70 MB/s, more than the 55 MB/s left"),
        (QUARTERS[1], "goes", "40 MB/s, together 40 MB/s"),
        (QUARTERS[2], "stays", "0 B/s, it carries nothing"),
    ]
    assert "110 MB/s / 2 = 55 MB/s" in " ".join(out.split())


# b2 has 10 msg/s and b1 25, which is (25 - 10) * 100 / 10 = 150 % more; 40 MB/s are 40 / 16 = 2.5
# times 16 MB/s.
@pytest.mark.parametrize(
    ("threshold", "messages", "decision"),
    [
        (100, "b2 10 msg/s to b1 25 msg/s, 150 % more: over 100", "less than the 1000 msg/s"),
        (150, "b2 10 msg/s to b1 25 msg/s, 150 % more: not over 150", "neither difference is over"),
        (0, "b2 10 msg/s to b1 25 msg/s, 150 % more: not compared", "neither difference is over"),
    ],
)
def test_a_release_says_how_far_apart_its_brokers_are(explain, threshold, messages, decision):
    case = cycle(20, 20, strategy=UNIFORM)
    case["settings"] = {"loadBalancerMsgRateDifferenceShedderThreshold": threshold}
    case["brokers"]["b1"]["msgRateIn"] = 25
    case["brokers"]["b2"] |= {"msgRateIn": 10, "msgThroughputIn": 16_000_000}
    _, out, _ = explain(shed(case), "--judge-by", "released-4.2")
    told = " ".join(out.split())
    assert f"messages {messages}" in told
    assert "throughput b2 16 MB/s to b1 40 MB/s, 2.5 times as much: not over 4" in told
    assert f"decision {decision}" in told


def test_the_average_is_worked_out_once_for_all_brokers(explain):
    settings = {"loadBalancerBrokerThresholdShedderPercentage": 10}
    _, out, _ = explain(shed(cycle(30, 60, strategy=None, settings=settings)))
    assert "average   (95 + 30) / 2 = 62.5 %" in out
    assert "limit     62.5 + 10 = 72.5 %" in out
    assert "95 - 57.5 = 37.5 points: 37.5 % of 90 MB/s = 33.75 MB/s" in out


@pytest.mark.parametrize("profile", ["documented-3.0", "released-3.0"])
@pytest.mark.parametrize(
    ("strategy", "usages", "told"),
    [
        ("OverloadShedder", (85.0004, 3), "(85.0004 - 85) + 5"),
        ("ThresholdShedder", (45.0004, 30, 30), "45.0004"),
        ("ThresholdShedder", (44.9996, 30, 30), "4.9999"),
    ],
)
def test_a_usage_close_to_its_limit_looks_different(explain, profile, strategy, usages, told):
    brokers = {
        f"b{place}": {"cpu": {"usage": usage, "limit": 100}} for place, usage in enumerate(usages)
    }
    brokers["b0"] |= {"bundles": QUARTERS[:2], "msgThroughputIn": 1e9}
    settings = {
        "loadBalancerBrokerThresholdShedderPercentage": 10,
        "loadBalancerHistoryResourcePercentage": 0,
        "lowerBoundarySheddingEnabled": False,
    }
    case = {"strategy": strategy, "settings": settings, "brokers": brokers, "bundles": {}}
    case["recentlyUnloaded"] = {}
    _, out, _ = explain({"ask": "shed.select", "case": case}, "--judge-by", profile)
    assert told in " ".join(out.split())


def test_why_nothing_is_shed_at_all(explain):
    off = {"loadBalancerSheddingEnabled": False}
    _, out, _ = explain(shed(cycle(30, 60, settings=off)))
    assert "loadBalancerSheddingEnabled is not true: nothing is unloaded" in out
    assert all(name in out for name in QUARTERS[:2])
    case = cycle(30, 60)
    del case["brokers"]["b2"]
    _, out, _ = explain(shed(case))
    assert "there is no other broker: nothing is unloaded" in out


def test_a_setting_can_be_taken_otherwise(explain):
    case = shed(cycle(30, 60, strategy=None))
    threshold = "loadBalancerBrokerThresholdShedderPercentage"
    _, out, _ = explain(case, "--setting", f"{threshold}=10")
    assert f"unload  {QUARTERS[1]} of b1" in out
    _, out, _ = explain(case, "--setting", f"{threshold}=50")
    assert "unload  nothing" in out
    strategy = f"loadBalancerLoadSheddingStrategy={OVERLOAD}"
    _, out, _ = explain(case, "--setting", strategy)
    assert "strategy  OverloadShedder" in out


def test_an_empty_setting_is_left_out(explain):
    threshold = "loadBalancerBrokerOverloadedThresholdPercentage"
    case = shed(cycle(30, 60, settings={threshold: 99}))
    assert "unload  nothing" in explain(case)[1]
    assert "threshold  85 %" in explain(case, "--setting", f"{threshold}=")[1]


def test_a_saved_case_keeps_its_profile_and_readings(explain, tmp_path):
    trial = Trial.of("shed.select", cycle(30, 60))
    about = {"profile": "documented-2.10", "readings": {"overload-amount": "one"}}
    file = tmp_path / saved.save(trial, tmp_path, about)
    _, out, _ = explain(file.read_text("utf-8"))
    assert out.splitlines()[0] == "by documented-2.10, overload-amount=one"
    _, out, _ = explain(file.read_text("utf-8"), "--reading", "overload-amount=margin")
    assert out.splitlines()[0] == "by documented-2.10"
    _, out, _ = explain(file.read_text("utf-8"), "--judge-by", "documented-3.0")
    assert out.splitlines()[0] == "by documented-3.0, overload-amount=one"
    _, out, _ = explain(file.read_text("utf-8"), "--judge-by", "released-3.0")
    assert out.splitlines()[0] == "by released-3.0"
    unused = "overload-amount=one is not used, as released-3.0 does not leave it open"
    assert unused in " ".join(out.split())


CREATE = {"ask": "bundles.create", "case": {"bundles": 2, "settings": {}}}
NIC = {"ask": "usage.nic", "case": {"settings": {}, "nics": [{"reportedGbps": 10}]}}


def test_lines_as_ask_reads_them_are_explained_one_by_one(explain):
    _, out, _ = explain(f"{json.dumps(CREATE)}\n\n{json.dumps(NIC)}\n")
    assert out.index("2^32 / 2") < out.index("case.json, line 3") < out.index("10 Gbit/s")


def test_questions_that_are_asked_together_and_often(explain):
    _, out, _ = explain({"trial": [CREATE, NIC, NIC, NIC]})
    assert "question 1 of 2: bundles.create" in out
    assert "question 2 of 2: usage.nic, asked 3 times" in out
    assert out.count("10 Gbit/s") == 2


def test_standard_input_is_read(monkeypatch, capsys):
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps(NIC).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["explain", "-"]) == 0
    assert "10 Gbit/s" in capsys.readouterr().out


def test_a_bundle_that_is_split_or_not_says_all_that_counts(explain):
    case = {
        "settings": {"loadBalancerNamespaceMaximumBundles": 4},
        "leader": True,
        "brokers": {
            "b1": {
                "bundles": QUARTERS[:3],
                "lastStats": {QUARTERS[0]: {"topics": 1001}, QUARTERS[1]: {"topics": 2000}},
            }
        },
        "bundles": {name: {"longTermData": {"numSamples": 1}} for name in QUARTERS},
        "namespaceBundles": {"shop/eu": 3},
    }
    _, out, _ = explain({"ask": "bundles.split_candidates", "case": case})
    told = " ".join(out.split())
    assert f"{QUARTERS[0]} split: 1001 > 1000 (loadBalancerNamespaceBundleMaxTopics)" in told
    full = (
        "stays whole, as shop/eu has 3 bundles and 1 more from this round, at most 4; 2000 > 1000"
    )
    assert f"{QUARTERS[1]} {full}" in told
    assert f"{QUARTERS[2]} stays whole: its broker reports no statistics of it" in told
    assert out.count("sessions   0, at most 1000") == 2
    case["leader"] = False
    _, out, _ = explain({"ask": "bundles.split_candidates", "case": case})
    assert "only the leader splits: nothing is split" in out


def test_an_example_taken_otherwise_says_that_it_was_not_worked_so(capsys):
    words = ["explain", "--example", "overload-95-over-85-one"]
    assert main([*words, "--reading", "overload-amount=margin"]) == 0
    said = capsys.readouterr().out
    worked = "The answer by hand is different; it assumes overload-amount=one."
    assert worked in " ".join(said.splitlines()[-2:])
    threshold = "loadBalancerBrokerOverloadedThresholdPercentage=99"
    assert main([*words, "--setting", threshold]) == 0
    assert "With these settings, there is no answer by hand." in capsys.readouterr().out


def test_of_steps_only_what_changed_is_said():
    steps = [
        {"owners": {}, "leader": "b1"},
        {"owners": {"t": "b1"}, "leader": "b1", "assigned": [{"bundle": "x", "to": "b1"}]},
        {"owners": {"t": "b1"}, "leader": "b1"},
    ]
    assert list(paper.format_answer({"steps": steps})) == [
        "  steps  1: owners nothing; leader b1",
        "         2: owners t b1; assigned bundle x, to b1",
        "         3: as before",
    ]


def test_one_bundle_or_one_broker_alone(explain):
    case = shed(cycle(30, 60, 10, 20))
    whole = walked(explain(case)[1])
    _, out, _ = explain(case, "--bundle", QUARTERS[0])
    assert walked(out) == [one for one in whole if one[0] == QUARTERS[0]]
    assert "to shed" in out
    _, out, _ = explain(case, "--broker", "b2")
    assert "b2 is not overloaded" in out
    assert not walked(out)
    assert "to shed" not in out
    status, _, err = explain(case, "--bundle", "t/ns/0x00000000_0x00000001")
    assert status == 2
    assert "it contains no bundle t/ns/0x00000000_0x00000001" in err


def test_a_worked_example_is_found_by_its_id_alone(capsys):
    assert main(["explain", "overload-95-over-85"]) == 0
    assert capsys.readouterr().out.startswith("overload-95-over-85: 95 % with a threshold")


def test_a_release_is_compared_with_the_documents_of_its_own_line(capsys):
    reports = "fixtures/reports/three-brokers/modular"
    assert main(["explain", reports, "--release", "4.2.4"]) == 0
    said = capsys.readouterr().out.partition("other decisions about this case")[2]
    assert "documented-4.2  unload shop/eu/0x00000000_0x40000000 of broker-1," in said
    assert "documented-3.0" not in said


@pytest.mark.parametrize(
    ("example", "named"),
    [
        (
            "threshold-40-10-10",
            [
                "10 points (loadBalancerBrokerThresholdShedderPercentage)",
                "5 points (ThresholdShedder.ADDITIONAL_THRESHOLD_PERCENT_MARGIN)",
            ],
        ),
        (
            "overload-95-over-85-no-more",
            [
                "85 % (loadBalancerBrokerOverloadedThresholdPercentage)",
                "5 points (OverloadShedder.ADDITIONAL_THRESHOLD_PERCENT_MARGIN)",
            ],
        ),
        ("uniform-700-and-700", ["0.2 (maxUnloadPercentage)"]),
    ],
)
@pytest.mark.parametrize("profile", ["released-3.0", "released-4.2"])
def test_a_release_names_the_setting_or_constant_of_each_number(capsys, example, named, profile):
    assert main(["explain", "--example", example, "--judge-by", profile]) == 0
    out = capsys.readouterr().out
    assert [one for one in named if one not in out] == []


def test_an_answer_that_is_one_of_several_is_called_the_models(capsys):
    words = ["explain", "--example", "transfer-deviation"]
    assert main(words) == 0
    told = "Others may be right as well. The documents do not say which bundles go"
    assert told in " ".join(capsys.readouterr().out.split())
