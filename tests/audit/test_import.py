"""Histories imported from operators' data: each format gives the same events of a cluster."""

import bz2
import gzip
import json
import lzma
from datetime import timedelta

import pytest
from pulsar_conformance.audit.collect.sources import time_of
from pulsar_conformance.conformance.commands.main import main
from standins.exported import (
    BUNDLES,
    CLUSTER,
    LOGGED,
    PLANNED,
    REPORTS,
    START,
    UNLOADED,
    UNLOADED_AT,
    USAGE,
    curl_folder,
    example_records,
    lines,
    one_object,
    own_records,
    report,
    series,
    stamp,
    znodes,
)


@pytest.fixture
def imported(tmp_path, capsys):
    """Return a function that imports sources, checks the status, and returns records and notes."""

    def run(*words, status=0):
        out = tmp_path / "history"
        assert main(["import", *map(str, words), "--output", str(out)]) == status
        said = capsys.readouterr()
        starts = ("pulsar-conformance: ", "  ")
        assert all(line.startswith(starts) for line in said.err.splitlines())
        files = sorted(out.glob("*.jsonl"))
        found = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return found, said.err

    return run


def of_kind(records, *kinds):
    drop = ("cluster",)
    return [
        {name: value for name, value in one.items() if name not in drop}
        for one in records
        if one["kind"] in kinds
    ]


def in_order(records):
    return sorted(json.dumps(one, sort_keys=True) for one in records)


EXPECTED = in_order(of_kind(own_records(), "load_report"))


def test_an_import_names_the_command_that_audits_it(tmp_path, capsys):
    its = [one for one in example_records() if json.loads(one)["cluster"] == "eu-1"]
    (tmp_path / "records.jsonl").write_text("\n".join(its), "utf-8")
    out = tmp_path / "a history"
    assert main(["import", str(tmp_path / "records.jsonl"), "--output", str(out)]) == 0
    [count, then] = capsys.readouterr().out.splitlines()
    assert count == f"{out}: 12 lines"
    assert then == (f"next: pulsar-conformance audit --input '{out}' --output reports/out/audit")


@pytest.mark.parametrize("cluster", ["eu-1", "eu-2"])
def test_the_examples_of_the_guide_are_imported(imported, tmp_path, cluster):
    its = [one for one in example_records() if json.loads(one)["cluster"] == cluster]
    (tmp_path / "records.jsonl").write_text("\n".join(its), "utf-8")
    found, _notes = imported(tmp_path / "records.jsonl")
    kinds = {json.loads(one)["kind"] for one in its}
    assert kinds <= {one["kind"] for one in found}


@pytest.mark.parametrize("save", [curl_folder, znodes, one_object])
def test_saved_reports_and_the_log_of_the_leader_are_a_history(imported, tmp_path, save):
    (tmp_path / "saved").mkdir()
    log = tmp_path / "broker.log"
    log.write_text(
        f"2026-11-20T10:06:00,000+0000 [main] INFO {PLANNED}\n"
        f"2026-11-20T10:06:01,000+0000 [main] INFO {LOGGED}\n"
    )
    records, err = imported(save(tmp_path / "saved"), log, "--cluster", CLUSTER)
    assert in_order(of_kind(records, "load_report")) == EXPECTED
    assert of_kind(records, "unloaded") == [{**UNLOADED, "at": stamp(UNLOADED_AT)}]
    assert [one["at"] for one in of_kind(records, "cycle")] == ["2026-11-20T10:06:00.000Z"]
    moved = of_kind(records, "assigned")
    assert [(one["bundle"], one["broker"]) for one in moved] == [(BUNDLES[0], "b2:8080")]
    assert {one["cluster"] for one in records} == {CLUSTER}
    assert err.count("not known:") == len(set(err.splitlines()))
    assert "not known: settings: the documented defaults apply; give --conf" in err
    assert "cycles that shed nothing" in err
    assert "why bundles move" not in err


def test_reports_alone_show_that_a_bundle_has_moved_and_not_why(imported, tmp_path):
    (tmp_path / "saved").mkdir()
    records, err = imported(curl_folder(tmp_path / "saved"))
    [unloaded] = of_kind(records, "unloaded")
    assert (unloaded["cause"], unloaded["at"]) == ("unknown", "2026-11-20T10:10:00.000Z")
    assert (
        "why bundles move: the cause of every unload is unknown; also give the leader's log" in err
    )


def test_a_report_alone_is_of_the_broker_that_it_names(imported, tmp_path):
    file = tmp_path / "load-report"
    file.write_text(json.dumps({**REPORTS[0][2], "webServiceUrl": "http://b7.example.com:8080"}))
    records, _ = imported(file)
    assert [one["broker"] for one in records] == ["b7.example.com:8080"]


