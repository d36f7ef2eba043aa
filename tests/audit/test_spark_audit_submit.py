"""An audit by `spark-submit`, with the project only in an archive."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.audit.commands import submit

pytestmark = pytest.mark.spark

pyspark = pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

INSTALLED = Path(specs.__file__).parent.parent
ENDS_WITHIN = 1200
CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
FOLDERS = ("specs", "reference", "conformance", "adapters", "fixtures", "reports", "audit")
ONE_CYCLE = [
    {"cluster": "c", "at": "2026-11-20T10:00:00Z", "kind": "leader", "broker": "b:8080"},
    {
        "cluster": "c",
        "at": "2026-11-20T10:00:10Z",
        "kind": "load_report",
        "broker": "b:8080",
        "report": {"cpu": {"usage": 5, "limit": 100}, "bundles": []},
    },
    {"cluster": "c", "at": "2026-11-20T10:01:00Z", "kind": "cycle"},
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Write a wheel with the files of the installed project; return its path."""
    file = tmp_path_factory.mktemp("dist") / f"{submit.PACKAGE}-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for folder in FOLDERS:
            for one in (INSTALLED / folder).resolve().rglob("*"):
                if one.is_file() and "__pycache__" not in one.parts:
                    place = Path(folder) / one.relative_to((INSTALLED / folder).resolve())
                    archive.write(one, f"{submit.PACKAGE}/{place}")
    return file


def test_an_archive_is_unpacked_and_goes_first(wheel):
    path = ["/elsewhere", str(wheel), "/usr/lib"]
    submit.unpack(path)
    assert path[1:] == ["/elsewhere", str(wheel), "/usr/lib"]
    assert (Path(path[0]) / submit.PACKAGE / "specs" / "settings.yaml").exists()


@pytest.mark.thorough
def test_it_runs_on_the_spark_that_it_was_submitted_to(wheel, tmp_path):
    lines = [json.dumps(record) for record in ONE_CYCLE]
    (tmp_path / "history.jsonl").write_text("\n".join([*lines, "no\n"]))
    home = Path(pyspark.__file__).parent
    words = [str(home / "bin" / "spark-submit"), "--master", "local[2]"]
    words += [word for pair in CONF.items() for word in ("--conf", "=".join(pair))]
    words += ["--py-files", str(wheel), str(Path(submit.__file__).resolve())]
    words += ["--input", str(tmp_path / "history.jsonl"), "--output", str(tmp_path / "out")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home)}
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env={**environment, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 lines read, 3 used, 1 quarantined" in done.stdout
    assert (tmp_path / "out" / "verdicts" / "_SUCCESS").exists()
