"""Jobs run in parallel, each after the jobs that it needs, and are reported in order."""

import threading
import time

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.workers import TableProgress, run_jobs

pytestmark = pytest.mark.spark

AFTER = {
    "root": (),
    "left": ("root",),
    "middle": ("root",),
    "right": ("root", "elsewhere"),
    "end": ("left", "right"),
}
"""The jobs that each job needs. `elsewhere` is already complete."""

PATIENCE = 10.0


@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_each_is_begun_after_those_that_it_needs(at_once):
    ended, begun = [], []
    here, most, turn = set(), [], threading.Lock()

    def work(name):
        with turn:
            assert set(AFTER[name]) - {"elsewhere"} <= set(ended)
            begun.append(name)
            here.add(name)
            most.append(len(here))
        time.sleep(0.02)
        with turn:
            here.remove(name)
            ended.append(name)

    assert sorted(run_jobs(AFTER, work, at_once)) == sorted(AFTER)
    assert max(most) == min(at_once, 3)
    if at_once == 1:
        assert begun == list(AFTER)


def test_who_waits_keeps_nobody_from_working():
    met = threading.Barrier(2)
    after = {"long": (), "later": ("long",), "beside": ()}

    def work(name):
        if name != "later":
            met.wait(PATIENCE)

    assert list(run_jobs(after, work, 2))[-1] == "later"


def test_what_breaks_is_raised_and_nothing_is_begun_after_it():
    begun = []

    def work(name):
        begun.append(name)
        if name == "left":
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        list(run_jobs(AFTER, work, 1))
    assert begun == ["root", "left"]


def test_tables_are_reported_in_their_order_whichever_is_there_first():
    told, marks = [], {name: Mark(name, 1, 0.1) for name in "abcd"}

    def tell(name, mark):
        told.append(name if mark is None else f"{name} done")

    progress = TableProgress("abcd", "acd", marks, tell)
    assert told == ["a"]
    progress.done("d")
    assert told == ["a"]
    progress.done("a")
    assert told == ["a", "a done", "b done", "c"]
    progress.done("c")
    assert told == ["a", "a done", "b done", "c", "c done", "d", "d done"]
