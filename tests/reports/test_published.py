"""Reports of runs: made from a stream, verified, compared, and shown in other forms."""

import copy
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.reports import matrix
from pulsar_conformance.reports.runs import making, requirements
from pulsar_conformance.reports.runs.requirements import checksum
from standins.streams import PUBLISHED, stream_of

ROOT = Path(__file__).parents[2]
OTHERS = [file for file in PUBLISHED if file.parent.name == "others"]
GUIDE = ROOT / "reports" / "site" / "guides" / "released-pulsar.md"
REFERENCE = ROOT / "reports" / "published" / "reference-0.1.0-documented-3.0.json"
RULE = "OVERLOAD-02"
TITLE = specs.load().rules[RULE].title


@pytest.fixture
def report():
    return json.loads(REFERENCE.read_text("utf-8"))


@pytest.fixture
def verified(tmp_path, capsys):
    """Return a function that verifies a report and returns the exit status and the output."""

    def verify(content, *, anew=True):
        rest = {name: value for name, value in content.items() if name != "checksum"}
        sealed = {**content, "checksum": checksum(rest)} if anew else content
        file = tmp_path / "report.json"
        file.write_text(json.dumps(sealed), "utf-8")
        status = main(["report", "verify", str(file)])
        said = capsys.readouterr()
        assert len((said.out + said.err).splitlines()) == 1
        return status, said.out + said.err

    return verify


def line_of(report, rule=RULE):
    return next(line for line in report["verdicts"] if line["rule"] == rule)


def dropped(report):
    report["verdicts"] = [line for line in report["verdicts"] if line["rule"] != RULE]
    report["summary"] = making.count_verdicts(report["verdicts"])


def twice(report):
    report["verdicts"].append(line_of(report))


def stranger(report):
    report["verdicts"].append({**line_of(report), "rule": "OVERLOAD-99"})


FORGED = {
    "a verdict left out": (
        dropped,
        f"it has no verdict on {RULE}, which documented-3.0, version 9",
    ),
    "a verdict twice": (twice, f"it judges {RULE} more than once"),
    "a rule that is none": (
        stranger,
        "it judges OVERLOAD-99, which documented-3.0, version 9 does",
    ),
    "another level": (
        lambda report: line_of(report).update(level="may"),
        f"it gives {RULE} the level may, but the rule's level is must",
    ),
    "a summary that flatters": (
        lambda report: report["summary"].update({"pass": 999}),
        "its summary does not agree with its verdicts",
    ),
    "not what it says of itself": (
        lambda report: report.update(conformant=False),
        "it says conformant: false, but its verdicts say otherwise",
    ),
    "a pass out of nothing": (
        lambda report: line_of(report).update(reached=0),
        f"{RULE} passes although no case reached it",
    ),
    "another requirement set": (
        lambda report: report["requirements"].update(checksum="sha256:" + "0" * 64),
        "its checksum of the requirements differs from that of documented-3.0, version 9",
    ),
    "a version that there is not": (
        lambda report: report["requirements"].update(version=99),
        "documented-3.0 has no version 99; its versions are: 1",
    ),
    "no version": (
        lambda report: report["requirements"].update(version=None),
        "its run used rules of documented-3.0 that are not frozen",
    ),
    "another command": (
        lambda report: report.update(command="pulsar-conformance run --judge-by documented-3.0"),
        "its command does not name reference",
    ),
}


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.stem)
def test_what_is_published_verifies(file, capsys):
    assert main(["report", "verify", str(file)]) == 0
    assert capsys.readouterr().out.startswith(f"{file}: agrees with the rules of")


@pytest.mark.parametrize("file", OTHERS, ids=lambda file: file.stem)
def test_the_guide_explains_each_failure_of_a_release_that_was_not_examined(file):
    report = json.loads(file.read_text("utf-8"))
    version = report["implementation"]["name"].rpartition(" ")[2]
    rows = [line.split("|")[1:] for line in GUIDE.read_text("utf-8").splitlines()]
    [text] = [row[2] for row in rows if row and version in row[0].replace(",", " ").split()]
    named, area = set(), ""
    for prefix, number in re.findall(r"`([A-Z]*)-(\d\d)`", text):
        area = prefix or area
        named.add(f"{area}-{number}")
    of_rule = {line["rule"]: line["verdict"] for line in report["verdicts"]}
    assert not {"error", "unexercised", "unexpected_pass"} & set(of_rule.values())
    assert {rule for rule, verdict in of_rule.items() if verdict == "fail"} <= named


