"""Runs a script of this folder that starts a cluster in its own process."""

import os
import sys
import traceback
from collections.abc import Callable


def run_script(main: Callable[..., object]) -> None:
    """Run `main` with the command-line arguments, and exit without waiting for Java's threads."""
    try:
        main(*sys.argv[1:])
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
