"""The site's sources: every page exists, every link leads to a page, pictures have alt texts."""

import json
import re
import zipfile
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path, PurePosixPath
from posixpath import normpath

import pulsar_conformance
import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.fixtures import examples
from pulsar_conformance.reports.pages.making import ShownExample
from pulsar_conformance.reports.pages.outcomes import DerivedExample
from pulsar_conformance.reports.site import mutants, shapes, subjects, vendored
from pulsar_conformance.reports.site.pictures import pictures
from pulsar_conformance.reports.site.results import (
    deviations,
    deviations_by_release,
    results,
    version_steps,
)
from pulsar_conformance.specs.text import anchor as anchor_of
from standins.built_site import site, site_pages

HERE = Path(vendored.__file__).parent
EVERY = specs.load()
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+\.md)(?:#([^)\s]+))?\)")
RAW = re.compile(r'href="([^"#:]+)\.html')


@pytest.fixture(scope="module")
def pages():
    return site_pages()


def test_there_is_a_page_for_everything(pages):
    expected = {f"rules/{rule}.md" for rule in EVERY.rules}
    expected |= {f"documents/{document}.md" for document in EVERY.documents}
    expected |= {f"implementations/{one.slug}.md" for one in results()}
    expected |= {f"changes/{older}-to-{newer}.md" for older, newer in pairwise(releases())}
    assert expected - set(pages) == set()


def test_the_matrix_is_filtered_by_the_verdicts_that_occur(pages):
    text = pages["matrix.md"]
    offered = re.search(r'name="verdict">(.*?)</select>', text)[1]
    occurring = set(re.findall(r'data-verdict="(\w+)"', text))
    assert set(re.findall(r'value="(\w+)"', offered)) == occurring


def test_every_page_in_the_navigation_is_there(pages):
    named = re.findall(r'"(\S+\.md)"', site().configuration())
    assert len(named) > 200
    assert [name for name in named if name not in pages] == []


def test_every_link_leads_to_a_page(pages):
    wrong = []
    for name, text in pages.items():
        folder = PurePosixPath(name).parent.as_posix()
        linked = [link for link, _ in LINK.findall(text)]
        linked += [f"{link}.md" for link in RAW.findall(text)]
        wrong += [(name, link) for link in linked if normpath(f"{folder}/{link}") not in pages]
    assert wrong == []


@pytest.mark.parametrize("rule", ["OVERLOAD-02", "SPLIT-01", "BUNDLE-04"])
def test_a_rule_says_what_it_says_and_what_came_of_it(rule, pages):
    text = pages[f"rules/{rule}.md"]
    assert " ".join(EVERY.rules[rule].statement.split()) in " ".join(text.split())
    for one in results():
        if rule in one.verdicts:
            assert f"[{one.name}](../implementations/{one.slug}.md)" in text
    for example in examples():
        if rule in example.rules:
            assert f'id="{example.id}"' in text
            assert "\n".join(example.arithmetic) in text


def test_a_rule_names_the_defects_that_it_finds(pages):
    assert "The smallest is taken for the largest." in pages["rules/USAGE-01.md"]
    assert pages["rules/USAGE-01.md"].count("# becomes") == len(
        mutants.seeded_defects()["USAGE-01"]
    )
    without = next(rule for rule in specs.load().rules if rule not in mutants.seeded_defects())
    if without not in mutants.killed_mutants():
        assert "## Mutants it finds" not in pages[f"rules/{without}.md"]


def test_the_published_table_of_mutants_is_read_by_rule(tmp_path):
    fates = [
        {"id": "usage.py:9 max", "was": "max", "becomes": "min", "verdict": "killed", "rule": "A"},
        {"id": "usage.py:9 any", "was": "1", "becomes": "2", "verdict": "explained", "rule": ""},
    ]
    table = tmp_path / "mutants.jsonl"
    table.write_text("".join(f"{json.dumps(fate)}\n" for fate in fates))
    assert mutants.killed_mutants(table) == {
        "A": [mutants.SourceChange("usage.py:9 max", "max", "min")]
    }
    assert mutants.killed_mutants(tmp_path / "none.jsonl") == {}


def test_a_deviation_stands_with_its_rule_and_with_its_release(pages):
    assert deviations()
    for rule, listed in deviations().items():
        for one in listed:
            page = f"deviations/{one.file.replace('.', '-')}.md"
            assert f"[{one.implementation}](../{page}#{rule})" in pages[f"rules/{rule}.md"]
            assert f'id="{rule}"' in pages[page]
            assert f"]({page})" in pages["deviations.md"]


def test_the_command_of_a_deviation_chooses_its_rule_or_the_page_names_another(pages):
    others = set()
    for file, listed in deviations_by_release().items():
        text = pages[f"deviations/{file.replace('.', '-')}.md"]
        for one in listed:
            rule = one.entry["rule"]
            for replay in one.replays:
                assert replay.command in text
                assert replay.explanation in text
                judged = replay.command.partition("--judge-by ")[2].partition(" ")[0]
                documents = judged or releases()[re.search(r"\d.*", file)[0]].documents
                assert f"{replay.case} --judge-by {documents}" in replay.explanation
                if replay.rule == rule:
                    assert f"--rules {rule} --replay {replay.case}" in replay.command
                else:
                    others.add((rule, replay.rule))
                    assert f"fails [{replay.rule}]" in text
    assert others == {("SPLIT-13", "SPLIT-12")}  # positions, and SPLIT-13 is about other algorithms


def test_rules_of_no_document_are_counted_apart(pages):
    for file, listed in deviations_by_release().items():
        outside = [one.entry["rule"] for one in listed if not one.documented]
        row = next(line for line in pages["deviations.md"].splitlines() if f"[{file}]" in line)
        assert row.endswith(f"| {len(listed) - len(outside)} | {len(outside)} |")
        assert "ANSWER-05" in outside or file.startswith("cluster"), file
    assert "rules that none of them states" in pages["deviations.md"]


def test_each_number_of_rules_and_sentences_says_what_it_counts(pages):
    judged = {rule for one in results() for rule in one.verdicts}
    every, stated = len(EVERY.rules), sum(bool(one.sources) for one in EVERY.rules.values())
    assert f"Of all {every} rules, the table has the {len(judged)} that" in pages["matrix.md"]
    assert f"{every} rules of all profiles together" in pages["rules/index.md"]
    front = " ".join(pages["index.md"].split())
    counted = {
        one.sha256
        for document in EVERY.documents.values()
        for section in document.sections
        for one in section.sentences
    }
    assert f"{stated} of the rules are stated by" in front
    assert f"of its {len(counted)} sentences and annotations" in front
    assert f"no document states the other {every - stated}" in front


def test_a_report_says_why_saved_cases_were_asked(pages):
    for one in results():
        said = "These are cases of earlier runs" in pages[f"implementations/{one.slug}.md"]
        assert said == any(line["saved"] for line in one.verdicts.values())


class Cells(HTMLParser):
    """Parser that counts the rows and the verdicts of the matrix."""

    def __init__(self):
        super().__init__()
        self.rows, self.verdicts = 0, []

    def handle_starttag(self, tag, attrs):
        self.rows += tag == "tr" and "data-area" in dict(attrs)
        if "data-verdict" in dict(attrs):
            self.verdicts.append(dict(attrs)["data-verdict"])


def test_the_matrix_has_a_verdict_for_each_rule_and_report(pages):
    found = Cells()
    found.feed(pages["matrix.md"])
    judged = {rule for one in results() for rule in one.verdicts}
    assert found.rows == len(judged)
    expected = [one.word(rule) for rule in EVERY.rules if rule in judged for one in results()]
    assert found.verdicts == expected


def test_versions_stand_in_their_order_with_what_changed(pages, tmp_path):
    for version, usage in (("2.10.5", "pass"), ("2.4.2", "fail")):
        lines = [("USAGE-01", usage), ("SPLIT-01", "pass")]
        verdicts = [{"rule": rule, "verdict": one, "level": "must"} for rule, one in lines]
        report = {"implementation": {"name": f"pulsar {version}"}, "verdicts": verdicts}
        (tmp_path / f"pulsar-{version}.json").write_text(json.dumps(report))
    older, newer = results(tmp_path)
    assert (older.name, newer.name) == ("pulsar 2.4.2", "pulsar 2.10.5")
    [step] = version_steps([older, newer])
    [better] = map(str, step.changes["better"])
    assert better == f"USAGE-01: FAIL -> pass  ({EVERY.rules['USAGE-01'].title})"
    assert step.changes["worse"] == []
    text = pages["implementations/index.md"]
    for one in version_steps(results()):
        assert f"| {one.before.name} | {one.after.name} | " in text


def test_a_document_maps_each_sentence_to_its_rules(pages):
    for document in EVERY.documents.values():
        text = pages[f"documents/{document.id}.md"]
        claims = subjects.claims_by_section(document.id)
        for section in document.sections:
            for sentence in section.sentences:
                anchor = f"{anchor_of(section.title) or 'start'}-{sentence.number}"
                row = next(line for line in text.splitlines() if f'<span id="{anchor}">' in line)
                rules = re.findall(r"\[([A-Z]+-\d+)\]", row)
                assert set(claims.get((section.title, sentence.number), ())) <= set(rules)


def test_the_protocol_shows_an_exchange_of_every_operation(pages):
    text = pages["reference/protocol.md"]
    for operation in specs.operations():
        assert f'"ask": "{operation}"' in text
        assert f"## {operation} " in text


def test_the_protocol_explains_every_shape_that_it_names(pages):
    text = pages["reference/protocol.md"]
    for anchor in set(re.findall(r"\]\(#(shape-[^)]+)\)", text)):
        assert f'<span id="{anchor}">' in text or f"{{ #{anchor} }}" in text
    for name in specs.schema("shapes")["$defs"]["broker"]["properties"]:
        assert f"| `{name}` (may be left out) |" in text
    assert "| `unload[].bundle` | [bundleName](#shape-bundleName) |" in text
    assert "| `strategies` (may be left out) | list of string |" in text


def test_an_exchange_is_written_in_few_lines_and_says_the_same():
    value = {"one": [1, {"two": []}], "long": ["x" * 50, "y" * 50], "null": None}
    text = shapes.format_json(value)
    assert json.loads(text) == value
    assert text.splitlines()[1] == '  "one": [1, {"two": []}],'
    assert len(text.splitlines()) == 8


def drawn(name):
    example = next(one for one in examples() if one.id == name)
    return "".join(pictures(ShownExample(DerivedExample.of(example))))


def test_usage_is_drawn_against_average_and_limit():
    said = drawn("shed-threshold-busiest-first")
    assert "b1 is at 95 % and sheds 1; b2 is at 30 %" in said
    assert "average 62.5 %; limit 72.5 %" in said
    assert said.count('class="pc-over"') == 1


def test_a_threshold_of_each_broker_is_drawn():
    said = drawn("overload-95-over-85")
    assert "b1 is at 95 %" in said
    assert "threshold 85 %" in said
    assert said.count('class="pc-over"') == 1


def test_ranges_are_drawn_before_and_after_a_split():
    example = next(
        one
        for one in examples()
        if one.questions[0][0] == "bundles.split" and one.allowed and "bundles" in one.allowed[0][0]
    )
    said = drawn(example.id)
    low, high = example.questions[0][1]["bundle"].split("_")
    assert f"before: {low} to {high}" in said
    assert said.count("<rect") == 1 + len(example.allowed[0][0]["bundles"])


def test_a_story_is_drawn_along_its_minutes():
    example = next(one for one in examples() if one.questions[0][0] == "cluster.replay")
    assert "Time line of " in drawn(example.id)


def test_the_table_of_a_group_is_filled_step_by_step():
    first, second, third = (drawn(f"anti-table-row-{row}") for row in (1, 2, 3))
    assert first.count('class="pc-open"') == 4
    assert "Domain1, Broker1: none" in first
    assert "Domain1, Broker1: Namespace1; Domain1, Broker2: none" in second
    assert "Namespace2 may go to Broker3, Broker4." in second
    assert (second.count('class="pc-other"'), second.count('class="pc-open"')) == (1, 2)
    assert (third.count('class="pc-other"'), third.count('class="pc-open"')) == (2, 2)


def test_deviations_stand_in_the_order_of_versions(pages):
    titles = re.findall(r"\[pulsar-([^\]]+)\]\(deviations/\S+\)</span>", pages["deviations.md"])
    assert titles.index("2.4.2") < titles.index("2.10.5") < titles.index("3.0.7")
    assert len(titles) == len(set(titles)) >= 6


def test_what_is_drawn_is_well_formed():
    for example in examples():
        for picture in pictures(ShownExample(DerivedExample.of(example))):
            assert picture.startswith("<figure><svg ")
            assert "nan" not in picture
            assert picture.count("<text") == picture.count("</text>")


def test_the_playground_has_the_model_and_the_examples(tmp_path):
    vendored.write_model(tmp_path)
    with zipfile.ZipFile(tmp_path / vendored.MODEL) as archive:
        names = set(archive.namelist())
    assert {"yaml.py", "specs.pickle", "pulsar_conformance/reference/model.py"} <= names
    assert "pulsar_conformance/audit/simulation/worlds.yaml" in names
    listed = json.loads((tmp_path / vendored.EXAMPLES).read_text("utf-8"))
    assert [one["id"] for one in listed] == [one.id for one in examples()]


PLAYGROUND = """
import json, sys
sys.modules["jsonschema_rs"] = sys.modules["jsonschema"] = None
sys.path.insert(0, sys.argv[1])
exec(open(sys.argv[2]).read())
for line in sys.stdin:
    print(simulate(line) if '"loop"' in line else answer(line))
"""
LOOP = {
    "world": "ninety-ten",
    "strategy": "ThresholdShedder",
    "placing": "least-used",
    "cycles": 3,
    "settings": "loadBalancerHistoryResourcePercentage = 0",
}


def test_the_playground_answers_without_compiled_validators(tmp_path):
    """As in a browser, only the archive and the standard library are available."""
    import subprocess
    import sys

    vendored.write_model(tmp_path)
    listed = json.loads((tmp_path / vendored.EXAMPLES).read_text("utf-8"))
    simulation = {"profile": "released-3.0", "ask": "", "case": {}, "loop": LOOP, "first": 0}
    words = [sys.executable, "-S", "-c", PLAYGROUND, str(tmp_path / vendored.MODEL)]
    with zipfile.ZipFile(tmp_path / vendored.MODEL) as archive:
        archive.extractall(tmp_path / "model")
    words[-1] = str(tmp_path / "model")
    done = subprocess.run(
        [*words, str(HERE / "assets" / "playground.py")],
        input="".join(f"{json.dumps(one)}\n" for one in [*listed, simulation]),
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ""},
    )
    *said, simulated = [json.loads(line) for line in done.stdout.splitlines()]
    # As in test_simulation.py: 3.0.7 sheds four bundles of 9 %, and is at rest.
    assert [len(one["moves"]) for one in simulated["cycles"]] == [4, 0, 0]
    assert simulated["cycles"][1]["usage"] == {"broker-1": 54, "broker-2": 46}
    assert (simulated["table"]["unloads"], simulated["faults"]) == ("4", [])
    assert len(said) == len(listed)
    for asked, answered in zip(listed, said, strict=True):
        example = next(one for one in examples() if one.id == asked["id"])
        if example.allowed and len(example.questions) == 1:
            assert "answer" in answered, (asked["id"], answered)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"ask": "shed.selct", "case": {}}, "shed.selct is not an operation"),
        ({"ask": "shed.select", "case": {}}, 'case: "strategy" is a required property'),
        (
            {"ask": "usage.nic", "case": {"settings": {}, "nics": [{}]}},
            'case.nics[0]: "reportedGbps" is a required property',
        ),
        ({"ask": "shed.select"}, '{"ask": OPERATION, "case": {...}}: it has no "case"'),
        ({}, 'it has no "ask" and no "case"'),
        ({"ask": "shed.select", "case": []}, "the model cannot read the case"),
        (
            {"loop": {**LOOP, "world": ""}, "ask": "shed.select", "case": {"brokers": {}}},
            'case: "strategy" is a required property',
        ),
        ({"loop": {**LOOP, "cycles": 501}}, "501 cycles: the page simulates 1 to 500"),
        ({"loop": {**LOOP, "settings": "x=1"}}, "x is not a setting"),
        ({"loop": {**LOOP, "world": ""}, "ask": "usage.max"}, "only a case of shed.select can be"),
    ],
)
def test_the_playground_reports_a_mistake_in_a_sentence(asked, told):
    names = {}
    exec((HERE / "assets" / "playground.py").read_text("utf-8"), names)
    call = names["simulate" if "loop" in asked else "answer"]
    said = json.loads(call(json.dumps({"profile": "documented-3.0", "first": 0, **asked})))
    assert told in said["wrong"]


def test_the_public_names_of_the_package_are_described(pages):
    text = pages["reference/python.md"]
    assert 'cases(operation: str, profile: str = "documented-3.0")' in text.replace("'", '"')
    for name in pulsar_conformance.__all__:
        assert f"\n## {name}\n" in text
    assert "pulsar_conformance." not in text
