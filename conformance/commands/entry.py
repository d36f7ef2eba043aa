"""The start of `pulsar-conformance`, which can be interrupted before all of it is loaded."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

INTERRUPTED = 130


def entry() -> NoReturn:
    """Run the command of this process, and end the process.

    The system takes back what is left in memory; Python, which would look through all of it for
    garbage, takes several seconds after a long run.
    """
    try:
        gc.disable()  # nothing of what is loaded is garbage
        from pulsar_conformance.conformance.commands.main import main
        from pulsar_conformance.conformance.common import GC_THRESHOLDS

        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()
        status = main()
    except KeyboardInterrupt:
        print("pulsar-conformance: interrupted", file=sys.stderr)
        status = INTERRUPTED
    gc.freeze()
    sys.exit(status)
