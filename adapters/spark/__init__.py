"""The load balancing rules in Spark: an independent implementation, and its adapter.

Each documented computation is a function of DataFrames or columns, with settings as columns, in a
module for its area: `usage`, `shedding` (with `overload`, `threshold`, `uniform`), `growth`,
`splitting`, `locating`. The functions use only the public DataFrame API, so they also run on Spark
Connect. The modules `answers_*` convert cases to rows, and rows to answers.

PySpark is not imported before `connect_spark` is called.
"""
