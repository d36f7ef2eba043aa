"""A user's own cluster, accessed by its admin URL. It is only read unless changes are allowed.

No JVM is needed. The command `collect` also reads clusters with `looking.py`.
"""
