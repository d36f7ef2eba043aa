"""The archive of cases is complete, reproducible, and usable without the suite."""

import hashlib
import json
import subprocess
import sys

import jsonschema
import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import example_allows, matches
from pulsar_conformance.fixtures import examples
from pulsar_conformance.reference import Model
from pulsar_conformance.reports import archive
from referencing import Registry, Resource


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    to = tmp_path_factory.mktemp("archive")
    written = [sys.executable, "-m", archive.__name__, "--to", str(to)]
    subprocess.run(written, check=True, capture_output=True)
    [file] = to.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", str(file), "-C", str(to)], check=True)
    return file, to / file.name.removesuffix(".tar.gz")


def test_the_index_names_every_case(unpacked):
    _, folder = unpacked
    index = json.loads((folder / "index.json").read_text("utf-8"))
    assert [one["id"] for one in index["cases"]] == [one.id for one in examples()]
    for one in index["cases"]:
        case = json.loads((folder / one["file"]).read_text("utf-8"))
        assert case["id"] == one["id"]
        assert (case["allowed"] is not None) == one["judged"]
        assert all(len(answers) == len(case["questions"]) for answers in case["allowed"] or ())


def test_cases_and_answers_keep_the_schemas_in_the_archive(unpacked):
    _, folder = unpacked
    schemas = [json.loads(file.read_text("utf-8")) for file in folder.glob("schemas/**/*.json")]
    registry = Registry().with_resources(
        (one["$id"], Resource.from_contents(one)) for one in schemas
    )

    def valid(operation, part, value):
        reference = {"$ref": f"urn:pulsar-conformance:operations:{operation}#/$defs/{part}"}
        jsonschema.Draft202012Validator(reference, registry=registry).validate(value)

    for file in sorted(folder.glob("cases/*/*.json"))[::10]:
        case = json.loads(file.read_text("utf-8"))
        for number, question in enumerate(case["questions"]):
            valid(question["ask"], "case", question["case"])
            for answers in case["allowed"] or ():
                valid(question["ask"], "answer", answers[number])


def test_the_index_names_what_can_be_chosen(unpacked):
    _, folder = unpacked
    index = json.loads((folder / "index.json").read_text("utf-8"))
    known = specs.load()
    assert index["profiles"] == list(known.profiles)
    assert index["readings"]["overload-amount"] == list(known.readings["overload-amount"].values)
    assert "shed.select" in index["operations"]
    assert {"OverloadShedder", "ThresholdShedder", "UniformLoadShedder"} < {*index["strategies"]}


def shed_by(strategy, profile, folder):
    cases = (json.loads(file.read_text("utf-8")) for file in folder.glob("cases/shed.select/*"))
    return [
        one["id"]
        for one in cases
        if profile in one["profiles"]
        and one["allowed"]
        and all(f".{strategy}" in str(asked["case"]["strategy"]) for asked in one["questions"])
    ]


@pytest.mark.parametrize("profile", ["documented-4.0", "documented-4.2", "documented-5.0"])
def test_later_documents_keep_the_examples_of_rules_that_still_stand(profile, unpacked):
    _, folder = unpacked
    assert len(shed_by("OverloadShedder", profile, folder)) > 30
    assert len(shed_by("ThresholdShedder", profile, folder)) > 20
    uniform = shed_by("UniformLoadShedder", profile, folder)
    assert len(uniform) > 5
    assert "uniform-700-and-700" not in uniform, "since 4.0, annotations limit what is moved"


def test_an_example_holds_where_the_documents_give_an_allowed_answer(unpacked):
    _, folder = unpacked
    judged = [one for one in examples() if one.required_answers is not None]
    for example in judged[::7]:
        [file] = folder.glob(f"cases/*/{example.id}.json")
        for profile in json.loads(file.read_text("utf-8"))["profiles"]:
            model = Model(profile, example.readings)
            assert example_allows(example, [model.answer(*one) for one in example.questions]), (
                profile
            )


def test_simple_wrong_answers_to_an_example_that_only_rules_judge_are_refuted(unpacked):
    _, folder = unpacked

    def of(name):
        return json.loads((folder / f"cases/shed.select/{name}.json").read_text("utf-8"))

    assert of("threshold-80-and-0-on")["refuted"] == [[{"unload": []}]]
    enough = of("threshold-boundary-enough")["refuted"]
    assert {len(answer["unload"]) for [answer] in enough} == {0, 1, 5}, "any two are enough"
    assert of("answer-the-same-cycle-twice")["refuted"] == []
    assert "open but for the readings" in of("threshold-80-and-0-on")["judged_by_rules"]
    assert "refuted" not in of("threshold-40-10-10")


def test_what_the_model_answers_is_not_refuted():
    judged = [one for one in examples() if one.required_answers is None]
    for example in judged:
        profiles = [one for one in specs.load().profiles if archive.holds_example(example, one)]
        refuted = archive.refuted_answers(example, profiles)
        for profile in profiles if refuted else ():
            model = Model(profile, example.readings)
            [answer] = [model.answer(*one) for one in example.questions]
            operation = example.questions[0][0]
            assert not any(matches(operation, one, answer) for one in refuted), example.id


def test_an_example_does_not_hold_where_its_settings_have_no_default(unpacked):
    """The documents of 2.10 have the rule, but no defaults of the weights."""
    _, folder = unpacked
    [file] = folder.glob("cases/*/usage-weights-not-set.json")
    profiles = json.loads(file.read_text("utf-8"))["profiles"]
    assert "documented-3.0" in profiles
    assert "documented-2.10" not in profiles


def test_an_example_does_not_hold_where_documents_contradict_its_reading():
    [example] = [one for one in examples() if one.id == "threshold-80-and-70-average-minus-10"]
    assert archive.holds_example(example, "documented-3.0")
    assert not archive.holds_example(example, "documented-4.0"), (
        "an annotation settles the boundary"
    )


def test_sources_are_cited_under_the_profiles_of_their_documents(unpacked):
    _, folder = unpacked
    rules = json.loads((folder / "rules.json").read_text("utf-8"))
    known = specs.load()
    for profile in ("documented-2.10", "documented-3.0", "documented-4.2"):
        for rule in known.rules_of(profile):
            cited = [
                f"{one['document']} § {one['section']}"
                for one in rules[rule.id]["sources"]
                if profile in one["profiles"]
            ]
            if cited and profile == "documented-4.2":  # It may repeat sentences of 3.0.
                documents = {*known.documents_of(profile), "load-balance-3.0"}
                assert {one.partition(" ")[0] for one in cited} <= documents
            elif cited:
                assert list(dict.fromkeys(cited)) == known.sources_of(rule, profile)
            else:
                assert rule.why


def test_the_checksum_is_that_of_the_archive(unpacked):
    file, _ = unpacked
    digest, name = file.with_suffix(".gz.sha256").read_text("utf-8").split()
    assert (digest, name) == (hashlib.sha256(file.read_bytes()).hexdigest(), file.name)
