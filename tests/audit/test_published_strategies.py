"""The published page that compares the strategies of two releases."""

import json
import shlex
from pathlib import Path

from pulsar_conformance.audit.simulation.reporting import variant_table_page
from pulsar_conformance.conformance.commands.main import parser_of

STRATEGIES = Path(__file__).parents[2] / "reports/strategies"
STRATEGIES_OF_BOTH = ("Threshold", "Overload", "UniformLoad", "Avg", "Transfer")
"""Prefixes of the shedding strategies that both 3.0.7 and 4.2.4 have."""


def test_the_published_page_of_strategies_is_made_of_its_figures(tmp_path):
    page = (STRATEGIES / "README.md").read_text("utf-8")
    [command] = [line.strip() for line in page.splitlines() if line.startswith("    pulsar-")]
    records = json.loads((STRATEGIES / "simulations.json").read_text("utf-8"))
    assert variant_table_page(records, command) == page
    assert len({one["world"] for one in records}) == 8
    words = vars(parser_of("simulate").parse_args(shlex.split(command)[2:]))
    assert len(words["compare"]) + 1 == len({one["variant"] for one in records})
    simulated = {(one["variant"], one["world"]) for one in records}
    assert len(simulated) == len(records) == 8 * len(("3.0.7", "4.2.4")) * len(STRATEGIES_OF_BOTH)
    assert {variant for variant, _ in simulated} == {
        f"pulsar:{version} strategy={name}Shedder"
        for version in ("3.0.7", "4.2.4")
        for name in STRATEGIES_OF_BOTH
    }
