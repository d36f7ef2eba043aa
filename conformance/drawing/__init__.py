"""Hypothesis strategies for cases that aim at a rule, near its thresholds and far from them.

The modules hold strategies for tests of your own, too:

| module | generates |
| --- | --- |
| `shedding` | clusters for one cycle of shedding, by strategy; the same before and after a change |
| `placements` | a bundle to place in a cluster; `domains`: a namespace of an anti-affinity group |
| `placement.assignments` | the same bundle with policies, groups and all that decides beside load |
| `splits` | a bundle to split; `growth`: clusters in which bundles outgrow a threshold |
| `namespaces` | namespaces to create, and topics to find in their bundles |
| `averages` | samples of bundles, and the bundles of one broker |
| `usages`, `reports` | brokers to measure; load reports of either load manager |
| `managers` | names of load managers, right and mistaken |
| `stories` | what happens to a cluster, event by event |

`shedding.cases` and `placements.cases` give cases as the adapter protocol has them, all others
trials, whose `questions` are pairs of an operation and its case. Usages are numbers with their
limits, thresholds are percentages; traffic is messages and bytes per second; times are minutes.

    from hypothesis import given
    from pulsar_conformance.conformance.draws import shedding

    @given(shedding.cases(shedding.overload, shedding.threshold))
    def test_a_bundle_is_shed_once(case):
        shed = my_load_manager.shed(case)
        assert len(shed) == len(set(shed))

Hypothesis shrinks what such a test finds as far as it was drawn choice by choice. The bulk of a
case's numbers comes from a seed, of which 0 is the smallest. A run of the suite draws by
`drawing.draw`, with a backend that draws each case afresh.
"""