@pytest.mark.parametrize("name", FORGED)
def test_what_was_tampered_with_does_not_verify(name, report, verified):
    """A manipulated report does not verify, even if its checksum is updated."""
    change, told = FORGED[name]
    change(report)
    status, said = verified(report)
    assert status == 1
    assert told in said


def test_a_change_without_a_new_checksum_does_not_verify(report, verified):
    line_of(report)["reached"] += 1
    status, said = verified(report, anew=False)
    assert status == 1
    assert "it was changed after it was created" in said


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda report: report.pop("contact"), "contact is missing"),
        (lambda report: report.update(date="yesterday"), "date: "),
        (lambda report: line_of(report).update(verdict="fine"), '"fine" is not one of pass, fail'),
        (lambda report: report.update(stars=5), "stars"),
    ],
)
def test_another_shape_is_reported_with_its_place(report, verified, change, told):
    change(report)
    status, said = verified(report)
    assert status == 2
    assert told in said


def test_frozen_sets_are_as_they_were_frozen():
    for profile in specs.load().profiles:
        versions = [one.version for one in requirements.frozen_requirements(profile)]
        assert versions == list(range(1, len(versions) + 1))
        for before, after in zip(
            requirements.frozen_requirements(profile),
            requirements.frozen_requirements(profile)[1:],
            strict=False,
        ):
            assert list(after.changes) == list(requirements.requirement_changes(before, after))


def test_a_frozen_set_that_was_changed_is_refused(tmp_path, monkeypatch):
    whole = json.loads((requirements.FOLDER / "documented-3.0-1.json").read_text("utf-8"))
    whole["rules"][RULE]["level"] = "may"
    (tmp_path / "documented-3.0-1.json").write_text(json.dumps(whole))
    monkeypatch.setattr(requirements, "FOLDER", tmp_path)
    with pytest.raises(specs.SpecError, match="changed after it was frozen"):
        requirements.frozen_requirements("documented-3.0")


def test_a_change_makes_a_new_version_with_the_difference(tmp_path, monkeypatch):
    monkeypatch.setattr(requirements, "FOLDER", tmp_path)
    first = requirements.freeze("documented-3.0")
    assert requirements.freeze("documented-3.0") is None
    current = requirements.current_requirements("documented-3.0")
    rules = copy.deepcopy(dict(current.rules))
    rules[RULE]["level"] = "should"
    rules["OVERLOAD-03"]["demand"] = "sha256:0"
    del rules["OVERLOAD-04"]
    rules["OVERLOAD-98"] = {"level": "must", "demand": "sha256:1"}
    changed = requirements.Requirements("documented-3.0", None, rules)
    monkeypatch.setattr(requirements, "current_requirements", lambda profile: changed)
    second = requirements.freeze("documented-3.0")
    assert [first.name, second.name] == ["documented-3.0-1.json", "documented-3.0-2.json"]
    assert json.loads(second.read_text("utf-8"))["changes"] == [
        f"{RULE} has the level should instead of must",
        "OVERLOAD-03 demands something else",
        "OVERLOAD-04 is no longer demanded",
        "OVERLOAD-98 is new",
    ]


def test_what_is_not_frozen_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(requirements, "FOLDER", tmp_path)
    assert main(["report", "freeze", "--check"]) == 1
    assert "documented-3.0, not frozen" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert main(["report", "freeze"]) == 0
    assert main(["report", "freeze", "--check"]) == 0