FORMS = {
    "lines.jsonl": lambda records: lines(records).encode(),
    "list.json": lambda records: json.dumps(list(records)).encode(),
    "pretty.json": lambda records: json.dumps(list(records), indent=2).encode(),
    "lines.jsonl.gz": lambda records: gzip.compress(lines(records).encode()),
    "lines.jsonl.bz2": lambda records: bz2.compress(lines(records).encode()),
    "lines.jsonl.xz": lambda records: lzma.compress(lines(records).encode()),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_history_in_any_form_becomes_its_own_lines(imported, tmp_path, form):
    (tmp_path / form).write_bytes(FORMS[form](own_records()))
    records, err = imported(tmp_path / form)
    assert in_order(records) == in_order(own_records())
    assert "why bundles move" not in err


def test_zstandard_is_unpacked(imported, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="comes with the extra spark")
    file = tmp_path / "lines.jsonl.zst"
    with pyarrow.CompressedOutputStream(str(file), "zstd") as packed:
        packed.write(lines(own_records()).encode())
    records, _ = imported(file)
    assert len(records) == len(REPORTS) + 1


@pytest.mark.parametrize("together", [True, False])
def test_range_queries_are_a_history_with_causes_by_the_leaders_count(imported, tmp_path, together):
    every = list(series())
    parts = [every] if together else [[one] for one in every]
    for number, result in enumerate(parts):
        answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        (tmp_path / f"query-{number:03d}.json").write_text(json.dumps(answer))
    records, err = imported(*sorted(tmp_path.glob("query-*.json")))
    reports = of_kind(records, "load_report")
    assert {(one["at"], one["broker"]): one["report"]["bundles"] for one in reports} == {
        (stamp(START + timedelta(minutes=minutes)), broker): sorted(one["bundles"])
        for minutes, broker, one in REPORTS
    }
    assert {one["report"]["cpu"]["usage"] for one in reports} == {*USAGE.values()}
    [unloaded] = of_kind(records, "unloaded")
    assert unloaded == {**UNLOADED, "at": "2026-11-20T10:10:00.000Z"}
    assert records[0]["cluster"] == CLUSTER
    assert "between two samples of a metric" in err


def test_a_bundle_that_is_split_between_two_reports_is_a_split(imported, tmp_path):
    halves = ["acme/orders/0x00000000_0x08000000", "acme/orders/0x08000000_0x10000000"]
    for minutes, owned in ((0, BUNDLES[:3]), (5, [*halves, *BUNDLES[1:3]])):
        file = tmp_path / "saved" / str(minutes) / "b1:8080.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(report("b1:8080", minutes, owned)))
    records, _ = imported(tmp_path / "saved")
    [split] = of_kind(records, "split")
    assert (split["bundle"], split["into"]) == (BUNDLES[0], halves)
    assert of_kind(records, "unloaded", "assigned") == []


@pytest.mark.parametrize(("count", "cause"), [(4, "automatic"), (3, "admin"), (None, None)])
def test_the_count_of_splits_says_who_has_split(imported, tmp_path, count, cause):
    low = "acme/orders/0x00000000"
    owned = {
        0: [f"{low}_0x10000000"],
        5: [f"{low}_0x08000000", "acme/orders/0x08000000_0x10000000"],
    }
    result = [
        {
            "metric": {"__name__": "pulsar_bundle_msg_rate_in", "broker": "b1", "bundle": bundle},
            "values": [[START.timestamp() + 60 * minutes, "5"]],
        }
        for minutes, bundles in owned.items()
        for bundle in bundles
    ]
    counts = [[START.timestamp(), "3"], [START.timestamp() + 300, str(count)]]
    name = {"__name__": "pulsar_lb_bundles_split_total", "broker": "b1"}
    result += [{"metric": name, "values": counts}] if count else []
    (tmp_path / "query.json").write_text(json.dumps({"data": {"result": result}}))
    records, _ = imported(tmp_path / "query.json")
    [split] = of_kind(records, "split")
    assert split.get("cause") == cause


# BrokerLoadData.toMetrics; the modular manager has no such metric.
@pytest.mark.parametrize("manager", ["", "extensions.ExtensibleLoadManagerImpl"])
def test_metrics_of_the_extensible_manager_need_its_settings(imported, tmp_path, manager):
    now = [[START.timestamp(), "50"]]
    names = ("pulsar_lb_cpu_usage", "pulsar_lb_resource_usage")
    result = [{"metric": {"__name__": name, "broker": "b1"}, "values": now} for name in names]
    (tmp_path / "query.json").write_text(json.dumps({"data": {"result": result}}))
    conf = tmp_path / "broker.conf"
    named = f"loadManagerClassName=org.apache.pulsar.broker.loadbalance.{manager}\n"
    conf.write_text(f"loadBalancerEnabled=true\n{named if manager else ''}")
    words = ["import", str(tmp_path / "query.json"), "--output", str(tmp_path / "out")]
    assert main([*words, "--conf", str(conf)]) == (0 if manager else 2)
    assert (tmp_path / "out").exists() == bool(manager)


def test_the_znode_that_a_shell_prints_is_named_by_its_file(imported, tmp_path):
    for _, broker, one in REPORTS[:3]:
        text = f"Connecting to localhost:2181\nWATCHER::\n\n{json.dumps(one)}\n"
        (tmp_path / f"{broker}.txt").write_text(text)
    records, _ = imported(*sorted(tmp_path.glob("*.txt")))
    assert [one["broker"] for one in records] == ["b1:8080", "b2:8080", "b3:8080"]


EVENT = (
    f"Unload[sourceBroker=b1:8080, serviceUnit={BUNDLES[0]}, destBroker=Optional[b2:8080], "
    "force=true]"
)
"""How the extensible load manager writes an unload."""

LOGS = {
    "event": (
        "2026-11-20T10:06:01,000+0000 [pulsar-load-manager-1-1] INFO  UnloadScheduler - "
        f"[TransferShedder] Unloading bundle: {EVENT}",
        [],
    ),
    "event of 5.0": (
        "2026-11-20T10:06:01,000+0000 [pulsar-load-manager-1-1] INFO UnloadScheduler - "
        f"Unloading bundle {{bundle={EVENT}, strategy=TransferShedder}}",
        [],
    ),
    "event as JSON": (
        json.dumps(
            {
                "timestamp": "2026-11-20T10:06:01.000Z",
                "message": "Unloading bundle",
                "attributes": {"bundle": EVENT},
            }
        ),
        [],
    ),
    "no date": (f"10:06:01.000 [main] INFO {LOGGED}", ["--date", "2026-11-20"]),
    "no zone": (f"2026-11-20 10:06:01,000 [main] INFO {LOGGED}", []),
    "zone": (f"2026-11-20T11:06:01.000+01:00 [main] INFO {LOGGED}", []),
    "container": (f"2026-11-20T10:06:01.000Z stdout F [main] {LOGGED}", []),
    "attributes": (
        "2026-11-20T10:06:01,000+0000 [main] INFO ModularLoadManagerImpl - Unloading bundle from "
        f"source broker to dest broker {{bundle={BUNDLES[0]}, class=ThresholdShedder, "
        "destBroker=b2:8080, sourceBroker=b1:8080}",
        [],
    ),
    "JSON": (
        json.dumps({"timestamp": "2026-11-20T10:06:01.000Z", "level": "INFO", "message": LOGGED}),
        [],
    ),
}


@pytest.mark.parametrize("form", LOGS)
def test_the_unloads_of_a_log_have_their_times(imported, tmp_path, form):
    line, words = LOGS[form]
    log = tmp_path / "broker.log"
    log.write_text(f"{line}\n")
    records, err = imported(log, *words)
    assert of_kind(records, "unloaded") == [{**UNLOADED, "at": stamp(UNLOADED_AT)}]
    assert "without load reports or metrics no cycle can be judged" in err


FAILURES = {
    "text": f"Error when trying to perform load shedding on {BUNDLES[0]} for broker b1:8080",
    "attributes": "Error when trying to perform load shedding on for broker "
    f"{{broker=b1:8080, bundle={BUNDLES[0]}}}",
}


@pytest.mark.parametrize("form", FAILURES)
def test_an_unload_that_failed_is_left_out_and_named(imported, tmp_path, form):
    log, failure = tmp_path / "broker.log", f"2026-11-20T10:06:09Z WARN {FAILURES[form]}\n"
    log.write_text(f"2026-11-20T10:06:01Z INFO {LOGGED}\n{failure}")
    records, err = imported(log)
    assert [one["kind"] for one in records] == ["cycle"]
    assert f"the unload of {BUNDLES[0]} from b1:8080 failed, so it is not imported" in err


def test_a_log_without_dates_goes_on_after_midnight(imported, tmp_path):
    log = tmp_path / "broker.log"
    log.write_text(f"23:59:59.000 INFO {LOGGED}\n00:00:30.000 INFO {LOGGED}\n")
    records, _ = imported(log, "--date", "2026-11-20")
    at = [one["at"] for one in of_kind(records, "unloaded")]
    assert at == ["2026-11-20T23:59:59.000Z", "2026-11-21T00:00:30.000Z"]


def test_the_settings_given_are_recorded_first(imported, tmp_path):
    log, conf = tmp_path / "broker.log", tmp_path / "broker.conf"
    log.write_text(
        f"2026-11-20T10:06:01Z {LOGGED}\n2026-11-20T10:00:00Z This broker was elected leader\n"
    )
    conf.write_text("loadBalancerSheddingIntervalMinutes=2\nloadBalancersheddingEnabled=false\n")
    (tmp_path / "dynamic.json").write_text('{"loadBalancerSheddingIntervalMinutes": "3"}')
    dynamic = ("--dynamic", tmp_path / "dynamic.json")
    records, err = imported(log, "--conf", conf, *dynamic)
    assert [one["kind"] for one in records[:2]] == ["settings", "leader"]
    assert records[0]["settings"] == {"loadBalancerSheddingIntervalMinutes": 3}
    assert "loadBalancersheddingEnabled: there is no such setting" in err


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("log.txt", f"10:06:01.000 INFO {LOGGED}\n", "give the date of the first line with --date"),
        ("notes.txt", "nothing of interest\n", "it has no load report, no metric and no log"),
        ("history.tar", "x", "it is an archive; unpack it"),
        ("history.tar.gz", gzip.compress(b"x", mtime=0), "it is an archive; unpack it"),
        ("history.parquet", "PAR1", "it is Parquet, which needs no import"),
        ("broken.json.gz", b"\x1f\x8b\x08", "Compressed file ended"),
        ("query.json", '{"data": {"result": []}}', "it has no broker's pulsar_lb_*_usage or"),
        ("b1.json", '{"weightedMaxEMA": 0.8, "bundleCount": 3}', "extensible load manager"),
        ("load-report", json.dumps(REPORTS[0][2]), "it names no broker"),
        ("number.json", "[7]", "it contains a JSON value that is not an object"),
        ("znodes.txt", "get /loadbalance/brokers/b1\n", "of /loadbalance without data"),
    ],
)
def test_what_cannot_be_imported_is_refused_by_name(imported, tmp_path, name, content, problem):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    records, err = imported(file, status=2)
    assert str(file) in err
    assert problem in err
    assert records == []


