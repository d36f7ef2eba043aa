"""The recorder of `watch` runs in a thread; whatever ends it is reported to the command."""

import threading
import time

import pytest
from pulsar_conformance.audit.commands import watch


class Recorder:
    """A recorder that raises an error or, without one, waits until it is stopped."""

    def __init__(self, error):
        self.error = error

    def run(self, every, lasting, stop, *, first):
        if self.error is not None:
            raise self.error
        stop.wait(60)


@pytest.mark.parametrize("error", [KeyError("load report"), MemoryError(), SystemExit(0)])
def test_an_unexpected_error_of_the_recorder_ends_the_command_with_it(error):
    with (
        pytest.raises(type(error)),
        watch._run_in_thread(Recorder(error), 1.0, None) as course,
    ):
        watch._audit_until_end(lambda: 0, course, lambda: 1, every=60.0)


def test_a_recorder_that_runs_is_stopped_with_the_block():
    begun = time.monotonic()
    with watch._run_in_thread(Recorder(None), 1.0, None) as course:
        assert not course.ended.is_set()
    assert course.ended.is_set()
    assert not course.failed
    assert time.monotonic() - begun < 30
    assert "recorder" not in [thread.name for thread in threading.enumerate()]