def test_from_a_run_to_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    report = json.loads(REFERENCE.read_text("utf-8"))
    words = ["--project", "mine", "--contact", "me@example.org", "--date", "2026-01-31"]
    assert main(["report", "make", stream_of(report), *words]) == 0
    assert "conformant" in capsys.readouterr().out
    made = json.loads(Path(REFERENCE.name).read_text("utf-8"))
    assert made["verdicts"] == report["verdicts"]
    assert (made["date"], made["project"]) == ("2026-01-31", {"name": "mine"})


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "it is not a verdict stream; give the verdicts.jsonl"),
        ("nonsense", "it is not a verdict stream, which has JSON in each line"),
        (
            '{"kind": "run", "rules": ["SHED-*"]}',
            "the run judged only SHED-*, but a report is about all",
        ),
        (
            '{"kind": "run", "rules": [], "known_deviations": ["SHED-01 *"]}',
            "the run used known deviations; name their file",
        ),
    ],
)
def test_a_stream_that_makes_no_report_is_reported(content, told, tmp_path, capsys):
    stream = tmp_path / "verdicts.jsonl"
    stream.write_text(content)
    words = ["--project", "mine", "--contact", "me"]
    assert main(["report", "make", str(stream), *words]) == 2
    assert told in capsys.readouterr().err


def test_a_replayed_case_makes_no_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    case = "fixtures/cases/shed.select/1969b24e1ae2.json"
    assert main(["run", "--adapter", "reference", "--replay", case]) in (0, 1)
    assert main(["report", "make", "--project", "mine", "--contact", "me"]) == 2
    assert "the run only replayed a case; repeat it without --replay" in capsys.readouterr().err


