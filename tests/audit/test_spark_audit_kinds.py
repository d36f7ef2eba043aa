"""Histories by kind: right decisions pass, and violations that are certain are found.

A history lists the expected verdicts by minute: `accuse` (broken, whatever the leader knew),
`accuse_any` (one of these rules is broken), `undecided` (the records do not show it), `fine`
(right; undecided would be too cautious), `may` (broken or not, since both can be defended), and
`open` (undecided, with words of the evidence by rule). `says` has a text that the evidence of some
verdict in that minute begins with.
"""

import gc

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance import specs
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import build_audit_tables
from standins.sparks import audit_session, spark
from standins.written_histories import histories, jittered, lines, stamp

pytestmark = [
    pytest.mark.spark,
    # The audit of all histories under each alternative of the open readings takes ten minutes.
    pytest.mark.timeout(2400),
]

assert audit_session
assert spark

PROFILE = "documented-3.0"
HISTORIES = list(histories())
HISTORIES.append(("jitter-of-10-seconds", PROFILE, jittered(10)))
WRONG = ("violated", "not done though due")
EXPECTED = ("accuse", "accuse_any", "undecided", "fine", "may", "open")

CHOSEN = "documented-4.2"
"""Profile whose readings are all chosen in the usual tests, so that no alternatives are judged.

Judging the alternatives takes a minute, and few histories depend on them; `DEPENDENT` has those.
"""

DEPENDENT = {
    "4-2-shed-for-heap-memory",
    "4-2-exactly-at-the-limit",
    "reading-4-2-trigger-exactly-at-the-limit",
}

DIFFERENT = {
    "bandwidth-spelt-right": "the spelling of releases from 4.0 on is no documented setting",
    "threshold-not-recorded-and-below-the-average": "rules of a missing threshold are undecided",
}
"""Histories that the audit judges differently from what they expect, each with the reason."""


@pytest.fixture(scope="module")
def audited(audit_session, tmp_path_factory):
    """Audit all histories of a profile together; return verdicts by cluster, minute and rule."""
    plans = {profile: AuditPlan.of(profile) for _, profile, _ in HISTORIES}
    plans[CHOSEN] = AuditPlan.of(CHOSEN, specs.load().default_readings(CHOSEN))
    return verdicts_by(plans, audit_session, tmp_path_factory.mktemp("kinds"))


@pytest.fixture(scope="module")
def audited_by_open_readings(audit_session, tmp_path_factory):
    """Audit the histories of the profile `CHOSEN` under all its readings."""
    plans = {CHOSEN: AuditPlan.of(CHOSEN)}
    return verdicts_by(plans, audit_session, tmp_path_factory.mktemp("open"))


def verdicts_by(plans, session, folder):
    """Audit the histories of each profile; return verdicts by cluster, minute and rule."""
    found = {}
    for profile, plan in sorted(plans.items()):
        history = folder / profile
        history.mkdir()
        every = [
            line for name, own, part in HISTORIES if own == profile for line in lines(part, name)
        ]
        (history / "all.json").write_text("\n".join(every) + "\n")
        made = build_audit_tables(
            session,
            str(history),
            str(folder / f"{profile}-audit"),
            plan,
            None,
        )
        for row in made["verdicts"].collect():
            moment = row["cycle"].isoformat(timespec="milliseconds") + "Z"
            found.setdefault((row["cluster"], moment), {})[row["rule"]] = row
        del made
        gc.collect()  # Otherwise, Java keeps the plans of this audit during the next.
    return found


def differences(audited, name, part):
    """Yield the differences between the verdicts and those that a history expects."""
    expected = {
        key: {stamp(float(minute)): rules for minute, rules in part.get(key, {}).items()}
        for key in EXPECTED
    }
    moments = {moment for cluster, moment in audited if cluster == name}
    for moment in sorted(moments.union(*expected.values())):
        rows = audited.get((name, moment), {})
        accused = {rule for rule, row in rows.items() if row["verdict"] in WRONG}
        wanted = {key: set(expected[key].get(moment, ())) for key in EXPECTED}
        shown = {rule: tuple(row) for rule, row in rows.items() if row["verdict"] != "allowed"}
        if wanted["accuse"] - accused:
            yield moment, "not accused", wanted["accuse"] - accused, shown
        if wanted["accuse_any"] and not accused & wanted["accuse_any"]:
            yield moment, "not accused by any of", wanted["accuse_any"], shown
        tolerant = wanted["accuse"] | wanted["accuse_any"] | wanted["may"]
        false = accused & (wanted["undecided"] | wanted["fine"]) if tolerant else accused
        said = part.get("says", {}).get(_minute(moment))
        if said and not any(row["evidence"].startswith(said) for row in rows.values()):
            yield moment, "does not say", said, shown
        if false:
            yield moment, "falsely accused", false, shown
        for rule, words in dict(expected["open"].get(moment, {})).items():
            row = rows.get(rule)
            if row is None or row["verdict"] != "undecided" or words not in row["evidence"]:
                yield moment, "not left open", {rule}, row and tuple(row)


def _minute(moment):
    return int(moment[14:16])


@pytest.mark.parametrize(
    ("name", "part"),
    [pytest.param(name, part, id=name) for name, _, part in HISTORIES if name not in DEPENDENT],
)
def test_right_decisions_are_not_accused_and_sure_breaches_are(audited, name, part):
    found = list(differences(audited, name, part))
    assert bool(found) == (name in DIFFERENT), found


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "part"),
    [pytest.param(name, part, id=name) for name, profile, part in HISTORIES if profile == CHOSEN],
)
def test_open_readings_excuse_what_the_documents_may_allow(audited_by_open_readings, name, part):
    found = list(differences(audited_by_open_readings, name, part))
    assert bool(found) == (name in DIFFERENT), found


def test_there_are_histories_of_each_kind():
    assert len(HISTORIES) >= 260
    assert all(any(key in part for key in EXPECTED) for _, _, part in HISTORIES)
    assert DIFFERENT.keys() | DEPENDENT <= {name for name, _, _ in HISTORIES}
