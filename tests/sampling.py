"""Divides the parameters of a test between ordinary and thorough runs."""

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
