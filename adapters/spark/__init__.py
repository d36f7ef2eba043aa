"""The load balancing rules in Spark: an independent implementation, and its adapter.

Each documented computation is one function of DataFrames or columns, with the settings as columns,
in a module of its area: `usage`, `shedding` (with `overload`, `threshold`, `uniform`), `growth`,
`splitting`, `locating`. They use the public DataFrame API alone, so that they run on Spark Connect
as they are. `answers_*` turn the protocol's cases into rows, and rows into answers.

PySpark is not imported before `connect_spark` is called.
"""
