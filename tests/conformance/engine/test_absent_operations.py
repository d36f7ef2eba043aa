"""An implementation says why it does not offer an operation, and the verdicts repeat it."""

from pulsar_conformance import specs
from pulsar_conformance.adapters.protocol import Hello
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.run import why_no_example_is_asked

PROFILE = "documented-4.2"
WHY = "a timer decides"


def without(name, monkeypatch, **more):
    """Return the reference without an operation; `more` is added to its hello message."""
    connection = ReferenceConnection("reference", PROFILE, {})
    offered = [one for one in connection.hello.operations if one != name]
    answer = {"protocol": 1, "name": "mine", "operations": offered, **more}
    connection.hello = Hello.of(answer)
    monkeypatch.setattr(implementations, "connect", lambda *_: connection)
    return Implementation("reference", PROFILE, {})


def test_the_reason_for_an_operation_that_is_not_offered_is_repeated(monkeypatch):
    rule = specs.load().rules["REPORT-14"]
    said = without("report.due", monkeypatch, absent={"report.due": WHY}).why_not_offered(rule)
    assert said == f"report.due is not offered: {WHY}"


def test_an_operation_may_be_left_out_without_a_reason(monkeypatch):
    rule = specs.load().rules["REPORT-14"]
    said = without("report.due", monkeypatch, absent={"channel.apply": WHY}).why_not_offered(rule)
    assert said == "it does not offer report.due"


def test_a_rule_of_a_strategy_that_is_not_offered_waits_for_no_reading(monkeypatch):
    mine = without("usage.max", monkeypatch, strategies=["ThresholdShedder"])
    rules = specs.load().rules
    found = why_no_example_is_asked(rules["OVERLOAD-05"], mine)
    assert found is not None
    assert found.startswith("it does not offer ")
    assert found.endswith("OverloadShedder")
    assert why_no_example_is_asked(rules["THRESHOLD-12"], mine) is None
