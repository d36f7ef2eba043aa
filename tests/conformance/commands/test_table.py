"""The tables at the end of a run, as users see them in 80 columns."""

import pytest
from pulsar_conformance.reports import table
from rich.cells import cell_len

SAID = {f"{word}:" for word in table.WORDS.values()}
SAMPLES = ("reference 0.1.0", "sample-java 1.0", "sample-javascript 1.0")


def verdict(rule, adapter, profile="documented-3.0", word="pass", **given):
    line = {"rule": rule, "implementation": adapter, "profile": profile, "verdict": word}
    return {**line, "level": "must", "why": "", "reached": 1, "failure": None, **given}


def stream(names, profiles, verdicts):
    """Return the verdict stream of a run in which each adapter is named like its implementation."""
    implementations = [
        {"adapter": name, "profile": profile, "name": name}
        for name in names
        for profile in profiles
    ]
    return [{"profiles": profiles, "implementations": implementations}, *verdicts]


def shown(names, profiles, verdicts):
    found = table.verdict_tables(stream(names, profiles, verdicts))
    told = (place for place, line in enumerate(found) if line.strip().partition(" ")[0] in SAID)
    assert max(map(cell_len, found[: next(told, None)])) <= 80
    assert "…" not in "".join(found)
    return found


def rows(found, area):
    """Return the cells of an area's rows in every table."""
    return [line.split()[1:] for line in found if line.split()[:1] == [area]]


def test_an_error_is_reported_with_what_to_do_next():
    why = "pulsar:4.0.7: start: no cache\n  next: set PULSAR_CONFORMANCE_CACHE\n  its end:\n    x"
    lines = shown(
        ["reference"], ["documented-3.0"], [verdict("USAGE-01", "reference", word="error", why=why)]
    )
    told = " ".join(" ".join(lines).split())
    assert "start: no cache; next: set PULSAR_CONFORMANCE_CACHE" in told
    assert "its end" not in told


def test_a_profile_has_a_table_of_its_own_areas():
    verdicts = [
        verdict(rule, name, profile)
        for name in SAMPLES
        for rule, profile in (
            ("BUNDLE-01", "documented-3.0"),
            ("SHED-01", "documented-3.0"),
            ("BUNDLE-20", "unwritten-3.0"),
        )
    ]
    found = shown(SAMPLES, ["documented-3.0", "unwritten-3.0"], verdicts)
    assert rows(found, "BUNDLE") == [["1", "pass"] * 3] * 2
    assert rows(found, "SHED") == [["1", "pass"] * 3]
    titles = [found.index(f" Judged by {name}") for name in ("documented-3.0", "unwritten-3.0")]
    [shed] = [place for place, line in enumerate(found) if line.split()[:1] == ["SHED"]]
    assert titles[0] < shed < titles[1]


def test_every_name_is_reported_in_full():
    found = shown(SAMPLES, ["documented-3.0"], [verdict("SHED-01", name) for name in SAMPLES])
    for name in SAMPLES:
        assert name in "\n".join(found)


@pytest.mark.parametrize("count", [1, 2, 4, 5, 12])
def test_many_implementations_go_over_several_tables(count):
    names = [f"balancer-{number} 10.{number}.1-SNAPSHOT" for number in range(count)]
    verdicts = [verdict(rule, name) for name in names for rule in ("SHED-01", "OVERLOAD-01")]
    found = shown(names, ["documented-3.0"], verdicts)
    assert sum(map(len, rows(found, "OVERLOAD"))) == 2 * count
    text = " ".join("\n".join(found).split())
    for number in range(count):
        assert f"balancer-{number} " in text
        assert f"10.{number}.1-SNAPSHOT" in text


def test_a_name_that_is_too_long_is_folded_and_whole():
    name = "exec:java -cp /opt/balancer/" + "a" * 60 + ".jar org.example.Main"
    found = shown([name], ["documented-3.0"], [verdict("SHED-01", name, word="error")])
    head = found[found.index(" Judged by documented-3.0") + 2 :]
    folded = "".join(line.removeprefix(" area").strip() for line in head[:10] if "─" not in line)
    assert name.replace(" ", "") in folded.replace(" ", "")


def test_two_of_one_name_are_distinguished():
    lines = stream(["exec:./a", "exec:./b"], ["documented-3.0"], [])
    for one in lines[0]["implementations"]:
        one["name"] = "my-balancer 1"
    lines += [verdict("SHED-01", "exec:./a"), verdict("SHED-01", "exec:./b", word="fail")]
    said = "\n".join(table.verdict_tables(lines))
    assert "exec:./a" in said
    assert "exec:./b" in said


