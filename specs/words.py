"""How numbers of things are written."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 verdict`, `2 verdicts`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
