"""A fault by one alternative of a reading alone is undecided until a reading is chosen."""

import json

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance import specs
from pulsar_conformance.conformance.commands.main import main
from standins.sparks import CORES, spark
from standins.written_histories import histories, lines

pytestmark = pytest.mark.spark

assert spark

PROFILE = "documented-3.0"
WRONG = ("violated", "not done though due")
OPEN = {
    name: part
    for name, profile, part in histories()
    if name.startswith("reading-") and profile == PROFILE
}
"""The histories by documents of 3.0 in which a fault depends on a reading, or on none."""

AT_LIMIT, TOO_LITTLE = "reading-trigger-at-the-limit", "reading-amount-one-too-little"


def chosen(*left_open):
    """Return options that choose the default of each reading, except of some."""
    readings = specs.load().default_readings(PROFILE)
    pairs = [f"{name}={readings[name]}" for name in readings if name not in left_open]
    return [word for pair in pairs for word in ("--reading", pair)]


def test_of_chosen_readings_the_default_accuses(spark, tmp_path, capsys):
    every = [line for name, part in OPEN.items() for line in lines(part, name)]
    (tmp_path / "history.json").write_text("\n".join(every) + "\n")
    words = ["audit", "--input", str(tmp_path / "history.json"), "--output", str(tmp_path / "out")]
    words += ["--spark", CORES, "--judge-by", PROFILE, *chosen()]
    assert main(words) == 1
    assert "OVERLOAD-04 violated" in capsys.readouterr().out
    rows = spark.session.read.parquet(str(tmp_path / "out" / "verdicts")).collect()
    accused = {(row["cluster"], row["rule"]) for row in rows if row["verdict"] in WRONG}
    expected = {
        (name, rule)
        for name, part in OPEN.items()
        for which in ("open", "accuse")
        for rule in part.get(which, {}).get(5, ())
    }
    assert expected <= accused
    assert not [row for row in rows if "the documents leave open" in row["evidence"]]


def test_the_report_names_the_reading_and_the_option_decides(spark, tmp_path, capsys):
    every = [line for name in (AT_LIMIT, TOO_LITTLE) for line in lines(OPEN[name], name)]
    (tmp_path / "history.json").write_text("\n".join(every) + "\n")
    words = ["audit", "--input", str(tmp_path / "history.json"), "--output", str(tmp_path / "out")]
    words += [
        "--spark",
        CORES,
        "--judge-by",
        PROFILE,
        *chosen("overload-trigger", "overload-amount"),
    ]
    assert main([*words, "--json", str(tmp_path / "found.json")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    told = (
        "the documents leave open whether it is a fault: it may be none by "
        "overload-trigger=reaches; --reading NAME=ALTERNATIVE or a released-* profile decides "
        f"see --cluster {AT_LIMIT} --broker b1:8080 --at"
    )
    assert told in said
    assert "OVERLOAD-02, SHED-07 undecided" in said
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["wrong"], found["faults"]) == (0, [])
    [one] = [one for one in found["undecided"] if one["rule"] == "OVERLOAD-04"]
    assert told.startswith(one["open_point"])
    assert main([*words, *one["explained_by"].split()]) == 0
    answer = capsys.readouterr().out
    assert "overload-trigger=reaches" in " ".join(answer.split())
    assert TOO_LITTLE not in answer
    assert main([*words, "--reading", "overload-trigger=reaches"]) == 0
    assert "OVERLOAD-04 violated" not in capsys.readouterr().out
