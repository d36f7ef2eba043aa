"""What is known of loads over time: averages over samples, and their sums. [DATA]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS, assumed, number
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

Readings = Mapping[str, str]

WEIGHT: Mapping[str, Callable[[Column, Column, Column], Column]] = {
    "sliding": lambda nth, taken, window: F.when(nth > taken - window, number(1)).otherwise(
        number(0)
    ),
    "fading": lambda nth, taken, window: F.pow(
        (window - 1) / window, F.greatest(taken - F.greatest(nth, window), F.lit(0))
    ),
}
"""How much the nth of the samples taken counts, by the reading `window`. [DATA-01, DATA-02]

Fading is what the recurrence `(average x (window - 1) + sample) / window` comes to, the first
`window` samples counting alike: each later one takes 1 / window of what was.
"""


def averages(samples: DataFrame, keys: Iterable[str], readings: Readings) -> DataFrame:
    """What is known after the last sample, a row for each of the keys. [DATA-01 … 07]

    `samples` are the keys (what tells bundles and time frames apart), `at` (when it was taken, in
    any unit; null in the one row of what was never measured), `window` (how many samples count) and
    `RATE_FIELDS`. The result has the keys, `RATE_FIELDS` and `numSamples`.
    """
    keys = list(keys)
    of_one = Window.partitionBy(*keys)
    rows = samples.withColumns(
        {
            "_nth": F.row_number().over(of_one.orderBy("at")),
            "_taken": F.count("at").over(of_one),
        }
    )
    weight = WEIGHT[readings["window"]](F.col("_nth"), F.col("_taken"), F.col("window"))
    rows = rows.withColumn("_weight", weight)
    total = F.sum("_weight")
    summed = rows.groupBy(*keys).agg(
        *(
            F.try_divide(F.sum(F.col(name) * F.col("_weight")), total).alias(name)
            for name in RATE_FIELDS
        ),
        F.least(F.max("_taken"), F.max("window")).cast("bigint").alias("numSamples"),
    )
    never = assumed(readings["kilobyte"])
    rates = (F.coalesce(F.col(name), never[name]).alias(name) for name in RATE_FIELDS)
    return summed.select(*keys, *rates, "numSamples")


def together(rates: Column) -> Column:
    """The sum of structs of rates over rows; nothing where there is none. [DATA-08]"""
    return F.struct(
        *(F.coalesce(F.sum(rates[name]), number(0)).alias(name) for name in RATE_FIELDS)
    )
