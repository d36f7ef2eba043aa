"""A broker has a single name in an imported history, even if its sources name it differently."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main
from standins.exported import BUNDLES, FIRST, report

HOST = "pulsar-0.pulsar.svc.cluster.local"
LINE = (
    "2026-11-20T10:06:01,000+0000 [main] INFO ModularLoadManagerImpl - [ThresholdShedder] "
    "Unloading bundle: {bundle} from broker {broker}\n"
    "2026-11-20T10:06:02,000+0000 [main] INFO LeaderElection - This broker {broker} was elected "
    "leader\n"
)


@pytest.fixture
def imported(tmp_path, capsys):
    """Return a function that imports reports and a log: it returns the records and the output."""

    def run(urls, logged, **records):
        for folder, url in urls.items():
            place = tmp_path / "saved" / folder
            place.mkdir(parents=True)
            said = report("b1:8080", 0, FIRST["b1:8080"] if folder == "broker-0" else BUNDLES[4:5])
            (place / "load-report").write_text(json.dumps({**said, **url}))
        log, out = tmp_path / "leader.log", tmp_path / "history"
        log.write_text(LINE.format(bundle=BUNDLES[0], broker=logged))
        sources = [str(tmp_path / "saved"), str(log)]
        for name, lines in records.items():
            (tmp_path / f"{name}.jsonl").write_text(
                "".join(f"{json.dumps(one)}\n" for one in lines)
            )
            sources.append(str(tmp_path / f"{name}.jsonl"))
        assert main(["import", *sources, "--output", str(out)]) == 0
        lines = [line for one in sorted(out.glob("*")) for line in one.read_text().splitlines()]
        return [json.loads(one) for one in lines], " ".join(capsys.readouterr().err.split())

    return run


def brokers_of(records, kind):
    return {one["broker"] for one in records if one["kind"] == kind}


PLAIN = {"webServiceUrl": f"http://{HOST}:8080", "webServiceUrlTls": f"https://{HOST}:8443"}


@pytest.mark.parametrize("logged", [f"{HOST}:8080", f"{HOST}:8443", HOST])
def test_the_address_of_a_report_is_its_brokers_name(imported, logged):
    records, err = imported({"broker-0": PLAIN}, logged)
    for kind in ("load_report", "unloaded", "leader"):
        assert brokers_of(records, kind) == {"broker-0"}
    assert f"according to the addresses in load reports, {logged} is broker-0" in err
    assert "no report has" not in err


def test_a_broker_that_reports_under_its_address_keeps_it(imported):
    """The history and the saved report are about the same broker."""
    other = {**report("b1:8080", 5, FIRST["b1:8080"]), **PLAIN}
    known = {"kind": "load_report", "at": "2026-11-20T10:05:00Z", "broker": f"{HOST}:8080"}
    owners = {"kind": "owners", "at": "2026-11-20T10:00:30Z", "owners": {"broker-0": BUNDLES[:1]}}
    history = [{**known, "report": other}, owners]
    records, err = imported({"broker-0": PLAIN}, "broker-0", history=history)
    assert brokers_of(records, "load_report") == brokers_of(records, "unloaded") == {f"{HOST}:8080"}
    assert [one["owners"] for one in records if one["kind"] == "owners"] == [
        {f"{HOST}:8080": BUNDLES[:1]}
    ]
    assert f"broker-0 is {HOST}:8080" in err


@pytest.mark.parametrize(
    "urls",
    [
        {"broker-0": {}},
        {"broker-0": {"webServiceUrl": "http://other:8080"}},
        {"broker-0": PLAIN, "broker-1": PLAIN},
    ],
)
def test_a_broker_whose_name_no_single_report_has_is_named(imported, urls):
    records, err = imported(urls, f"{HOST}:8080")
    assert brokers_of(records, "unloaded") == {f"{HOST}:8080"}
    assert f"some unloads name brokers that have no load report: {HOST}:8080;" in err
