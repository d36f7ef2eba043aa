"""If `pulsar-conformance explain` cannot use its input, a sentence says why."""

import json
from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.commands.main import main
from standins.cycles import QUARTERS, cycle, shed

SPECS = specs.load()
REPORTS = Path(fixtures.__file__).parent / "reports"
MODULAR, EXTENSIBLE = REPORTS / "three-brokers" / "modular", REPORTS / "extensible"
CREATE = {"ask": "bundles.create", "case": {"bundles": 2, "settings": {}}}
LEGAL = shed(cycle(30, 60))
GRACE = "loadBalancerSheddingGracePeriodMinutes"

MISTAKES = {
    "not JSON": ("{", (), "case.json: it isn't JSON (Expecting property name"),
    "a bad line": (
        f"{json.dumps(CREATE)}\nnonsense\n",
        (),
        "case.json, line 2: it isn't JSON (Expecting value, line 2, column 1)",
    ),
    "no case": ({"ask": "shed.select"}, (), 'case.json: it is not of the form {"ask": OPERATION'),
    "no operation": (
        {"ask": "shed.selekt", "case": {}},
        (),
        "case.json: shed.selekt is not an operation;",
    ),
    "outside the schema": (
        shed({**cycle(30), "brokers": []}),
        (),
        'case.json: case.brokers: [] is not of type "object"',
    ),
    "an illegal case": (
        shed({**cycle(30), "brokers": {name: {"bundles": QUARTERS[:1]} for name in ("b1", "b2")}}),
        (),
        f"case.json: case.brokers.b2: {QUARTERS[0]} is also owned by b1",
    ),
    "a setting that a reading needs": (
        {
            "ask": "bundles.split",
            "case": {
                "bundle": "0x00000000_0x40000000",
                "algorithm": None,
                "by": "broker",
                "settings": {},
                "topics": [],
                "positions": [],
            },
        },
        ("--judge-by", "documented-2.4", "--reading", "split-key=supported"),
        "bundles.split needs supportedNamespaceBundleSplitAlgorithms",
    ),
    "an unknown setting": (
        LEGAL,
        ("--setting", "loadBalancerSheddingGracePeriod=3"),
        f"loadBalancerSheddingGracePeriod is not a setting; did you mean {GRACE}",
    ),
    "a setting of another type": (
        LEGAL,
        ("--setting", f"{GRACE}=soon"),
        f"{GRACE}=soon: it takes a whole number",
    ),
    "no whole number": (
        LEGAL,
        ("--setting", "loadBalancerSheddingIntervalMinutes=1.5"),
        "loadBalancerSheddingIntervalMinutes=1.5: it takes a whole number",
    ),
    "no switch": (
        LEGAL,
        ("--setting", "loadBalancerSheddingEnabled=yes"),
        "loadBalancerSheddingEnabled=yes: it takes true or false",
    ),
    "no finite number": (LEGAL, ("--setting", f"{GRACE}=1e999"), "it takes a whole number"),
    "out of its range": (
        LEGAL,
        ("--setting", "loadBalancerCPUResourceWeight=2"),
        "loadBalancerCPUResourceWeight=2: it must be between 0 and 1",
    ),
    "no value": (
        LEGAL,
        ("--setting", GRACE),
        f"--setting {GRACE}: write NAME=VALUE, or NAME= to remove it",
    ),
    "two values": (
        LEGAL,
        ("--setting", f"{GRACE}=3", "--setting", f"{GRACE}=5"),
        f"--setting {GRACE}=5: {GRACE} is also given as 3; keep one",
    ),
    "a value and none": (
        LEGAL,
        ("--setting", f"{GRACE}=", "--setting", f"{GRACE}=5"),
        f"--setting {GRACE}=5: {GRACE} is also given without a value; keep one",
    ),
    "what the case says itself": (
        {"ask": "bundles.create", "case": {"bundles": 8, "settings": {}}},
        ("--setting", "defaultNumberOfNamespaceBundles=16"),
        "--setting defaultNumberOfNamespaceBundles: bundles of the case, 8, overrides it; set ",
    ),
    "no settings at all": (
        {"ask": "bundles.locate", "case": {"boundaries": [], "topics": []}},
        ("--setting", f"{GRACE}=3"),
        f"--setting {GRACE}: bundles.locate takes no settings",
    ),
    "an unknown profile": (
        LEGAL,
        ("--judge-by", "documented-9.9"),
        "documented-9.9 is not a profile;",
    ),
    "an unknown reading": (LEGAL, ("--reading", "overload=one"), "overload is not a reading"),
    "a reading without value": (LEGAL, ("--reading", "overload-amount"), "write NAME=VALUE"),
    "a bundle to place in a case": (
        LEGAL,
        ("--place", QUARTERS[0], "--release", "4.2.4"),
        "case.json: --place can be used only for a cluster's reports or metrics; remove it",
    ),
    "bundle data beside a case": (
        LEGAL,
        ("--bundle-data", "data"),
        "case.json: --bundle-data can be used only for a cluster's reports or metrics; remove it",
    ),
    "policies beside a case": (
        LEGAL,
        ("--isolation", "policies.json"),
        "case.json: --isolation can be used only for a cluster's reports or metrics; remove it",
    ),
    "a case and an example": (
        LEGAL,
        ("--example", "overload-86"),
        "give exactly one thing to explain: a CASE.json, a folder of load reports",
    ),
}


@pytest.mark.parametrize(("content", "options", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_in_a_sentence(explain, content, options, says):
    status, out, err = explain(content, *options)
    assert (status, out) == (2, "")
    assert err.startswith("pulsar-conformance: ")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere.json"], "nowhere.json: No such file or directory"),
        ([], "give exactly one thing to explain: a CASE.json, a folder of load reports"),
        (
            ["overload-86", "--topics", "t"],
            "overload-86: --topics can be used only for a cluster's",
        ),
        (
            [str(MODULAR), "--isolation", "a", "--groups", "b"],
            "--isolation, --groups need --place BUNDLE",
        ),
        ([str(MODULAR), "--place", "a", "--topics", "b"], "--place and --topics ask different"),
        (
            [str(EXTENSIBLE), "--bundle-data", "a"],
            f"{EXTENSIBLE}: --bundle-data can be used only for reports of the modular or simple "
            "load manager; remove it",
        ),
        (["--example", "overload-95"], "overload-95 is not a worked example;"),
    ],
)
def test_a_mistake_without_a_case_is_reported_in_a_sentence(
    words, says, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"pulsar-conformance: {says}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [("THRESHOLD-03",), ("--example", "threshold-03")])
def test_the_id_of_a_rule_leads_to_the_command_that_shows_it(capsys, words):
    assert main(["explain", *words]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"{words[-1]} is a rule; see pulsar-conformance rule THRESHOLD-03" in told
