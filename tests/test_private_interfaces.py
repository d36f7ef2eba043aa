"""The private interfaces of other projects that this project uses, with one test for each project.

If a test fails after an update, it names the module to adapt. Until then, lower the upper bound in
pyproject.toml to keep the older version.
"""

import inspect
from unittest.mock import MagicMock

import pytest


def parameters(function):
    return set(inspect.signature(function).parameters)


def test_hypothesis_draws_by_a_provider():
    """Hypothesis has the interfaces that conformance/drawing/drawing.py uses."""
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
    """Pytest-xdist has the interface that conformance/plugin.py uses."""
    from xdist.scheduler import LoadScopeScheduling

    assert parameters(LoadScopeScheduling._split_scope) == {"self", "nodeid"}


def test_allure_results_have_details():
    """Allure has the class that conformance/reporters/allure_results.py uses."""
    from allure_commons.model2 import StatusDetails

    assert StatusDetails(message="a", trace="b").message == "a"


def test_pyspark_looks_up_functions_of_java_by_name():
    """PySpark and Py4J have the interfaces that adapters/spark/messages.py uses."""
    pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")
    from pulsar_conformance.adapters.spark.messages import REMEMBERED_NAMES, remember_members
    from py4j import protocol
    from py4j.java_gateway import JVMView
    from pyspark.sql.functions import builtin

    asked = []

    def answer(command):
        """Answer as if every requested class and function existed."""
        asked.append(command)
        found = protocol.SUCCESS + protocol.METHOD_TYPE
        return protocol.SUCCESS_CLASS + "name" if len(asked) <= len(REMEMBERED_NAMES) else found

    client = MagicMock()
    client.send_command.side_effect = answer

    class Context:
        _jvm = JVMView(client, "default", "rj")

    remember_members(Context._jvm)
    first, second = (builtin._get_jvm_function("upper", Context) for _ in range(2))
    assert first is second
    assert len(asked) == len(REMEMBERED_NAMES) + 1


@pytest.mark.parametrize("package", ["allure-pytest", "hypothesis", "pytest-xdist", "pyspark"])
def test_each_has_an_upper_bound(package):
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(one for extra in extras for one in extra)]
    [bound] = [one for one in wanted if one.partition(">")[0].partition("[")[0] == package]
    assert ",<" in bound
