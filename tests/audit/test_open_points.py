"""The lines of an audit's report about undecided rules."""

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.tables import cycles
from pulsar_conformance.audit.verdicts import verdicts
from pulsar_conformance.audit.verdicts.open_points import _described, open_point, undecided_lines

WHOLE = "shop/ns-3/0x00000000_0xffffffff"


def undecided(rule, point="it is open", options="--broker b1:8080 --at 2026-11-26T17:55:52Z", **on):
    place = {"cluster": "eu", "cycle": "2026-11-26T17:55:00Z", **on}
    return {"rule": rule, **place, "open_point": point, "explained_by": options}


@pytest.mark.parametrize(
    ("evidence", "point"),
    [
        (f"b1:8080 shed {WHOLE}; it is at 0 %; {cycles.NO_LEADER}", cycles.NO_LEADER),
        (
            f"b1:8080 kept all; {verdicts.IN_ANOTHER_VIEW}b2: it may be down; b3: it may be down",
            f"{verdicts.IN_ANOTHER_VIEW}b2: it may be down; b3: it may be down",
        ),
        (f"{WHOLE}: no unload is recorded", f"{WHOLE}: no unload is recorded"),
    ],
)
def test_the_open_point_is_the_end_of_the_evidence(evidence, point):
    assert open_point(evidence) == point


def test_rules_with_the_same_open_point_have_one_entry_in_the_order_of_time():
    later = undecided("SHED-02", cycle="2026-11-26T18:00:00Z")
    lines = list(undecided_lines([later, undecided("SHED-04"), undecided("OVERLOAD-04")]))
    assert lines == [
        "OVERLOAD-04, SHED-04 undecided, first in eu at 2026-11-26T17:55:00Z",
        "  it is open",
        "  see --broker b1:8080 --at 2026-11-26T17:55:52Z",
        "SHED-02 undecided, first in eu at 2026-11-26T18:00:00Z",
        "  it is open",
        "  see --broker b1:8080 --at 2026-11-26T17:55:52Z",
    ]


def test_an_option_stays_with_its_value_and_a_long_open_point_is_marked():
    long = undecided("SHED-04", "b1:8080: it may be down; " * 100, f"--why {'x' * 60} --at TIME")
    lines = list(undecided_lines([long]))
    assert max(map(len, lines)) <= 80
    assert lines[-3].endswith(" ...")
    assert lines[-2:] == [f"  see --why {'x' * 60}", "      --at TIME"]


def test_without_options_there_is_no_hint():
    assert len(list(undecided_lines([undecided("SPLIT-05", options="")]))) == 2


@pytest.mark.parametrize(
    ("rule", "evidence", "options"),
    [
        ("PLANNED-02", f"{WHOLE}: it is open", f"--why {WHOLE} --at UNTIL"),
        ("CHANNEL-01", f"{WHOLE} had another owner", f"--why {WHOLE} --at UNTIL"),
        ("TRANSFER-06", "cycles are not recorded", "--why t/a/0x0_0x1 --at UNTIL"),
        ("THRESHOLD-02", f"b1:8080 shed {WHOLE}; it is at 9 %", "--broker b1:8080 --at UNTIL"),
        ("REPORT-16", "b1:8080 wrote", ""),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_options_name_what_the_evidence_is_about(rule, evidence, options, several):
    row = {"rule": rule, "evidence": evidence, "until": "UNTIL", "bundle": "t/a/0x0_0x1"}
    told = _described({**row, "cluster": "eu", "cycle": "CYCLE"}, several)["explained_by"]
    assert told == (f"--cluster eu {options}" if several and options else options)
