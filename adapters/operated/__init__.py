"""A user's own cluster, accessed by its admin URL; it is only read unless changes are allowed.

No JVM is needed. `looking.py` also reads the data that `collect` records.
"""
