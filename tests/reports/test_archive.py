"""The archive of cases: whole, the same each time, and usable without the suite."""

import hashlib
import json
import subprocess
import sys

import jsonschema
import pytest
from pulsar_conformance import specs
from pulsar_conformance.fixtures import examples
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
            if cited:
                assert list(dict.fromkeys(cited)) == known.sources_of(rule, profile)
            else:
                assert rule.why


def test_the_checksum_is_that_of_the_archive(unpacked):
    file, _ = unpacked
    digest, name = file.with_suffix(".gz.sha256").read_text("utf-8").split()
    assert (digest, name) == (hashlib.sha256(file.read_bytes()).hexdigest(), file.name)