@pytest.mark.parametrize("version", ["3.1.0", "4.2.4"])
def test_each_form_of_a_chosen_bundle_is_a_cycle(imported, tmp_path, version):
    kind = {"3.1.0": "throughput", "4.2.4": "msgThroughput"}[version]
    log = tmp_path / "broker.log"
    log.write_text(f"2026-11-20T10:06:01Z Found bundle to unload with {kind} 2000000.0\n")
    assert [one["kind"] for one in imported(log)[0]] == ["cycle"]


# The shell of ZooKeeper prints its prompt and the command before the data of a znode.
def test_a_session_of_zookeepers_shell_is_imported_as_its_load_reports(imported, tmp_path, capsys):
    prompt = "[zk: localhost:2181(CONNECTED) 0]"
    reports = {broker: one for _, broker, one in REPORTS}
    printed = [
        f"{prompt} get /loadbalance/brokers/{broker}\n{json.dumps(one)}\n"
        for broker, one in reports.items()
    ]
    session = tmp_path / "session.txt"
    session.write_text("".join([*printed, f"{prompt} quit\n"]))
    found = of_kind(imported(session)[0], "load_report")
    assert {one["broker"]: one["report"] for one in found} == reports
    assert main(["explain", str(session)]) == 2
    assert "in a separate file, BROKER.json" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("log", ["_delta_log/0.json", "metadata/v1.metadata.json"])
def test_tables_are_refused_and_not_read_by_their_files(imported, tmp_path, log):
    table = tmp_path / "table"
    (table / log).parent.mkdir(parents=True)
    (table / log).write_text("{}")
    (table / "part-0.json").write_text(lines(own_records()))
    _, err = imported(table, status=2)
    assert " table; export its current rows as JSON" in err


def test_an_output_with_files_is_not_mixed_with_others(imported, tmp_path):
    log = tmp_path / "broker.log"
    log.write_text(f"2026-11-20T10:06:01Z {LOGGED}\n")
    imported(log)
    _, err = imported(log, status=2)
    assert "the folder is not empty" in err


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-20T10:06:01Z",
        "2026-11-20 11:06:01,000+0100",
        "1795169161000",
        "2026-11-20T10:06:01",
    ],
)
def test_times_are_read_in_the_forms_that_clusters_write(text):
    assert time_of(text) == UNLOADED_AT
