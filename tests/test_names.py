"""A public name of a module has one meaning, wherever it is defined."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("specs", "reference", "conformance", "adapters", "fixtures", "reports", "audit")
CALLED_BY_NAME = ("samples", "skeletons", "assets")
"""Folders of programs that run elsewhere; the protocol or a browser decides their functions' names.
"""

HOOKS = {
    "add_arguments": "adds the options of a command to its parser",
    "run": "runs a command, and returns its exit status",
    "main": "runs a program, and returns its exit status",
    "check": "checks the rest of an adapter's name before anything is started",
}
"""Function names that `conformance/commands/main.py`, `adapters/names.py` or Python look for."""

ANSWERS = {
    "anti_affinity": "place.anti_affinity",
    "apply_changes": "channel.apply",
    "assign_bundle": "place.broker",
    "broker": "average.broker or place.broker",
    "bundle": "average.bundle",
    "candidates": "bundles.split_candidates",
    "changed": "policy.changed",
    "choose": "manager.choose",
    "create": "bundles.create",
    "cycles": "shed.cycles",
    "defaults": "settings.defaults",
    "due": "report.due",
    "locate": "bundles.locate",
    "maximum": "usage.max",
    "nic": "usage.nic",
    "read": "report.read",
    "replay": "cluster.replay",
    "select": "shed.select or place.select",
    "split": "bundles.split, or the event of a story",
    "split_candidates": "bundles.split_candidates",
    "top_bundles": "report.bundles",
}
"""Names of functions that answer an operation or draw its cases, each with the operation."""

SHARED = {
    "algorithms": "split algorithms that a release can be asked for",
    "brokers": "draws a broker with all that is measured of it",
    "bundle_steps": "steps of a derivation, one for each bundle",
    "bytes_against_messages": "a case in which bundles with more bytes have fewer messages",
    "carried": "rates by which a bundle counts",
    "cases": "draws cases without a trial around them",
    "divide": "divides namespaces into bundles",
    "end_with": "ends this process with the one that started it",
    "hash_of": "CRC-32 of a topic's name",
    "hex_of": "formats a boundary",
    "in_force": "the settings that apply",
    "is_overloaded": "true if a broker is over the threshold",
    "keep_all_steps": "steps of a derivation for a broker that sheds nothing",
    "long_term_messages": "long-term messages per second of a bundle",
    "make_user_strategy": "the strategy that a release makes of a user's class",
    "messages": "formats messages per second",
    "namespace_of": "the namespace of a bundle",
    "need_of": "traffic that an overloaded broker sheds",
    "never_measured": "draws bundles without samples",
    "nic_speed": "Gbit/s of a network interface",
    "not_as_if": "demands a choice that not only a mistake explains",
    "parts": "the parts of a split bundle",
    "plain": "formats a number in decimal notation",
    "preface": "steps of a derivation that concern all brokers together",
    "sheds": "a release's unloads of each broker, by its strategy",
    "split_bundle": "splits a bundle",
    "strategies": "shedding strategies that a release can be asked for",
    "strategy_settings": "the setting that names the strategy of a case",
    "switched_off": "draws a cluster that would act, were it not switched off",
    "takes": "true if a bundle goes, by its strategy",
    "throughput": "formats bytes per second",
    "unloads": "the documented unloads of each broker, by its strategy",
    "with_weights": "draws clusters with weights of resources",
}
"""Names of several functions with one purpose, each for another engine, subject or strategy."""

MEANINGS = {**HOOKS, **ANSWERS, **SHARED}


@cache
def public():
    """Return the public functions and classes that several files define, with these files."""
    found = defaultdict(list)
    for file in (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))):
        if not set(file.parts).isdisjoint(CALLED_BY_NAME):
            continue
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(file.relative_to(ROOT).as_posix())
    return {name: files for name, files in found.items() if len(files) > 1}


def is_a_check(files):
    """True if the name is that of a rule's check, as a predicate and as a column of the audit."""
    return all(file.startswith(("conformance/", "audit/verdicts/checks/")) for file in files) and (
        any(file.startswith("audit/") for file in files)
    )


def test_a_name_that_is_defined_twice_has_one_stated_meaning():
    defined = {name: files for name, files in public().items() if not is_a_check(files)}
    assert {name: defined[name] for name in defined.keys() - MEANINGS.keys()} == {}


@pytest.mark.parametrize("name", MEANINGS)
def test_a_stated_meaning_is_needed(name):
    assert name in public()
