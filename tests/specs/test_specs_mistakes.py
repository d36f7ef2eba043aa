"""Every mistake in the specifications is reported with its line."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.specs import SpecError

BUNDLED = Path(specs.__file__).parent


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("annotations", "broker", "documents", "settings", "readings", "ways", "profiles"):
        shutil.copy(BUNDLED / f"{name}.yaml", tmp_path)
    shutil.copytree(BUNDLED / "rules", tmp_path / "rules")
    return tmp_path


@dataclass(frozen=True)
class Mistake:
    """An edit of one file, the line that the error must name, and the expected message."""

    file: str
    before: str
    after: str
    at: str
    """The beginning of the line, in the edited file, that the error points at."""
    says: str


MISTAKES = {
    "unknown reading": Mistake(
        "rules/overload.yaml",
        "reading: {overload-amount: margin}",
        "reading: {overload-amont: margin}",
        "  reading: {overload-amont",
        "OVERLOAD-02: unknown reading 'overload-amont';",
    ),
    "unknown value": Mistake(
        "rules/overload.yaml",
        "reading: {overload-amount: margin}",
        "reading: {overload-amount: all}",
        "  reading: {overload-amount: all",
        "OVERLOAD-02: unknown value of overload-amount 'all'; choose from margin, one",
    ),
    "reading that chooses no rules": Mistake(
        "rules/overload.yaml",
        "reading: {overload-amount: margin}",
        "reading: {overload-trigger: exceeds}",
        "  reading: {overload-trigger",
        "overload-trigger is of kind value and selects no rules",
    ),
    "unknown setting": Mistake(
        "rules/bundle.yaml",
        "settings: [defaultNumberOfNamespaceBundles]",
        "settings: [defaultNumberOfNamespaceBundle]",
        "  settings: [defaultNumberOfNamespaceBundle]",
        "BUNDLE-01: settings: unknown setting 'defaultNumberOfNamespaceBundle';",
    ),
    "unknown profile": Mistake(
        "rules/bundle.yaml",
        "profiles: [documented-2.10, documented-3.0]",
        "profiles: [documented-9.9, documented-3.0]",
        "  profiles: [documented-9.9",
        "BUNDLE-01: profiles: unknown profile 'documented-9.9'; choose from documented-3.0,",
    ),
    "unknown operation": Mistake(
        "rules/shed.yaml",
        "operations: [shed.select]",
        "operations: [shed.selekt]",
        "  operations: [shed.selekt]",
        'SHED-01.operations.0: "shed.selekt" is not one of settings.defaults,',
    ),
    "no operation": Mistake(
        "rules/shed.yaml",
        "  operations: [shed.select]\n",
        "",
        "- id: SHED-01",
        "SHED-01: names no operation; add one, or give the reason for having none",
    ),
    "any operation of one": Mistake(
        "rules/shed.yaml",
        "  operations: [shed.select]\n",
        "  operations: [shed.select]\n  any_operation: true\n",
        "  any_operation: true",
        "SHED-01: any_operation is for several operations; remove it",
    ),
    "unknown document": Mistake(
        "rules/usage.yaml",
        "{document: modular-2.4,",
        "{document: modular-2.5,",
        "    - {document: modular-2.5,",
        "USAGE-01: unknown document 'modular-2.5'; did you mean modular-2.4",
    ),
    "unknown section": Mistake(
        "rules/uniform.yaml",
        "{document: load-balance-2.10, section: UniformLoadShedder,",
        "{document: load-balance-2.10, section: UniformShedder,",
        "    - {document: load-balance-2.10, section: UniformShedder",
        "UNIFORM-01: unknown section of load-balance-2.10 'UniformShedder';",
    ),
    "unknown sentence": Mistake(
        "rules/uniform.yaml",
        "section: UniformLoadShedder, sentences: [1, 2, 3]",
        "section: UniformLoadShedder, sentences: [1, 2, 30]",
        "    - {document: load-balance-2.10, section: UniformLoadShedder, sentences: [1, 2, 30]",
        "load-balance-2.10 § UniformLoadShedder has no sentence 30; it has 6",
    ),
    "sentence that is said to carry no rule": Mistake(
        "rules/uniform.yaml",
        "section: UniformLoadShedder, sentences: [1, 2, 3]",
        "section: UniformLoadShedder, sentences: [1, 2, 6]",
        "    - {document: load-balance-2.10, section: UniformLoadShedder, sentences: [1, 2, 6]",
        "claims sentence 6 of load-balance-2.10 § UniformLoadShedder, which documents.yaml says",
    ),
    "ID given twice": Mistake(
        "rules/threshold.yaml",
        "- id: THRESHOLD-02",
        "- id: THRESHOLD-01",
        "- id: THRESHOLD-01",
        "THRESHOLD-01 is given twice, first in rules/threshold.yaml:3",
    ),
    "ID of another area": Mistake(
        "rules/uniform.yaml",
        "- id: UNIFORM-03",
        "- id: SPLIT-77",
        "- id: SPLIT-77",
        "SPLIT-77: belongs in rules/split.yaml",
    ),
    "unknown area": Mistake(
        "rules/uniform.yaml",
        "- id: UNIFORM-03",
        "- id: UNIFORMLY-03",
        "- id: UNIFORMLY-03",
        "UNIFORMLY-03: unknown area 'UNIFORMLY';",
    ),
    "presupposed rule that is none": Mistake(
        "rules/threshold.yaml",
        "presupposes: [USAGE-02]",
        "presupposes: [USAGE-99]",
        "  presupposes: [USAGE-99]",
        "THRESHOLD-01: presupposes: unknown rule 'USAGE-99';",
    ),
    "profile whose documents say nothing": Mistake(
        "rules/split.yaml",
        "profiles: [documented-3.0]",
        "profiles: [documented-2.4, documented-3.0]",
        "  profiles: [documented-2.4, documented-3.0]",
        "SPLIT-12: by its sources, its profiles are documented-3.0, documented-4.2, documented-5.0",
    ),
    "rule that rests on a copy": Mistake(
        "rules/anti.yaml",
        "    - {document: load-balance-3.0, section: Create an anti-affinity namespace group, "
        "sentences: [1]}\n",
        "",
        "  sources:",
        "ANTI-04: its only source load-balance-3.0-text is a copy; add the original",
    ),
    "observed rule without a why": Mistake(
        "rules/bundle.yaml",
        "  why: >-\n    The documents name no hash.",
        "  untestable: >-\n    The documents name no hash.",
        "- id: BUNDLE-11",
        "BUNDLE-11: an observed rule needs the key why, with the place where it was seen",
    ),
    "observed rule in a documented profile": Mistake(
        "rules/bundle.yaml",
        "profiles: [unwritten-3.0, released-2.4",
        "profiles: [documented-3.0, released-2.4",
        "  profiles: [documented-3.0, released-2.4",
        "BUNDLE-11: an observed rule belongs to no documented profile, and documented-3.0 is one",
    ),
    "missing title": Mistake(
        "rules/overload.yaml",
        "  title: An overloaded broker sheds\n",
        "",
        "- id: OVERLOAD-01",
        "OVERLOAD-01: title is missing",
    ),
    "unknown key": Mistake(
        "rules/overload.yaml",
        "  level: must",
        "  levl: must",
        "  levl: must",
        "OVERLOAD-01: unknown key 'levl';",
    ),
    "wrong level": Mistake(
        "rules/overload.yaml",
        "  level: must",
        "  level: shall",
        "  level: shall",
        'OVERLOAD-01.level: "shall" is not one of must, should, may, advice',
    ),
    "key given twice": Mistake(
        "rules/overload.yaml",
        "  level: must\n",
        "  level: must\n  level: should\n",
        "  level: should",
        "level is given twice, first on line 5; keep one",
    ),
    "no YAML": Mistake(
        "profiles.yaml",
        "documents: [modular-2.4]",
        "documents: [modular-2.4",
        "  readings:",
        "not YAML: ",
    ),
    "wrong fingerprint": Mistake(
        "documents.yaml",
        "        - 096dff71f985",
        "        - 096dff71f98g",
        "        - 096dff71f98g",
        "does not match ^[0-9a-f]{64}$; it should be: 64 hexadecimal digits",
    ),
    "sentence that carries no rule and awaits one": Mistake(
        "documents.yaml",
        "          none: *motive\n",
        "          none: *motive\n          awaits: OWN\n",
        "        - sha256: ",
        "at most 2 may be given; it should be: a fingerprint (sha256) with none: why",
    ),
    "copy of nothing": Mistake(
        "documents.yaml",
        "copy_of: load-balance-3.0",
        "copy_of: load-balance-3",
        "  copy_of: load-balance-3",
        "load-balance-3.0-text: unknown document 'load-balance-3';",
    ),
    "sentence that awaits an area with rules": Mistake(
        "documents.yaml",
        "none: *motive",
        "awaits: SHED",
        "          awaits: SHED",
        'awaits: "SHED" is not one of DATA, PLACE, ANTI, OWN, MANAGER, REPORT',
    ),
    "setting that no document names": Mistake(
        "settings.yaml",
        "documents: [load-balance-2.10, load-balance-3.0]",
        "documents: [load-balance-2.11, load-balance-3.0]",
        "  documents: [load-balance-2.11",
        "defaultNumberOfNamespaceBundles: unknown document 'load-balance-2.11';",
    ),
    "default of the wrong type": Mistake(
        "settings.yaml",
        "defaults: {load-balance-2.10: 4, load-balance-3.0: 4}",
        "defaults: {load-balance-2.10: four, load-balance-3.0: 4}",
        "  defaults: {load-balance-2.10: four",
        "defaultNumberOfNamespaceBundles: 'four' is not of type integer, as the setting requires",
    ),
    "neither a default nor why there is none": Mistake(
        "settings.yaml",
        "defaults: {load-balance-2.10: 4, load-balance-3.0: 4}",
        "defaults: {}",
        "  defaults: {}",
        "give a default that a document prints; if there is none, give the reason as",
    ),
    "alternative in no document": Mistake(
        "readings.yaml",
        "section: Broker overload thresholds, sentences: [2]}",
        "section: Broker overload, sentences: [2]}",
        "        - {document: load-balance-3.0, section: Broker overload, ",
        "overload-trigger: reaches: unknown section of load-balance-3.0 'Broker overload'",
    ),
    "profile with a wrong value": Mistake(
        "profiles.yaml",
        "overload-scope: all ",
        "overload-scope: some ",
        "    overload-scope: some",
        "documented-2.10: unknown value of overload-scope 'some'; choose from overload-shedder,",
    ),
    "profile based on itself": Mistake(
        "profiles.yaml",
        "based_on: documented-3.0",
        "based_on: unwritten-3.0",
        "  based_on: unwritten-3.0",
        "unwritten-3.0: is based on itself",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_reported_with_its_line(mistake: Mistake, directory: Path) -> None:
    file = directory / mistake.file
    text = file.read_text(encoding="utf-8")
    assert mistake.before in text, "the edit no longer fits the data"
    changed = text.replace(mistake.before, mistake.after, 1)
    file.write_text(changed, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        specs.load_from(directory)
    error = caught.value
    assert str(error).startswith(f"{mistake.file}:{error.line}: ")
    assert mistake.says in str(error)
    assert changed.splitlines()[error.line - 1].startswith(mistake.at)


def test_a_sentence_cannot_await_an_area_that_has_rules(directory: Path) -> None:
    file = directory / "documents.yaml"
    text = file.read_text(encoding="utf-8")
    assert "none: *motive" in text, "the edit no longer fits the data"
    file.write_text(text.replace("none: *motive", "awaits: DATA", 1), "utf-8")
    with pytest.raises(SpecError, match=r"^documents\.yaml:\d+: .* awaits DATA, which has rules"):
        specs.load_from(directory)


def test_a_missing_file_is_reported(directory: Path) -> None:
    (directory / "settings.yaml").unlink()
    with pytest.raises(SpecError, match=r"^settings\.yaml:1: cannot be read"):
        specs.load_from(directory)


def test_a_rule_file_of_no_area_is_reported(directory: Path) -> None:
    shutil.move(directory / "rules" / "shed.yaml", directory / "rules" / "shedding.yaml")
    with pytest.raises(SpecError, match=r"rules/shedding\.yaml:1: unknown area 'SHEDDING'"):
        specs.load_from(directory)
