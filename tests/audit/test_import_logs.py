"""Logs that are imported: lines of each layout, and those whose time cannot be read."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main
from standins.exported import BUNDLES, LOGGED, UNLOADED_AT, stamp

AT = stamp(UNLOADED_AT)
MILLIS = int(UNLOADED_AT.timestamp() * 1000)
INSTANT = {"epochSecond": MILLIS // 1000, "nanoOfSecond": 4_999_999}


@pytest.fixture
def imported(tmp_path, capsys):
    """Return a function that imports the lines of a log: it returns unloads and the output."""

    def run(*lines, words=(), status=0):
        log, out = tmp_path / "leader.log", tmp_path / "history"
        log.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        assert main(["import", str(log), "--output", str(out), *words]) == status
        files = sorted(out.glob("*.jsonl"))
        records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return unloads(records), " ".join(capsys.readouterr().err.split())

    return run


def unloads(records):
    of_kind = [one for one in records if one["kind"] == "unloaded"]
    return [(one["at"], one["bundle"], one["broker"]) for one in of_kind]


def by_docker(text, at="2026-11-20T10:06:01.000123456Z"):
    return json.dumps({"log": f"{text}\n", "stream": "stdout", "time": at})


def compact(**fields):
    return json.dumps({**fields, "endOfBatch": False}, separators=(",", ":"))


LAYOUTS = {
    "instant": compact(instant=INSTANT, level="INFO", message=LOGGED).replace("4999999", "0"),
    "timeMillis": compact(thread="main", timeMillis=MILLIS, message=LOGGED),
    "msg": compact(time=AT, msg=LOGGED),
    "Docker": by_docker(f"[main] INFO {LOGGED}"),
    "a time without a date in Docker": by_docker(f"11:06:01.000 [main] INFO {LOGGED}"),
    "another time in Docker": by_docker(
        f"2026-11-20T11:06:01,000+0100 [main] INFO {LOGGED}", "2026-11-20T10:07:00Z"
    ),
    "JSON in Docker": by_docker(compact(timeMillis=MILLIS, message=LOGGED), "2026-11-20T10:07:00Z"),
    "JSON of a container": f"2026-11-20T10:07:00Z stdout F {compact(time=AT, message=LOGGED)}",
    "JSON of docker-compose": f"broker-1  | {compact(timeMillis=MILLIS, message=LOGGED)}",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_unload_is_read_from_each_layout_of_a_log(imported, layout):
    assert imported(LAYOUTS[layout])[0] == [(AT, BUNDLES[0], "b1:8080")]


def test_no_line_is_lost_among_lines_of_another_layout(imported):
    lines = [line for layout in ("instant", "msg", "Docker") for line in (LAYOUTS[layout],) * 2]
    expected = [(AT, BUNDLES[0], "b1:8080")] * 6
    assert imported(*lines)[0] == expected


def test_a_fraction_of_an_instant_is_kept_in_milliseconds(imported):
    [(at, _, _)], _ = imported(compact(instant=INSTANT, message=LOGGED))
    assert at == "2026-11-20T10:06:01.004Z"


def test_a_line_that_docker_divided_is_read_as_a_whole(tmp_path):
    settings = "loadBalancerEnabled=true, loadBalancerSheddingIntervalMinutes=12, "
    text = f"2026-11-20T10:00:00Z INFO ServiceConfiguration({settings}zooKeeperServers=zk)"
    cut = 16 * 1024
    padded = text.replace("INFO", "INFO".ljust(4 + cut - text.index("2, zoo")))
    assert padded[:cut].endswith("Minutes=1")
    parts = [json.dumps({"log": padded[:cut], "stream": "stdout", "time": AT})]
    parts.append(by_docker(padded[cut:]))
    between = json.dumps({"log": "a warning\n", "stream": "stderr", "time": AT})
    log, out = tmp_path / "leader.log", tmp_path / "history"
    log.write_text("\n".join([parts[0], between, parts[1]]), "utf-8")
    assert main(["import", str(log), "--output", str(out)]) == 0
    [line] = next(out.glob("*.jsonl")).read_text().splitlines()
    assert json.loads(line)["settings"]["loadBalancerSheddingIntervalMinutes"] == 12


UNREADABLE = {
    "no seconds": f"2026-11-20 10:06 INFO {LOGGED}",
    "no time": f"INFO {LOGGED}",
    "seconds since 1970": compact(time=MILLIS / 1000, message=LOGGED),
    "an election": "INFO LeaderElection - This broker b1:8080 was elected leader",
    "a cycle": "INFO No broker is below the lower bound",
    "a failure": f"INFO Error when trying to perform load shedding on {BUNDLES[0]} for broker b1",
    "settings": "INFO ServiceConfiguration(loadBalancerEnabled=true, zooKeeperServers=zk)",
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_lines_whose_times_cannot_be_read_are_counted_once(imported, kind):
    unread, other = UNREADABLE[kind], f"{AT} INFO {LOGGED}"
    found, err = imported(other, "INFO Main - starting", unread, other, unread)
    assert found == [(AT, BUNDLES[0], "b1:8080")] * 2
    assert err.count("no time can be read") == 1
    assert "leader.log:3: no time can be read in 2 lines about load balancing, of which this" in err
    assert "so they are not imported; a time is read in the form 2026-11-20T10:06:01Z" in err


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_log_without_a_time_that_can_be_read_is_refused(imported, kind):
    found, err = imported("INFO Main - starting", UNREADABLE[kind], status=2)
    assert found == []
    assert "leader.log:2: no time can be read in this line about load balancing, so" in err


def test_a_line_without_a_date_matters_only_if_it_is_about_load_balancing(imported):
    found, err = imported("10:06:01.000 a banner", f"{AT} INFO {LOGGED}")
    assert found == [(AT, BUNDLES[0], "b1:8080")]
    assert "no time can be read" not in err


UNKNOWN_DATES = {
    "01/12/2025 00:05:00": " INFO",
    "2025/12/01 00:05:00,123": " INFO",
    "[01.12.2025 00:05:00": "] INFO",
    "[2025-12-01] [00:05:00": "] INFO",
    "2025-12-01_00:05:00": " INFO",
    "2025-13-01 00:05:00": " INFO",
    "2025-12-01 10:05:00.123 PM": " INFO",
    "10:05:00 pm": " INFO",
    "20251201 00:05:00": " INFO",
    "251201 00:05:00": " INFO",
    "I1201 00:05:00.123": " main",
    "01 Dec 2025 00:05:00": " INFO",
    "Mon, 01 Dec 2025 00:05:00": " GMT INFO",
    "1. Dez 2025 00:05:00": " INFO",
    "Mon Dec  1 00:05:00 2025": " INFO",
    "Mon Dec  1 00:05:00 UTC 2025": " INFO",
    "Dec 01 2025 00:05:00": " INFO",
    "Dec 01 00:05:00 2024": " INFO",
    "[01/Dec/2025:00:05:00": " +0000] INFO",
    "00:05:00 01/12/2025": " INFO",
    "00:05:00 2025-12-01": " INFO",
    "broker-1 | 01/12/2025 00:05:00": " INFO",
    "01/12/2025 00:05": " INFO",
    "12/1/2025 9:05": ":00 INFO",
}
"""Starts of lines with a date or time in an unknown format, with what follows it."""


@pytest.mark.parametrize("words", [(), ("--date", "2025-12-05"), ("--date", "2025-12-01")])
@pytest.mark.parametrize("start", UNKNOWN_DATES)
def test_a_date_in_an_unknown_format_is_refused_by_name(imported, start, words):
    ahead = f"{AT} INFO {LOGGED}"
    found, err = imported(ahead, f"{start}{UNKNOWN_DATES[start]} {LOGGED}", words=words, status=2)
    assert found == []
    assert (
        f"leader.log:2: '{' '.join(start.split())}' has a date or time in an unknown format" in err
    )
    assert "write ISO dates and 24-hour times with seconds, such as 2026-11-20T22:06:01" in err


def test_a_date_in_an_unknown_format_is_refused_in_json(imported):
    line = compact(level="INFO", message=LOGGED, time="01/12/2025 00:05:00")
    _, err = imported(line, words=("--date", "2025-12-05"), status=2)
    assert "leader.log:1: '01/12/2025 00:05:00' has a date or time in an unknown format" in err


NO_DATES = (
    "10:06:01.000 [main] INFO",
    "[10:06:01,000] 12345 INFO",
    "broker-1  | 10:06:01.000 INFO",
    "10.0.0.1:8080 [123] 10:06:01.000 INFO",
    "INFO [main-1-1] 10:06:01",
)


@pytest.mark.parametrize("start", NO_DATES)
def test_numbers_that_are_not_of_a_date_stand_before_a_time(imported, start):
    found, _ = imported(f"{start} {LOGGED}", words=("--date", "2026-11-20"))
    assert found == [(AT, BUNDLES[0], "b1:8080")]


def test_an_unknown_date_in_other_lines_is_not_refused(imported):
    lines = ("01/12/2025 00:05:00 a banner", f"10:06:01.000 {LOGGED}")
    assert imported(*lines, words=("--date", "2026-11-20"))[0] == [(AT, BUNDLES[0], "b1:8080")]


def of_syslog(*days, at="00:12:00"):
    return [f"{day} {at} host pulsar[123]: {LOGGED}" for day in days]


def test_lines_of_syslog_get_their_year_from_the_date_of_the_first(imported):
    lines = of_syslog("Dec 29", "Dec 31", "Jan  1", "Jan 31", "Feb 29")
    found, _ = imported(*lines, words=("--date", "2027-12-29"))
    days = ["2027-12-29", "2027-12-31", "2028-01-01", "2028-01-31", "2028-02-29"]
    assert [at for at, _, _ in found] == [f"{day}T00:12:00.000Z" for day in days]


@pytest.mark.parametrize(
    ("days", "words", "told"),
    [
        (["Dec 01"], (), "leader.log:1: 'Dec 01 00:12:00' has no year; give the date of the first"),
        (
            ["Dec 01"],
            ("--date", "2025-12-05"),
            "leader.log:1: 'Dec 01 00:12:00' has no year, and is not from --date 2025-12-05; give",
        ),
        (
            ["Dec 01", "Jan  5"],
            ("--date", "2025-12-01"),
            "leader.log:2: 'Jan 5 00:12:00' has no year, and no year puts it within 31 days of",
        ),
        (["Feb 28", "Feb 29"], ("--date", "2025-02-28"), "leader.log:2: 'Feb 29 00:12:00' has no"),
    ],
)
def test_lines_of_syslog_whose_year_is_unclear_are_refused(imported, days, words, told):
    found, err = imported(*of_syslog(*days), words=words, status=2)
    assert found == []
    assert told in err


def test_the_own_date_of_a_line_in_syslog_is_read(imported):
    line = f"Dec 01 00:12:00 host pulsar[123]: 2026-11-20T10:06:01,000+0000 [main] INFO {LOGGED}"
    assert imported(line)[0] == [(AT, BUNDLES[0], "b1:8080")]


@pytest.mark.parametrize(
    "start",
    [
        "2026-11-20T11:06:01,000+01",
        "2026-11-20T02:36:01-07:30",
        "11:06:01.000+01",
        "11:06:01+0100",
        "10:06:01.000Z",
    ],
)
def test_the_zone_of_a_time_is_read(imported, start):
    found, _ = imported(f"{start} [main] INFO {LOGGED}", words=("--date", "2026-11-20"))
    assert found == [(AT, BUNDLES[0], "b1:8080")]
