"""A user's own cluster, accessed by its admin URL; it is changed only if changes are allowed.

No JVM is needed. The command `collect` also reads clusters with `looking.py`.
"""