def test_a_cell_says_the_worst_first():
    words = ["pass", "pass", "not_applicable", "known_deviation", "fail", "error", "unexercised"]
    verdicts = [
        verdict(f"SHED-0{number}", "mine", word=word, why=f"why {number}")
        for number, word in enumerate(words, 1)
    ]
    verdicts += [verdict("SPLIT-01", "mine", word="fail", level="should")]
    verdicts += [verdict("USAGE-01", "mine", word="not_applicable")]
    found = shown(["mine"], ["documented-3.0"], verdicts)
    assert rows(found, "SPLIT") == [["1", "warn"]]
    assert rows(found, "USAGE") == [["-"]]
    start = next(place for place, line in enumerate(found) if line.split()[:1] == ["SHED"])
    said = [line.strip().removeprefix("SHED").strip() for line in found[start : start + 3]]
    assert said == ["1 error, 1 FAIL,", "1 deviation,", "1 unexercised, 2 pass"]


def test_numbers_and_nouns_agree():
    [*_, one] = shown(["mine"], ["documented-3.0"], [verdict("SHED-01", "mine")])
    assert one == "1 verdict: 1 pass; 1 case judged"
    both = [verdict("SHED-01", "mine"), verdict("SHED-02", "mine", reached=3)]
    [*_, two] = shown(["mine"], ["documented-3.0"], both)
    assert two == "2 verdicts: 2 pass; 4 cases judged"


@pytest.mark.parametrize(
    ("saved", "shown"),
    [(1, "1 case saved by earlier runs was"), (2, "2 cases saved by earlier runs were")],
)
def test_saved_cases_of_earlier_runs_are_counted(saved, shown):
    judged = [verdict("SHED-01", "mine", saved=1, drawn=100)]
    lines = stream(["mine"], ["documented-3.0"], judged)
    lines[0]["saved_cases"] = ["a", "b"][:saved]
    text = " ".join("\n".join(table.verdict_tables(lines)).split())
    assert text.endswith(f"1 case judged; {shown} asked, too")


def test_what_is_no_pass_has_a_line_with_its_reason():
    failure = {"case_file": ".conformance/cases/shed.select/ab.json"}
    deviation = {"word": "known_deviation", "why": "next release (https://example.org/1)"}
    verdicts = [
        verdict("SHED-01", "mine", word="fail", failure=failure),
        verdict("SHED-02", "mine", failure=failure, **deviation),
        *(verdict(f"USAGE-0{n}", "mine", word="error", why="gone\nlong") for n in (1, 2, 3, 4)),
    ]
    found = table.verdict_tables(stream(["mine"], ["documented-3.0"], verdicts))
    assert found[-3:] == [
        "  FAIL: SHED-01 (mine): .conformance/cases/shed.select/ab.json",
        "  deviation: SHED-02 (mine): next release (https://example.org/1)",
        "  error: USAGE-01, USAGE-02, USAGE-03, USAGE-04 (mine): gone",
    ]
    verdicts += [verdict(f"USAGE-1{n}", "mine", word="error", why="gone") for n in range(3)]
    found = table.verdict_tables(stream(["mine"], ["documented-3.0", "documented-2.10"], verdicts))
    assert " ".join(map(str.strip, found[-2:])) == (
        "error: USAGE-01, USAGE-02, USAGE-03, USAGE-04, USAGE-10 and 2 more (mine, "
        "documented-3.0): gone"
    )


def lacking(rule, name, what):
    return verdict(rule, name, word="not_applicable", why=what)


def test_a_dash_has_its_reason_below_the_table():
    offered = "it does not offer "
    uniform = "org.apache.pulsar.broker.loadbalance.impl.UniformLoadShedder"
    verdicts = [
        verdict("SHED-01", "mine 1"),
        lacking("SHED-02", "mine 1", f"{offered}usage.max"),  # its area has a pass: no dash
        lacking("DATA-01", "mine 1", f"{offered}average.bundle"),
        lacking("DATA-02", "mine 1", f"{offered}average.broker, average.bundle"),
        lacking("UNIFORM-01", "mine 1", f"{offered}{uniform}"),
        lacking("OWN-01", "mine 1", "it follows unload-topic=moves"),
        verdict("SHED-01", "yours 2"),
    ]
    found = shown(["mine 1", "yours 2"], ["documented-3.0"], verdicts)
    told = [line for line in found if line.startswith("  -:") or line.startswith("     ")]
    assert " ".join(" ".join(told).split()) == (
        "-: mine 1: it does not offer UniformLoadShedder, average.broker, average.bundle;"
        " it follows unload-topic=moves"
    )
    assert max(map(cell_len, told)) <= 80


