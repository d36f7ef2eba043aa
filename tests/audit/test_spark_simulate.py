"""Simulations in Spark's tasks give the same results and errors as in one process."""

import pytest
from pulsar_conformance.conformance.commands.main import main

pytestmark = pytest.mark.spark

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from standins.sparks import CORES, spark  # noqa: E402, F401  a fixture

WORDS = ("simulate", "--world", "ninety-ten", "--world", "daily", "--cycles", "20", "--json")
GRID = (*WORDS, "--compare", "strategy=OverloadShedder")
SWEPT = (*GRID, "--sweep", "loadBalancerBrokerOverloadedThresholdPercentage=80..85/5")


@pytest.mark.usefixtures("spark")
def test_a_grid_in_tasks_has_the_results_of_one_process(capsys):
    status, here = main(SWEPT), capsys.readouterr()
    assert (main([*SWEPT, "--spark", CORES]), capsys.readouterr().out) == (status, here.out)
    assert here.out.count('"variant"') == 2 * 2 * 2


@pytest.mark.usefixtures("spark")
def test_a_mistake_is_reported_as_by_one_process(capsys):
    words = [*WORDS, "--compare", "strategy=NoSuch"]
    assert main(words) == 2
    here = capsys.readouterr().err
    assert main([*words, "--spark", CORES]) == 2
    assert capsys.readouterr().err.endswith(here)


@pytest.mark.usefixtures("spark")
def test_a_search_is_not_made_in_tasks(capsys):
    assert main(["simulate", "--smallest", "--spark", CORES]) == 2
    assert "--smallest cannot be combined with --spark" in capsys.readouterr().err