def test_a_difference_says_what_became_better_and_worse(report, tmp_path, capsys):
    other = copy.deepcopy(report)
    line_of(other).update(verdict="fail")
    line_of(other, "SHED-01").update(verdict="not_applicable")
    file = tmp_path / "other.json"
    file.write_text(json.dumps(other))
    assert main(["report", "diff", str(REFERENCE), str(file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "worse: 1",
        f"  {RULE}: pass -> FAIL  ({TITLE})",
        "other: 1",
        "  SHED-01: pass -> -  (Nothing is shed when shedding is switched off)",
    ]
    assert main(["report", "diff", str(file), str(REFERENCE)]) == 0
    assert capsys.readouterr().out.startswith(f"better: 1\n  {RULE}: FAIL -> pass  ({TITLE})\n")
    assert main(["report", "diff", str(REFERENCE), str(REFERENCE)]) == 0
    assert capsys.readouterr().out == "no verdict has changed\n"


def test_a_badge_says_how_many_rules_hold(report, capsys):
    holding, applying = report["summary"]["pass"], report["summary"]["pass"]
    assert main(["report", "badge", str(REFERENCE)]) == 0
    svg = ElementTree.fromstring(capsys.readouterr().out)
    assert svg.get("aria-label") == f"conformance: documented-3.0 {holding}/{applying}"
    assert main(["report", "endpoint", str(REFERENCE)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schemaVersion"] == 1
    assert told["message"] == f"documented-3.0 {holding}/{applying}"


def test_junit_has_a_case_a_rule(report, tmp_path, capsys):
    failure = {
        "case_file": "case.json", "size": "1 case", "derivation": ["95 > 85"], "allowed": "<= 3",
        "answered": "4", "again": "pulsar-conformance run",
    }  # fmt: skip
    line_of(report).update(verdict="fail", failure=failure, why="")
    line_of(report, "SHED-01").update(verdict="error", why="it ended \x1b[31mred")  # no XML
    file = tmp_path / "broken.json"
    file.write_text(json.dumps(report))
    assert main(["report", "junit", str(file)]) == 0
    suite = ElementTree.fromstring(capsys.readouterr().out).find("testsuite")
    assert len(suite.findall("testcase")) == int(suite.get("tests")) == len(report["verdicts"])
    [failed] = suite.findall("testcase/failure")
    assert "answered  4" in failed.text
    assert failed.get("message") == "allowed <= 3; answered 4"
    said = [one.get("message") for one in suite.findall("testcase/skipped")]
    assert {one.partition(": ")[0] for one in said} == {"not applicable"}
    assert all(one.partition(": ")[2] for one in said)
    assert (suite.get("failures"), suite.get("errors")) == ("1", "1")
    assert int(suite.get("skipped")) == report["summary"]["not_applicable"]


def test_a_summary_lists_what_does_not_hold(report, tmp_path, capsys):
    line_of(report).update(verdict="known_deviation", why="it waits | for a release")
    report["conformant"] = False
    file = tmp_path / "broken.json"
    file.write_text(json.dumps(report))
    assert main(["report", "summary", str(file)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("## reference 0.1.0 by documented-3.0, version 9 of the requirements\n")
    assert " breaks 1 of " in said
    assert "listed as known." in said
    assert "deviation | it waits \\| for a release |" in said


RELEASES = {
    "released-2.10": "pulsar-2.10.5-documented-2.10",
    "released-3.0": "pulsar-3.0.7-documented-3.0",
    "released-4.0": "pulsar-4.0.7-documented-4.0",
    "released-4.2": "pulsar-4.2.4-documented-4.2",
    "released-5.0": "pulsar-5.0.0-M1-documented-5.0",
}


@pytest.mark.parametrize(("profile", "report"), RELEASES.items())
def test_a_released_profile_pins_the_readings_that_its_release_was_seen_to_follow(profile, report):
    """A released profile pins each default reading that its release was found to follow.

    Otherwise, a forged reading would pass as a reading that the release follows.
    """
    [file] = (one for one in PUBLISHED if one.stem == report)
    found = json.loads(file.read_text("utf-8"))["implementation"]
    known = specs.load()
    pinned, usual = known.profile(profile).readings, known.default_readings(profile)
    seen = {
        name: found["readings"][name]
        for name, how in found["known"].items()
        if how == "found" and found["readings"][name] == usual[name]
    }
    assert "partitions" in seen
    assert seen.items() <= pinned.items()


def test_the_page_of_broken_rules_is_up_to_date():
    assert matrix.release_matrix() == matrix.PAGE.read_text("utf-8")


def test_the_page_names_the_requirement_set_of_each_report(tmp_path):
    def write(version):
        report = {
            "requirements": {"profile": "documented-3.0", "version": version},
            "implementation": {"adapter": "cluster:3.0.7"},
        }
        (tmp_path / "one.json").write_text(json.dumps(report), "utf-8")
        return list(matrix.published_report_lines(tmp_path))[-1]

    newest = requirements.frozen_requirements("documented-3.0")[-1].version
    again = "`nox -s publish -- cluster:3.0.7` |"
    assert write(7).endswith(f"| documented-3.0-7 | documented-3.0-{newest} | {again}")
    assert write(newest).endswith(f"| documented-3.0-{newest} | the same | {again}")


def test_the_page_counts_what_the_readme_says():
    cells = [
        [cell.strip() for cell in line.split("|")[2:-1]]
        for line in matrix.release_matrix().splitlines()
        if line.startswith(("| broken", "| different", "| rules that"))
    ]
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split()).replace("of the", "of")
    broken, reasons, judged = cells
    counts = [f"{one} of {of}" for one, of in zip(broken, judged, strict=True)]
    assert len(counts) == 6
    assert [one for one in counts[2:] if one not in readme] == []
    shown = re.findall(r"for (\d+) reasons|\((\d+)(?: reasons)?\)", readme.partition("## Run")[0])
    assert ["".join(one) for one in shown] == reasons[2:]


def test_the_page_marks_rules_that_fail_for_one_reason():
    page = matrix.release_matrix()
    [row] = [line for line in page.splitlines() if line.startswith("| `THRESHOLD-05`")]
    [letter] = {cell.split()[-1] for cell in row.split("|") if "breaks" in cell}
    [shared] = [line for line in page.splitlines() if line.startswith(f"- <b>{letter}</b>: ")]
    assert "THRESHOLD-05" in shared
    assert "THRESHOLD-19" in shared
    assert "The minimum throughput of an unload" in shared
    [alone] = [line for line in page.splitlines() if line.startswith("| `THRESHOLD-03`")]
    assert not re.search(r"\] [a-z] \|", alone)
