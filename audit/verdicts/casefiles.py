"""Case files of faults, in the format of `explain`, `ask` and adapters."""

from __future__ import annotations

import shutil
from pathlib import Path

from pulsar_conformance.audit.pipeline.summary import earliest_rows
from pulsar_conformance.audit.verdicts.checks.registry import is_fault
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

FOLDER = "cases"
UNFINISHED = ".cases"
NAME = "name"


CYCLE = ["cluster", "cycle"]


def write_case_files(verdicts: DataFrame, findings: DataFrame, output: str, each: int) -> None:
    """Write the cases of each rule's first faults to files cases/RULE-cluster-time.json in
    `output`.

    `each` is the maximum number of faults per rule. If several names would be equal, a number is
    appended to all but the first. Spark writes each case to a separate folder, so that no case has
    to fit into the driver's memory. On a local disk, these folders are then replaced by files.
    """
    faults = earliest_rows(verdicts.where(is_fault()).drop("case"), each)
    faults = _with_cases(faults, verdicts, findings)
    time = F.date_format("cycle", "yyyyMMdd'T'HHmmss'Z'")
    cluster = F.regexp_replace("cluster", "[^A-Za-z0-9._-]", "_")
    cases = faults.select(
        "case", "cluster", "cycle", F.concat_ws("-", "rule", cluster, time).alias(NAME)
    )
    alike = F.row_number().over(Window.partitionBy(NAME).orderBy("cycle", "cluster"))
    name = F.concat_ws("-", NAME, F.when(F.col("nth") > 1, F.col("nth")))
    cases = cases.withColumn("nth", alike).select("case", name.alias(NAME))
    local = Path(output)
    folder = f"{output}/{UNFINISHED if local.is_dir() else FOLDER}"
    cases.write.mode("overwrite").partitionBy(NAME).text(folder)
    if local.is_dir():
        _replace_folders(local / UNFINISHED, local / FOLDER)


def empty_case_folder(output: str) -> bool:
    """Remove the cases of an earlier audit if the output is local; return whether it is."""
    local = Path(output)
    if local.is_dir():
        shutil.rmtree(local / FOLDER, ignore_errors=True)
        (local / FOLDER).mkdir()
    return local.is_dir()


def _with_cases(faults: DataFrame, verdicts: DataFrame, findings: DataFrame) -> DataFrame:
    """Add to each fault the `case` of the moment at which the rule is violated.

    If several rules are violated at one moment, only one of their rows in `verdicts` has the case.
    """
    this = [*CYCLE, "rule", "verdict"]
    moments = findings.where("moment is not null").select(*this, "moment")
    stored = verdicts.where("case is not null").join(
        F.broadcast(faults.select(*CYCLE).distinct()), CYCLE, "left_semi"
    )
    stored = stored.join(moments, this).select(*CYCLE, "moment", "case")
    faults = faults.join(moments, this).dropDuplicates([*CYCLE, "rule", "moment"])
    return faults.join(stored, [*CYCLE, "moment"])


def _replace_folders(made: Path, cases: Path) -> None:
    shutil.rmtree(cases, ignore_errors=True)
    cases.mkdir()
    for part in sorted(made.glob(f"{NAME}=*/*.txt")):
        name = part.parent.name.removeprefix(f"{NAME}=")
        part.rename(cases / f"{name}.json")
    shutil.rmtree(made)
