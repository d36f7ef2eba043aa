"""The commands that print rules, readings, profiles, settings and schemas."""

import json

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.protocol import OPERATIONS
from pulsar_conformance.conformance.commands.main import main

EVERY = specs.load()


@pytest.fixture
def said(capsys):
    """Return a function that runs a command, checks the width of the lines, and returns them."""

    def say(*words):
        assert main(words) == 0
        lines = capsys.readouterr().out.splitlines()
        long = [line for line in lines if len(line) > 80]
        assert [line for line in long if max(map(len, line.split())) < 55] == []
        return lines

    return say


def test_every_rule_is_listed_once(said):
    lines = said("rules")
    listed = [line.split()[0] for line in lines[:-1] if not line.startswith(" ")]
    assert listed == list(EVERY.rules)
    assert lines[-1] == f"{len(EVERY.rules)} rules"


def test_rules_are_chosen_by_pattern_and_by_profile(said):
    lines = said("rules", "UNIFORM-*", "BUNDLE-01", "--judge-by", "documented-3.0")
    listed = {line.split()[0] for line in lines[:-1] if not line.startswith(" ")}
    of_it = {rule.id for rule in EVERY.rules_of("documented-3.0") if rule.area == "UNIFORM"}
    assert listed == {*of_it, "BUNDLE-01"}


@pytest.mark.parametrize("rule", EVERY.rules)
def test_a_rule_says_what_it_says_and_where(rule, said):
    text = " ".join(" ".join(said("rule", rule)).split())
    assert " ".join(EVERY.rules[rule].statement.split()) in text
    for source in EVERY.rules[rule].sources:
        assert source.document in text
        assert EVERY.documents[source.document].url in text


def test_profiles_have_so_many_rules(said):
    found = {line.split()[0]: int(line.split()[1]) for line in said("profiles") if line[0] != " "}
    assert found == {
        name: sum(rule.untestable is None for rule in EVERY.rules_of(name))
        for name in EVERY.profiles
    }


def test_readings_mark_what_a_profile_takes(said):
    lines = said("readings", "overload-scope", "--judge-by", "documented-2.10")
    assert [line.split()[1] for line in lines if line.startswith("  * ")] == ["all"]
    named = {
        line.partition(":")[0] for line in said("readings") if line[0] not in " *-" and ":" in line
    }
    assert named == set(EVERY.readings)


def test_readings_compare_several_profiles(said):
    profiles = ("documented-3.0", "documented-4.2", "released-4.2", "documented-3.0")
    options = [word for one in profiles for word in ("--judge-by", one)]
    lines = said("readings", "overload-amount", *options)
    every = lines[lines.index("  every: Every bundle that it may move.") + 1 :]
    assert every == [
        "    allowed by      documented-4.2",
        "    not allowed by  documented-3.0, released-4.2",
        "--reading NAME=VALUE chooses another alternative that is allowed",
    ]
    [margin] = [line for line in lines if line.startswith("    followed by") and "4.2" in line]
    assert margin.split(maxsplit=2)[2] == "documented-3.0, documented-4.2, released-4.2"
    assert "repeat --judge-by PROFILE to compare profiles" in said("readings", "overload-amount")


def test_annotated_settings_say_whether_they_are_dynamic_and_what_replaces_them(said):
    name = "loadBalancerBandwithInResourceWeight"
    lines = said("settings", name, "--judge-by", "documented-4.0")
    assert lines[-2:] == [
        "  dynamic     yes",
        "  deprecated  yes; loadBalancerBandwidthInResourceWeight replaces it",
    ]
    lines = said("settings", "loadBalancerEnabled", "--judge-by", "documented-4.2")
    assert lines[-2:] == [
        "  default  true",
        "  dynamic  no; brokers read it when they start",
    ]
    assert said("settings", name, "--judge-by", "documented-3.0")[-1] == "  default  1.0"


def test_settings_that_only_other_documents_name_are_counted(said):
    listed = [line for line in said("settings", "*") if line and not line.startswith(" ")]
    *_, first, second = named = said("settings", "--judge-by", "documented-3.0")
    shown = [line for line in named[:-2] if line and not line.startswith(" ")]
    assert f"{first} {second}" == (
        f"The documents of documented-3.0 do not name {len(listed) - len(shown)} other settings; "
        "all are listed by pulsar-conformance settings '*'"
    )


def test_settings_have_the_default_of_a_profile(said):
    lines = said("settings", "loadBalancerSheddingEnabled", "--judge-by", "released-3.0")
    assert lines[0] == "loadBalancerSheddingEnabled"
    assert lines[-1].split() == ["default", "true"]
    names = [line for line in said("settings") if line and not line.startswith(" ")]
    assert names[: len(EVERY.settings)] == list(EVERY.settings)


