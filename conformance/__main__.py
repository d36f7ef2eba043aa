"""Entry point of `pulsar-conformance`; it can be interrupted even while modules load.

`python -m pulsar_conformance.conformance` runs the command if its script is not on PATH.
"""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

INTERRUPTED = 130


def entry() -> NoReturn:
    """Run the command and exit, without a last garbage collection.

    After a long run, that collection would take several seconds, and the operating system frees the
    memory anyway.
    """
    try:
        gc.disable()  # While modules are loaded, there is no garbage to collect.
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


if __name__ == "__main__":
    entry()
