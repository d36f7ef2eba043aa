"""Placement in an anti-affinity group: spread over domains first, then over brokers. [ANTI]

Rows are brokers and the group's namespaces that they serve, with these columns. One frame can hold
any number of placements.

    cycle       identifies the placement
    broker      name of the broker
    candidate   true if the broker may take the namespace
    domain      its failure domain; brokers without one have null, and together form one domain
    rival       another namespace of the group that it serves; null in the one row of a broker that
                serves none
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

COUNTED_NAMESPACES: Mapping[str, Callable[[Column], Column]] = {
    "all": lambda rivals: rivals,
    "candidates": lambda rivals: F.when(F.col("candidate"), rivals),
}
"""Functions that return the namespaces of a broker that count for its domain.

Keys are the alternatives of the reading `domain-counts`. [ANTI-01]
"""


def with_best_brokers(rows: DataFrame, readings: Mapping[str, str]) -> DataFrame:
    """Return a row per broker: the number of the group's namespaces on it, and whether it is
    `best`.

    Columns: `cycle`, `broker`, `candidate`, `domain`, `serves`, `domain_serves`, `best_domain`,
    `best`. [ANTI-01, ANTI-02, ANTI-05]
    """
    brokers = rows.groupBy("cycle", "broker").agg(
        F.any_value("candidate").alias("candidate"),
        F.any_value("domain").alias("domain"),
        F.collect_set("rival").alias("rivals"),
    )
    every, within = Window.partitionBy("cycle"), Window.partitionBy("cycle", "domain")
    counted = COUNTED_NAMESPACES[readings["domain-counts"]](F.col("rivals"))
    of_domain = F.array_distinct(F.flatten(F.collect_list(counted).over(within)))
    brokers = brokers.withColumns({"serves": F.size("rivals"), "domain_serves": F.size(of_domain)})
    brokers = brokers.withColumns(
        {
            "_fewest_of_domains": F.min(_if_candidate("domain_serves")).over(every),
            "_fewest": F.min(_if_candidate("serves")).over(within),
        }
    )
    least_domain = F.col("domain_serves") == F.col("_fewest_of_domains")
    candidate = F.col("candidate")
    return brokers.withColumns(
        {
            "best_domain": candidate & least_domain,
            "best": candidate & least_domain & (F.col("serves") == F.col("_fewest")),
        }
    ).drop("_fewest_of_domains", "_fewest", "rivals")


def _if_candidate(name: str) -> Column:
    return F.when(F.col("candidate"), F.col(name))
