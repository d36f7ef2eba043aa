"""Divide the parameters of a test between ordinary and thorough runs."""

import pytest


def one_in(number, values):
    """Return parameters of which ordinary runs try one in `number`, starting with the first.

    `nox -s thorough` tries the others.
    """
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=() if place % number == 0 else pytest.mark.thorough,
        )
        for place, value in enumerate(values)
    ]


def ordinarily(chosen, values):
    """Return parameters of which ordinary runs try only `chosen`; `nox -s thorough` tries all."""
    return [
        pytest.param(value, marks=() if value == chosen else pytest.mark.thorough)
        for value in values
    ]
