"""An alternative that a profile does not allow is refused, or named as not used, never ignored."""

from dataclasses import replace

import pytest
from pulsar_conformance import answer, specs
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.commands import check
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.implementation import Implementation, connect_for_plan
from pulsar_conformance.conformance.engine.plan import Plan

PROFILES = [one.id for one in specs.load().profiles.values() if one.kind == "documented"]
PLAIN = "placement-score=plain, which is not used: no document allows it; releases follow it; "
CASE = (
    '{"ask": "place.select", "case": {"brokers": {}, "bundles": {}, "owners": {}, "bundle": "t/ns/'
    '0x00000000_0xffffffff"}}'
)


class Declaring(ReferenceConnection):
    def __init__(self, profile, says):
        super().__init__("declaring", profile, {})
        self.hello = replace(self.hello, name="declaring", version="", readings=says)


def closed(profile):
    """Return every alternative that a profile does not allow."""
    known = specs.load()
    return [
        (name, value)
        for name, reading in known.readings.items()
        for value in reading.values
        if value not in known.open_values(profile, name)
    ]


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_declared_in_vain_is_named(profile, monkeypatch):
    assert ("placement-score", "plain") in closed(profile)
    for name, value in closed(profile):
        connection = Declaring(profile, {name: value})
        monkeypatch.setattr(implementations, "connect", lambda *_, to=connection: to)
        monkeypatch.setattr(check, "connect", lambda *_, to=connection: to)
        [note] = Implementation("declaring", profile, {}).notes()
        assert note.startswith(f"declaring, {profile}, declares {name}={value}, which is not used")
        for one in specs.load().open_values(profile, name):
            assert one in note
        said = f"note  by {profile}, declares {name}={value}, which is not used: "
        found = check.check_adapter("declaring", profile, {})
        assert [line for line in found.lines if line.startswith(said)]


def test_why_a_declared_reading_is_not_used(monkeypatch):
    cases = [
        ({"placement-score": "plain"}, {}, PLAIN + "its answers decide between weighted and "),
        ({"split-key": "supported"}, {}, "no document of documented-3.0 allows it; it is judged "),
        (
            {"overload-amount": "one"},
            {"overload-amount": "margin"},
            "judged by overload-amount=mar",
        ),
    ]
    for says, pinned, why in cases:
        monkeypatch.setattr(
            implementations, "connect", lambda *_, to=says: Declaring("documented-3.0", to)
        )
        [note] = Implementation("declaring", "documented-3.0", pinned).notes()
        assert why in note
    known = specs.load()
    assert "settle the point" in known.why_closed(
        "documented-4.2", "uniform-multiplier", "difference"
    )


def test_a_reading_declared_in_vain_does_not_hide_a_listed_one(monkeypatch, tmp_path):
    monkeypatch.setattr(
        implementations,
        "connect",
        lambda *_: Declaring("documented-3.0", {"placement-score": "plain"}),
    )
    listed = tmp_path / "known.yaml"
    listed.write_text(
        "- rule: PLACE-02\n  implementation: declaring\n  reason: Rates are weighted otherwise.\n"
        "  link: https://example.org/1\n  readings: {placement-score: weighted-with-bundle}\n"
    )
    plan = Plan.make(["reference"], ["documented-3.0"], deviations=str(listed))
    assert connect_for_plan(plan, "reference", "documented-3.0").pinned == {
        "placement-score": "weighted-with-bundle"
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_run_and_explain_refuse_the_same_alternatives(profile, explain, capsys):
    for name, value in closed(profile):
        given = ("--judge-by", profile, "--reading", f"{name}={value}")
        assert main(["run", "--adapter", "reference", *given]) == 2
        refused = capsys.readouterr().err
        assert f"{value} is not a value of {name} that {profile} leaves open (" in refused
        status, out, err = explain(CASE, *given)
        assert (status, out, err) == (2, "", refused)


@pytest.mark.parametrize("command", ["ask", "check"])
def test_other_commands_refuse_them_too(command, capsys):
    given = ["reference", "--reading", "placement-score=plain", "--judge-by", "documented-3.0"]
    assert main([command, *given]) == 2
    assert "(no document allows it; releases follow it)" in capsys.readouterr().err
    assert main([command, *given, "--judge-by", "documented-9"]) == 2


def test_python_refuses_them_too():
    with pytest.raises(specs.UnknownName, match="no document allows it"):
        answer("bundles.create", {"bundles": 2}, readings={"placement-score": "plain"})


def test_readings_marks_what_a_profile_does_not_allow(capsys):
    for profile in (*PROFILES, "released-3.0"):
        assert main(["readings", "--judge-by", profile]) == 0
        marked, name = [], ""
        for line in capsys.readouterr().out.splitlines():
            name = name if line.startswith(" ") else line.partition(":")[0]
            if line.startswith("  - "):
                marked.append((name, line.split()[1]))
        assert marked == closed(profile)


def test_an_example_says_that_no_document_allows_its_reading(explain, capsys):
    assert main(["explain", "place-plain"]) == 0
    assert "placement-score=plain: no document allows it" in capsys.readouterr().out
    assert main(["explain", "place-three-ways-weighted"]) == 0
    assert "no document" not in capsys.readouterr().out
