"""A user's own cluster, accessed by its admin URL; changed only with the user's permission.

No JVM is needed. The command `collect` also reads clusters with `looking.py`.
"""
