"""Marks are the same whether this process or Spark writes them, and each replaces the one before
it.
"""

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.input.by_cluster import RebuildTimes
from pulsar_conformance.audit.pipeline import marks
from pulsar_conformance.audit.pipeline.marks import DONE, LINE, UNFINISHED, Mark, Marks
from standins.sparks import audit_session, spark

pytestmark = pytest.mark.spark

assert audit_session
assert spark

WHOLE = Mark("of this", 12, 0.25, "so")
TIME = datetime(2026, 11, 21, 3, 4, 5, 678901, UTC)
PART = Mark(
    "of that", 3, 1.5, "so", "of this", RebuildTimes({"eu-1": TIME}, TIME + timedelta(days=1))
)


@pytest.fixture(params=[True, False], ids=["here", "by Spark"])
def begun(request, audit_session, tmp_path, monkeypatch):
    """Provide the marks of a new audit, which this process or Spark writes, and their folder."""
    if not request.param:
        monkeypatch.setattr(marks, "_local_folder", lambda _: None)
        monkeypatch.setattr(marks, "can_open_path", lambda *_: False)
    output = tmp_path / "of 100 % & more"
    made = Marks(audit_session, str(output))
    made.begin("audit")
    return made, output / DONE, request.param


def test_what_is_put_is_read(begun):
    made, folder, here = begun
    made.put("cycles", WHOLE)
    made.put("unloads", WHOLE)
    made.put("unloads", PART)
    found = made.read()
    assert found == {
        "audit": Mark("-", 1, 0.0),
        "cycles": WHOLE,
        "unloads": PART,
    }
    names = [one.name for one in (folder / "table=unloads").iterdir()]
    assert (names == [LINE]) is here


def test_what_is_done_no_more_has_no_mark(begun):
    made, _, _ = begun
    made.put("cycles", WHOLE)
    made.put("cycles", None)
    assert made.read().keys() == {"audit"}


def test_a_mark_of_sparks_is_replaced(audit_session, tmp_path, monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(marks, "_local_folder", lambda _: None)
        elsewhere.setattr(marks, "can_open_path", lambda *_: False)
        first = Marks(audit_session, str(tmp_path))
        first.begin("audit")
        first.put("cycles", WHOLE)
    later = Marks(audit_session, str(tmp_path))
    assert later.read()["cycles"] == WHOLE
    later.put("cycles", PART)
    assert [one.name for one in (tmp_path / DONE / "table=cycles").iterdir()] == [LINE]
    assert later.read()["cycles"] == PART


def test_a_process_that_is_stopped_while_writing_leaves_no_mark(audit_session, tmp_path):
    made = Marks(audit_session, str(tmp_path))
    made.begin("audit")
    made.put("cycles", WHOLE)
    folder = tmp_path / DONE / "table=cycles"
    (folder / LINE).rename(folder / UNFINISHED)
    assert made.read().keys() == {"audit"}
    made.put("cycles", PART)
    assert made.read()["cycles"] == PART


def test_spark_writes_where_this_process_may_not(audit_session, tmp_path, monkeypatch):
    made = Marks(audit_session, str(tmp_path))
    made.begin("audit")

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(marks, "_replace_mark", refuse)
    made.put("cycles", WHOLE)
    assert made.read()["cycles"] == WHOLE


def test_nothing_is_done_where_there_is_no_folder(audit_session, tmp_path):
    assert Marks(audit_session, str(tmp_path / "none")).read() == {}