@pytest.mark.parametrize("operation", [*OPERATIONS, "message", "shapes"])
def test_a_schema_can_be_read_by_a_program(operation, capsys):
    assert main(["schema", operation]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["$id"].startswith("urn:pulsar-conformance:")


def test_the_schemas_are_listed(said):
    assert [line.split()[0] for line in said("schema") if line[0] != " "] == [
        *specs.operations(),
        "message",
        "shapes",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("rules", "OVERLAOD-*"),
            "OVERLAOD-* is not a rule or pattern of rules;",
        ),
        (("rules", "shed-*"), "did you mean SHED-*"),
        (("rules", "--judge-by", "documented-3"), "documented-3 is not a profile"),
        (("rule", "OVERLOAD-2"), "did you mean OVERLOAD-12, OVERLOAD-02"),
        (
            ("rule", "SHED-*"),
            "SHED-* is a pattern; see pulsar-conformance rules 'SHED-*'",
        ),
        (("rule", "overload-02"), "did you mean OVERLOAD-02"),
        (("readings", "overload-amont"), "did you mean overload-amount"),
        (("settings", "loadbalancersheddingenabled"), "did you mean loadBalancerSheddingEnabled"),
        (("schema", "shed.selct"), "shed.select"),
    ],
)
def test_a_name_that_there_is_not_is_reported_with_the_nearest(words, told, capsys):
    assert main(words) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert told in written.err
    assert len(written.err.splitlines()) == 1


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("pulsar-conformance ")


def test_a_rule_is_shown_with_the_sources_of_a_profile_and_their_addresses(said, capsys):
    text = "\n".join(said("rule", "OVERLOAD-02", "--judge-by", "documented-3.0"))
    assert "https://pulsar.apache.org/docs/3.0.x/administration-load-balance/" in text
    assert "load-balance-2.10" not in text
    text = "\n".join(said("rule", "THRESHOLD-01", "--judge-by", "documented-4.0"))
    assert "load-balance-4.1 § ThresholdShedder, sentences 1, 3, 4, 5, 10, 11" in text
    assert "load-balance-3.0" not in text
    text = "\n".join(said("rule", "OVERLOAD-02", "--judge-by", "documented-5.0"))
    text = " ".join(text.split())
    assert "no document of documented-5.0 states it; earlier documents do:" in text
    assert "source load-balance-3.0 §" in text
    assert main(["rule", "OVERLOAD-02", "--judge-by", "documented-2.4"]) == 2
    assert "documented-2.4 does not have the rule OVERLOAD-02" in capsys.readouterr().err


def test_a_profile_that_does_not_allow_what_a_rule_judges_is_named(said):
    text = " ".join("\n".join(said("rule", "SHED-08")).split())
    assert "profiles documented-3.0, documented-2.10, documented-4.0, documented-4.2, rel" in text
    assert "does not allow overload-scope=all, so no implementation is judged by it" in text


def test_rules_are_found_by_a_word_of_their_texts(said, capsys):
    lines = said("rules", "Grace")
    assert [line.partition(" ")[0] for line in lines if line.startswith("SHED-1")]
    assert main(["rules", "gracious"]) == 2
    assert "gracious is not a rule or pattern of rules" in capsys.readouterr().err


def test_a_setting_without_a_documented_default_has_that_of_released_pulsar(said):
    text = " ".join(said("settings", "loadBalancerServiceUnitStateMonitorIntervalInSeconds"))
    assert "none is documented; in released Pulsar, 60" in " ".join(text.split())


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (
            "OVERLOAD-02",
            "presupposed USAGE-01 is broken by cluster-2.10.5, cluster-3.0.7, cluster-4.0.7, "
            "cluster-4.2.4, pulsar-2.10.5, pulsar-3.0.7, pulsar-4.0.7, pulsar-4.2.4, "
            "pulsar-5.0.0-M1; a case that breaks both rules counts against USAGE-01, but against "
            "OVERLOAD-02 if an implementation, such as a plug-in, does not offer usage.max",
        ),
        (
            "OVERLOAD-02",
            "reading overload-amount=margin; an implementation that follows another alternative "
            "is not judged by this rule",
        ),
        ("THRESHOLD-07", "presupposed USAGE-02 is broken by cluster-3.0.7, pulsar-3.0.7; a case"),
    ],
)
def test_a_rule_says_why_releases_that_break_it_are_not_listed(rule, told, said):
    assert told in " ".join(" ".join(said("rule", rule)).split())


def test_no_release_that_breaks_a_presupposed_rule_is_called_to_break_the_rule(said):
    lines = said("rule", "OVERLOAD-02")
    assert not [line for line in lines if line.startswith("  broken by")]
