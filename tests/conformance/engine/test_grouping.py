"""Cases of rules that share operations are drawn and asked together."""

from dataclasses import replace

from pulsar_conformance import specs
from pulsar_conformance.conformance.engine.draw import group_rules


def rules(*operations: str) -> list[specs.Rule]:
    one = next(iter(specs.load().rules.values()))
    return [
        replace(one, id=f"RULE-{place}", operations=tuple(named.split()))
        for place, named in enumerate(operations)
    ]


def places(*operations: str) -> list[list[int]]:
    return [[int(rule.id[5:]) for rule in group] for group in group_rules(rules(*operations))]


def test_the_largest_group_is_first_and_each_keeps_the_order_of_its_rules():
    assert places("a", "b", "b", "a", "b", "c") == [[1, 2, 4], [0, 3], [5]]


def test_a_rule_of_two_operations_joins_their_groups():
    assert places("a", "b", "c", "a c", "b") == [[0, 2, 3], [1, 4]]
    assert places("a", "b", "c", "b c", "a b") == [[0, 1, 2, 3, 4]]


def test_rules_about_rows_of_questions_count_for_several():
    several = rules("a", "a", "b", "c", "a", "b")
    usual = [[rule.id for rule in group] for group in group_rules(several)]
    in_rows = [[rule.id for rule in group] for group in group_rules(several, {"c"})]
    assert usual == [["RULE-0", "RULE-1", "RULE-4"], ["RULE-2", "RULE-5"], ["RULE-3"]]
    assert in_rows == [usual[2], *usual[:2]]


def test_no_rules_are_no_groups():
    assert places() == []
