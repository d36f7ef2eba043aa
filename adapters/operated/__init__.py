"""A cluster that somebody operates, by its admin URL: read, and changed only where that is allowed.

No JVM is needed. `looking.py` is what `collect` sees, too.
"""
