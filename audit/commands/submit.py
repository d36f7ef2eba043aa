"""A script for `spark-submit` that runs an audit from a wheel that is not installed.

    spark-submit --py-files pulsar_conformance-0.1.0-py3-none-any.whl submit.py --input ...

The wheel's dependencies must be installed on the driver, and pyarrow on the workers. The options
are those of `pulsar-conformance audit`.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "pulsar_conformance"


def unpack(path: list[str]) -> None:
    """Unpack the project's archive if `path` has it as an entry.

    The unpacked folder becomes the first entry of `path`.
    """
    for entry in list(path):
        if Path(entry).name.startswith(PACKAGE) and zipfile.is_zipfile(entry):
            folder = tempfile.mkdtemp(prefix=f"{PACKAGE}-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            with zipfile.ZipFile(entry) as archive:
                archive.extractall(folder)
            path.insert(0, folder)


def main() -> int:
    """Run the audit in the Spark session of `spark-submit`."""
    unpack(sys.path)
    from pulsar_conformance.adapters.spark.session import SUBMITTED_TARGET
    from pulsar_conformance.conformance.commands.main import main as command

    return command(["audit", "--spark", SUBMITTED_TARGET, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
