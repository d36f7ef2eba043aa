"""The private interfaces of other projects that are used here: one test a dependency.

Where one fails after an update, the place to look at is the module that the test names, and the
upper bound in pyproject.toml is the way to stay with the older version until then.
"""

import inspect

import pytest


def parameters(function):
    return set(inspect.signature(function).parameters)


def test_hypothesis_draws_by_a_provider():
    """Used by conformance/drawing/drawing.py."""
    from hypothesis.internal.conjecture.data import ConjectureData
    from hypothesis.internal.conjecture.providers import PrimitiveProvider
    from hypothesis.internal.floats import make_float_clamper
    from hypothesis.internal.intervalsets import IntervalSet

    assert {"random", "provider"} <= parameters(ConjectureData.__init__)
    assert {"draw", "freeze"} <= set(dir(ConjectureData))
    drawn = {"draw_boolean", "draw_integer", "draw_float", "draw_string", "draw_bytes"}
    assert drawn <= set(dir(PrimitiveProvider))
    assert {"min_value", "max_value", "smallest_nonzero_magnitude"} <= parameters(
        make_float_clamper
    )
    assert len(IntervalSet(((0, 3),))) == 4


def test_xdist_splits_by_scope():
    """Used by conformance/plugin.py."""
    from xdist.scheduler import LoadScopeScheduling

    assert parameters(LoadScopeScheduling._split_scope) == {"self", "nodeid"}


def test_allure_results_have_details():
    """Used by conformance/reporters/allure_results.py."""
    from allure_commons.model2 import StatusDetails

    assert StatusDetails(message="a", trace="b").message == "a"


@pytest.mark.parametrize("package", ["allure-pytest", "hypothesis", "pytest-xdist", "pyspark"])
def test_each_has_an_upper_bound(package):
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(one for extra in extras for one in extra)]
    [bound] = [one for one in wanted if one.partition(">")[0].partition("[")[0] == package]
    assert ",<" in bound
