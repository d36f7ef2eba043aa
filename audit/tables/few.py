"""Few rows among many: looked for with a small job, and then sent to where the many are.

Without that, all of a history's samples are exchanged and sorted for a handful of unloads.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

FEW = 2_000
"""So many rows with a name in each come to the driver first, whose limit is `sizes.SUMMARIES`."""


def counted(rows: DataFrame) -> int:
    """How many rows there are; `FEW` and one more stand for any number above."""
    return int(rows.limit(FEW + 1).count())


def sent(rows: DataFrame, count: int) -> DataFrame:
    """Rows to join many others with, and how many they are at most."""
    return F.broadcast(rows) if count <= FEW else rows