def test_an_open_reading_is_no_reason_where_the_strategy_is_not_offered():
    assumed = "threshold-order is undecided, so any is assumed"
    lacks = lacking("THRESHOLD-01", "mine 1", "it does not offer ThresholdShedder")
    others = [verdict("SHED-01", "mine 1"), lacking("THRESHOLD-12", "mine 1", assumed)]
    told = "\n".join(shown(["mine 1"], ["documented-3.0"], [*others, lacks]))
    assert "-: mine 1: it does not offer ThresholdShedder" in told
    assert assumed not in told
    assert assumed in "\n".join(shown(["mine 1"], ["documented-3.0"], others))


def test_of_many_operations_that_are_not_offered_the_first_are_named():
    offered = "it does not offer " + ", ".join(f"place.p{number}" for number in range(10))
    found = shown(["mine 1"], ["documented-3.0"], [lacking("PLACE-01", "mine 1", offered)])
    assert "place.p6, place.p7 and 2 more" in " ".join(" ".join(found).split())


def test_rules_of_a_judged_area_that_an_assumed_reading_leaves_out_are_named():
    why = "threshold-order is undecided, so any is assumed"
    verdicts = [
        verdict("THRESHOLD-01", "mine"),
        *(
            verdict(f"THRESHOLD-{number}", "mine", word="not_applicable", why=why)
            for number in (12, 13)
        ),
        verdict("SHED-05", "mine", word="not_applicable", why="it follows x=a, not b"),
    ]
    told = " ".join(" ".join(shown(["mine"], ["documented-3.0"], verdicts)).split())
    assert f"not judged: THRESHOLD-12, THRESHOLD-13 (mine): {why}; --reading chooses" in told
    assert "not judged: SHED" not in told


def test_a_long_line_about_a_verdict_is_wrapped():
    failure = {"case_file": ".conformance/cases/shed.select/88103bf2b639.json"}
    name = "pulsar+BusiestShedder 4.0.7"
    failed = verdict("OVERLOAD-02", name, word="fail", failure=failure)
    *_, first, second = table.verdict_tables(stream([name], ["documented-3.0"], [failed]))
    assert first == f"  FAIL: OVERLOAD-02 ({name}):"
    assert second == f"    {failure['case_file']}"


def result(*verdicts):
    names = list(dict.fromkeys(line["implementation"] for line in verdicts))
    return table.result_text(stream(names, ["documented-3.0"], verdicts))


def test_the_result_counts_the_rules_that_apply_and_names_few_broken_ones():
    held = [verdict(f"SHED-0{number}", "mine") for number in range(1, 4)]
    absent = verdict("ANTI-01", "mine", word="not_applicable")
    failed = verdict("SHED-04", "mine", word="fail")
    assert result(*held, absent) == "mine breaks 0 of 3 rules that apply to it"
    assert result(*held, failed) == "mine breaks 1 of 4 rules that apply to it: SHED-04"
    assert result(held[0]) == "mine breaks 0 of 1 rule that applies to it"


def test_the_result_names_five_broken_rules_and_says_how_many_more_there_are():
    failed = [verdict(f"SHED-0{number}", "mine", word="fail") for number in range(1, 8)]
    said = "mine breaks 5 of 5 rules that apply to it: SHED-01, SHED-02, SHED-03, SHED-04, SHED-05"
    assert result(*failed[:5]) == said
    assert result(*failed) == f"{said.replace('5 of 5', '7 of 7')} and 2 more"
    known = verdict("SHED-08", "mine", word="known_deviation")
    assert result(*failed, known).endswith("SHED-05 and 2 more, and 1 listed as known")


def test_the_result_is_wrapped_but_its_count_stays_on_one_line():
    name = "pulsar+AShedderOfMine 4.0.7"
    why = f"{table.ONLY_DOCUMENTED}, not it"
    lines = [verdict("SHED-01", name), lacking("OVERLOAD-02", name, why)]
    first, *rest = table.result_lines(stream([name], ["documented-3.0"], lines))
    assert first.startswith(f"{name} breaks 0 of 1 rule that applies to it; ")
    assert rest
    assert all(line.startswith("  ") and len(line) <= 80 for line in rest)


