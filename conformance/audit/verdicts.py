from pulsar_conformance.conformance.audit.plan import Made, Plan, Silver
from pyspark.sql import DataFrame


def verdicts(silver: Silver, made: Made, plan: Plan) -> DataFrame:
    """`verdicts`: whether what was done is allowed, a row for each rule that a cycle is about."""
    raise NotImplementedError
