"""How Python looks for garbage in a process of the suite."""

COLLECTED = (4_000_000, 50, 1000)
"""How rarely Python looks for garbage during a session: it finds little, since cases and answers
are kept until the end, and looking through them takes a quarter of the time. A usual run ends
before it looks once; it takes some 150 MB more for that.
"""
