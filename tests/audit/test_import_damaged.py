"""A damaged line of an imported history is named."""

import gzip
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.commands.main import main

HISTORY = Path(fixtures.__file__).parent / "histories" / "cluster-4.2.4-threshold.json.gz"
CUT = '{"kind":"cycle","cluster":"conformance'


@pytest.mark.parametrize(
    ("line", "at"), [(CUT, 0), (CUT, 10), (CUT, 40), ("cut", 10), ('"text"', 40)]
)
def test_a_line_that_is_no_json_object_is_named(tmp_path, capsys, line, at):
    lines = gzip.decompress(HISTORY.read_bytes()).decode().splitlines()[:40]
    lines.insert(at, line)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("\n".join(lines), "utf-8")
    assert main(["import", str(damaged), "--output", str(tmp_path / "history")]) == 2
    err = "".join(capsys.readouterr().err.split())
    assert f"damaged.jsonl:{at + 1}:thislineofahistoryisn'taJSONobject" in err
    assert not (tmp_path / "history").exists()
