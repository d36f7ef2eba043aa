"""Functions that are applied in several processes."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.workers import PROCESSES, results_here, results_of_processes

KILLED, REFUSED = "killed", "refused"


def work(text: str) -> str:
    if text == KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    if text == REFUSED:
        raise AdapterError("answer", "it does not answer", "start it", adapter="exec:./one")
    return text.upper()


@contextmanager
def begin(folder: Path) -> Iterator[object]:
    own = folder / str(os.getpid())
    own.write_text("open", "utf-8")
    yield work
    own.write_text("closed", "utf-8")


@pytest.fixture
def begun(tmp_path):
    return partial(begin, tmp_path)


@pytest.mark.parametrize("results", [results_here, results_of_processes])
def test_results_come_in_order_and_every_process_is_ended(results, begun, tmp_path):
    inputs = [f"text {number}" for number in range(20)]
    assert list(results(begun, inputs)) == [(one, one.upper()) for one in inputs]
    ended = [file.read_text("utf-8") for file in tmp_path.iterdir()]
    assert set(ended) == {"closed"}
    assert len(ended) <= PROCESSES


def test_an_error_of_an_implementation_is_passed_on(begun):
    with pytest.raises(AdapterError, match=r"exec:\./one: answer: it does not answer") as raised:
        list(results_of_processes(begun, ["a", REFUSED, "b"]))
    assert raised.value.hint == "start it"


def test_a_process_that_is_killed_is_reported_and_nothing_hangs(begun):
    with pytest.raises(AdapterError, match=r"ended before it had answered[\s\S]*--resume"):
        list(results_of_processes(begun, ["a", KILLED, "b"]))