def test_the_result_says_how_many_broken_rules_are_known_and_how_many_are_not_judged():
    known = [verdict(f"SHED-0{number}", "mine", word="known_deviation") for number in range(1, 6)]
    failed, error = (
        verdict("SHED-06", "mine", word="fail"),
        verdict("SHED-07", "mine", word="error"),
    )
    assert result(*known) == "mine breaks 5 of 5 rules that apply to it, all listed as known"
    expected = "mine breaks 6 of 6 rules that apply to it: SHED-06, and 5 listed as known"
    assert result(*known, failed, error) == f"{expected}; 1 could not be judged"


def test_the_result_says_what_is_not_judged_of_a_strategy_of_your_own():
    why = f"{table.ONLY_DOCUMENTED}, not org.example.NoMargin"
    left_out = {**verdict("OVERLOAD-02", "mine", word="not_applicable"), "why": why}
    said = result(verdict("SHED-01", "mine"), left_out)
    assert said.startswith("mine breaks 0 of 1 rule that applies to it; ")
    assert "amounts, thresholds and order are judged only if its name has as=" in said


def stale(rule, was):
    why = f"{table.LISTED_REASON}{was}: the margin comes with the next release"
    return {**verdict(rule, "mine", word="unexpected_pass"), "why": why}


@pytest.mark.parametrize("was", ["pass", "not applicable"])
def test_a_listed_rule_that_is_not_broken_is_an_unexpected_pass(was):
    lines = stream(["mine"], ["documented-3.0"], [stale("OVERLOAD-02", was)])
    said = " ".join(" ".join(table.verdict_tables(lines)).split())
    assert "1 unexpected pass" in said
    assert f"listed as a known deviation, but {was}" in said
    assert "stale" not in said


def test_the_result_ends_with_what_else_fails_the_run():
    held = verdict("SHED-01", "mine")
    text = "mine breaks 0 of 2 rules that apply to it; "
    said = result(held, stale("OVERLOAD-02", "pass"))
    assert said == (
        f"{text}1 listed deviation no longer occurs: OVERLOAD-02, so the exit status is 1"
    )
    text = "mine breaks 0 of 1 rule that applies to it; "
    said = result(held, stale("OVERLOAD-02", "not applicable"))
    reason = "1 listed deviation is about a rule that does not apply: OVERLOAD-02"
    assert said == f"{text}{reason}, so the exit status is 1"
    unreached = verdict("SHED-02", "mine", word="unexercised")
    said = f"{text}1 rule was reached by no case: SHED-02, so the exit status is 1"
    assert result(held, unreached) == said
    lines = stream(["mine"], ["documented-3.0"], [held, unreached])
    assert table.result_text(lines, enough=False) == text.removesuffix("; ")
    unchosen = ["USAGE-01", "USAGE-01"]
    said = table.result_text(lines, unchosen, enough=False)
    assert (
        said == f"{text}cases break 1 rule that was not chosen: USAGE-01, so the exit status is 1"
    )


def test_the_result_of_broken_rules_needs_no_other_reason_for_the_status():
    failed = verdict("SHED-04", "mine", word="fail")
    said = result(failed, *(stale(f"SHED-1{number}", "pass") for number in range(7)))
    assert said.startswith("mine breaks 1 of 8 rules that apply to it: SHED-04; ")
    assert said.endswith(
        "7 listed deviations no longer occur: SHED-10, SHED-11, SHED-12, SHED-13, SHED-14 "
        "and 2 more"
    )


def test_the_result_of_many_is_one_sentence():
    held = [verdict("SHED-01", name) for name in SAMPLES]
    assert result(*held) == "none of the 3 implementations breaks a rule that applies to it"
    broken = result(held[0], verdict("SHED-01", "mine", word="fail"))
    assert broken == (
        "reference 0.1.0 breaks 0 of 1 rule that applies to it; "
        "mine breaks 1 of 1 rule that applies to it: SHED-01"
    )


def test_neutralized_settings_are_named_in_one_paragraph():
    lines = stream(["pulsar 3.0.7"], ["documented-3.0"], [verdict("SHED-01", "pulsar 3.0.7")])
    settings = {"minUnloadMessage": "0: it hides a rule", "maxUnloadPercentage": "1: so does this"}
    lines[0]["implementations"][0]["neutral"] = settings
    said = " ".join(" ".join(table.verdict_tables(lines)).split())
    named = "minUnloadMessage = 0, maxUnloadPercentage = 1"
    assert f"settings neutralized in pulsar 3.0.7, as no document names them: {named}" in said
