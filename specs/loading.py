"""Read the specifications: shape first, then what must fit together."""

from functools import cache
from pathlib import Path

from pulsar_conformance.specs import building
from pulsar_conformance.specs.check_data import check_data
from pulsar_conformance.specs.check_rules import check_rules
from pulsar_conformance.specs.collection import Specs
from pulsar_conformance.specs.errors import SpecError, unknown
from pulsar_conformance.specs.lines import Sheet, read
from pulsar_conformance.specs.model import AREAS, Rule
from pulsar_conformance.specs.schemas import check_shape

DATA = ("documents", "settings", "readings", "ways", "hidden", "profiles")


@cache
def load() -> Specs:
    """Return the bundled specifications; SpecError on any mistake in them."""
    return load_from(Path(__file__).parent)


def load_from(directory: Path) -> Specs:
    """Read the specifications below a directory laid out as specs/ is."""
    sheets = {name: _sheet(directory, f"{name}.yaml", name) for name in DATA}
    rule_sheets = [_sheet(directory, file, "rules") for file in _rule_files(directory)]
    specs = Specs(
        documents=building.documents(sheets["documents"].data),
        settings=building.settings(sheets["settings"].data),
        readings=building.readings(sheets["readings"].data),
        ways=building.ways(sheets["ways"].data),
        hidden=building.hidden(sheets["hidden"].data),
        profiles=building.profiles(sheets["profiles"].data),
        rules=_rules(rule_sheets),
    )
    check_data(specs, sheets)
    check_rules(specs, rule_sheets)
    return specs


def _sheet(directory: Path, file: str, schema_name: str) -> Sheet:
    sheet = read(directory, file)
    check_shape(sheet, schema_name)
    return sheet


def _rule_files(directory: Path) -> list[str]:
    """Return the rule files, in the order of their areas."""
    order = {f"{area.lower()}.yaml": number for number, area in enumerate(AREAS)}
    found = [path.name for path in (directory / "rules").glob("*.yaml")]
    for name in sorted(found):
        if name not in order:
            problem = unknown(name.removesuffix(".yaml").upper(), "area", AREAS)
            raise SpecError(f"rules/{name}", 1, problem)
    return [f"rules/{name}" for name in sorted(found, key=order.__getitem__)]


def _rules(sheets: list[Sheet]) -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for sheet in sheets:
        for index in range(len(sheet.data)):
            rule = building.rule(sheet, index)
            if rule.id in rules:
                first = rules[rule.id]
                problem = f"{rule.id} is given twice, first in {first.file}:{first.line}"
                raise sheet.error((index, "id"), f"{problem}; an ID is never used again")
            rules[rule.id] = rule
    return rules
