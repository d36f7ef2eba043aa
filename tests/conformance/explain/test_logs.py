"""Explanations recompute the numbers in lines that the load balancer logs."""

import gzip
import json
import re
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main

BEFORE = "12:00:01.000 [pulsar-load-manager-1-1] INFO  o.a.p.b.loadbalance.impl."
OVER_AVERAGE = (
    "ThresholdShedder - Attempting to shed load on broker-1:8080, which has max resource usage "
    "above avgUsage  and threshold {}% > {}% + {}% -- Offloading at least {} MByte/s of traffic, "
    "left throughput {} MByte/s"
)
OVER_THRESHOLD = (
    "OverloadShedder - Attempting to shed load on broker-1:8080, which has resource usage {}% "
    "above threshold {}% -- Offloading at least {} MByte/s of traffic ({})"
)


@pytest.fixture
def explained(tmp_path, capsys):
    def explain(*lines):
        file = tmp_path / "broker.log"
        file.write_text("".join(f"{BEFORE}{line}\n" for line in lines))
        status = main(["explain", "--log", str(file)])
        said = capsys.readouterr()
        return status, " ".join(said.out.split()), said.err

    return explain


@pytest.mark.parametrize("scale", [1, 100])
def test_a_plan_over_the_average_is_recomputed(explained, scale):
    """72 % exceed 43.3 + 10 %: 23.7 % of 100 MiB/s go. Before 2.10, the log has fractions."""
    figures = [0.72 * scale, 0.433 * scale, 0.1 * scale, 23.7, 76.3]
    status, out, _ = explained(OVER_AVERAGE.format(*figures))
    assert status == 0
    assert "72.00 - (43.30 + 10) + 5 = 23.70 % of 100 MiB/s (104.9 MB/s)" in out
    assert "the line agrees" in out
    _, out, _ = explained(OVER_AVERAGE.format(*figures[:3], 30, 70))
    assert "the line differs: it says 30 MiB/s" in out
    _, out, _ = explained(OVER_AVERAGE.format(0.5 * scale, *figures[1:3], 1.7, 98.3))
    assert "the line differs: 50.00 % is under 43.30 + 10 %" in out


def test_a_plan_over_the_threshold_names_the_traffic_and_the_resource(explained):
    resources = "cpu: 90.00%, memory: 12.00%, directMemory: 17.00%"
    status, out, _ = explained(OVER_THRESHOLD.format("90.0", "85.0", "10.0", resources))
    assert status == 0
    assert "90.00 - 85 + 5 = 10.00 % of its traffic" in out
    assert "it carried 100 MiB/s" in out
    assert "its busiest resource is cpu, 90 %" in out


def test_the_first_form_of_a_plan_over_the_threshold_is_read(explained):
    line = (
        "OverloadShedder - Attempting to shed load on b:4080, which has max resource usage above "
        "threshold 0.87% > 0.85% -- Offloading at least 0.7 MByte/s of traffic"
    )
    _, out, _ = explained(line)
    assert "87.00 - 85 + 5 = 7.00 % of its traffic" in out
    assert "it carried 10 MiB/s" in out


def test_what_keeps_a_broker_from_unloading_is_explained(explained):
    status, out, _ = explained(
        "ThresholdShedder - [broker-1:8080] broker is planning to shed throughput 3.5 MByte/s less "
        "than minimumThroughputThreshold 10.0 MByte/s, skipping bundle unload.",
        "ThresholdShedder - HIGH USAGE WARNING : Sole namespace bundle a/b/0x00000000_0xffffffff "
        "is overloading broker broker-2:8080. No Load Shedding will be done on this broker",
        "ThresholdShedder - nothing to compute",
    )
    assert status == 0
    assert "3.5 MiB/s (3.67 MB/s) to shed are below 10 MiB/s" in out
    assert "a/b/0x00000000_0xffffffff is its only bundle" in out
    assert "2 lines explained; all figures agree" in out
    assert "1 other line of shedders and splits not explained" in out


def test_an_unload_that_failed_is_reported_as_failed(explained):
    status, out, _ = explained(
        "ModularLoadManagerImpl - [ThresholdShedder] Unloading bundle: a/b/0x00000000_0x80000000 "
        "from broker b1:8080 to dest broker b2:8080",
        "WARN ModularLoadManagerImpl - Error when trying to perform load shedding on "
        "a/b/0x00000000_0x80000000 for broker b1:8080",
    )
    assert status == 0
    assert "the unload of a/b/0x00000000_0x80000000 from b1:8080 failed" in out
    assert "it may choose the bundle again" in out


def test_a_log_without_unloads_is_refused(explained, tmp_path, capsys):
    status, _, err = explained("nothing of interest")
    assert status == 2
    assert "no known line about a planned" in err
    assert main(["explain", "--log", str(tmp_path / "none.log")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["explain", "--log", "x", "--example", "y"]) == 2
    assert "give exactly one thing to explain" in capsys.readouterr().err


ATTRIBUTES = {
    "class": "ThresholdShedder",
    "bundle": "a/b/0x00000000_0x80000000",
    "sourceBroker": "b1:8080",
    "destBroker": "b2:8080",
}
UNLOADING = "Unloading bundle from source broker to dest broker"


@pytest.mark.parametrize(
    "line",
    [
        f"ModularLoadManagerImpl - {UNLOADING} "
        + "{"
        + ", ".join(f"{name}={one}" for name, one in sorted(ATTRIBUTES.items()))
        + "}",
        json.dumps({"level": "INFO", "message": UNLOADING, "contextMap": ATTRIBUTES}),
        json.dumps({"message": UNLOADING, **ATTRIBUTES}),
    ],
)
def test_the_attributes_of_a_structured_line_are_read(tmp_path, capsys, line):
    """5.0 logs numbers as attributes, which a layout prints at the end of the line or as JSON."""
    file = tmp_path / "broker.log"
    file.write_text(line + "\n")
    assert main(["explain", "--log", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "ThresholdShedder unloads a/b/0x00000000_0x80000000 from b1:8080 to b2:8080" in out


@pytest.mark.parametrize(
    ("line", "explained_as"),
    [
        (
            "ThresholdShedder - No broker is below the lower bound {avgUsage=0.5, maxUsage=0.51, "
            "maxUsageBroker=b3:8080, threshold=0.1}",
            "no broker is under 50.00 - 10 %",
        ),
        (
            "ThresholdShedder - broker in lower boundary shedding is planning to shed throughput "
            "MByte/s less than minimumThroughputThreshold MByte/s, skipping bundle unload "
            "{broker=b1:8080, throughput=3.5, value=10.0}",
            "3.5 MiB/s (3.67 MB/s) to shed are below 10 MiB/s",
        ),
        (
            "UniformLoadShedder - Found bundle to unload with msgRate {bundle=2461.036}",
            "chose a bundle with 2461.04 msg/s",
        ),
        (
            "AvgShedder - HIGH USAGE WARNING: Sole namespace bundle is overloading broker. No Load "
            "Shedding will be done on this broker {broker=b1:8080, bundle=a/b/0x0_0x1}",
            "b1:8080: a/b/0x0_0x1 is its only bundle",
        ),
        (
            "ModularLoadManagerImpl - The destination broker is the same as the current owner "
            "broker for bundle {broker=b1:8080, bundle=a/b/0x0_0x1, class=AvgShedder}",
            "AvgShedder does not unload a/b/0x0_0x1: b1:8080, its owner, would be chosen",
        ),
        (f"ModularLoadManagerImpl - {UNLOADING}", "omits the attributes"),
    ],
)
def test_figures_in_attributes_are_explained(explained, line, explained_as):
    status, out, _ = explained(line)
    assert (status, explained_as in out) == (0, True), out


TRANSFER = "TransferShedder - "


@pytest.mark.parametrize(
    ("line", "explained_as"),
    [
        (
            "ThresholdShedder - broker b1:8080 in lower boundary shedding is planning to shed "
            "throughput 6.0 MByte/s less than minimumThroughputThreshold 10.0 MByte/s, skipping "
            "bundle unload.",
            "ThresholdShedder, b1:8080: it keeps all 6 MiB/s (6.291 MB/s) to shed are below 10",
        ),
        (
            "UniformLoadShedder - Found bundle to unload with throughput 2.5E7",
            "chose a bundle with 2.5e+07 bytes/s",
        ),
        (
            "UniformLoadShedder - Found bundle to unload with msgThroughput 2000.5",
            "chose a bundle with 2000.5 bytes/s",
        ),
        (
            "UniformLoadShedder - Found bundle to unload with msgThroughput {msgThroughput=2000.5}",
            "chose a bundle with 2000.5 bytes/s",
        ),
        (
            f"{TRANSFER}Attempting to shed load from broker:b1:8080 to broker:b3:8080, which has "
            "the max resource usage:90.00%, targetStd:0.25, -- Trying to offload 40.00%, 39062.50 "
            "KByte/s of traffic.",
            "b1:8080: its load is 90.00 %, b3:8080 10.00 % to move: half of the difference is "
            "40.00; 40.00 / 90.00 of its traffic are 38.15 MiB/s (40 MB/s), so it carried 85.83",
        ),
        (
            f"{TRANSFER}Decided to unload bundle:a/b/0x0_0x1, throughput:4882.81 KByte/s. The "
            "traffic marked to unload:4882.81 - gain:0.00 = 4882.81 KByte/s. Target:39062.50 "
            "KByte/s.",
            "moves a/b/0x0_0x1 moved: 4.768 MiB/s (5 MB/s) less 0 MiB/s (0 MB/s) in exchange, of "
            "38.15 MiB/s (40 MB/s) to be moved the line agrees",
        ),
        (
            f"{TRANSFER}Can't unload bundle:a/b/0x0_0x1. The traffic to unload:90.00 - gain:10.00 "
            "= 70.00 KByte/s is greater than the target :50.00 KByte/s.",
            "TransferShedder keeps a/b/0x0_0x1: with it, too much traffic would move",
        ),
        (
            "BundleSplitterTask - The bundle a/b/0x0_0x1 is considered to be unload. Topics: "
            "5/1000, Sessions: (700+301)/1000, Message Rate: 10.5/30000 (msgs/s), Message "
            "Throughput: 1.5E2/100 (MB/s)",
            "1001 producers and consumers are over 1000; 150 MiB/s are over 100: the line agrees",
        ),
        (
            "BundleSplitterTask - The bundle is considered to be unloaded {bundle=a/b/0x0_0x1, "
            "consumerCount=301, maxBundleBandwidthMiB=100, maxBundleMsgRate=30000, "
            "maxBundleSessions=-1, maxBundleTopics=1000, messageRate=10.5, "
            "messageThroughputMiB=1.5, producerCount=700, topics=5}",
            "a/b/0x0_0x1 is to be split (BundleSplitterTask.findBundlesToSplit) the line differs",
        ),
        (
            "ModularLoadManagerImpl - Load-manager splitting bundle a/b/0x0_0x1 and unloading true",
            "a/b/0x0_0x1 is split, and its parts are unloaded",
        ),
    ],
)
def test_lines_of_every_shedder_and_of_splits_are_explained(explained, line, explained_as):
    status, out, _ = explained(line)
    assert (status, explained_as in out) == (0, True), out


# AvgShedder moves only an amount above the minimum, and logs any other amount as less.
def test_an_amount_that_is_exactly_the_minimum_agrees(explained):
    _, out, _ = explained(
        "AvgShedder - broker:[b1] is planning to shed bundles to broker:[b2],but the throughput "
        "1.0 MByte/s is less than minimumThroughputThreshold 1.0 MByte/s, and the msgRate 500.0 "
        "rate/s is also less than minimumMsgRateThreshold 1000.0 rate/s, skipping bundle unload."
    )
    assert "the line agrees" in out


def test_a_sum_that_is_wrong_is_found_and_other_lines_are_counted(explained):
    _, out, _ = explained(
        f"{TRANSFER}Can't unload bundle:a/b/0x0_0x1. The traffic to unload:90.00 - gain:10.00 = "
        "70.00 KByte/s is greater than the target :50.00 KByte/s.",
        f"{TRANSFER}brokers' load stats:LoadStats(sum=1.2, avg=0.4)",
        "ModularLoadManagerImpl - Successfully split namespace bundle a/b/0x0_0x1",
    )
    assert "the figures of 1 differ" in out
    assert "2 other lines of shedders and splits not explained" in out


LOGS = Path(__file__).parent / "logs"
PLANNED = re.compile(r"Attempting to shed load on (\S+), ")
UNLOADED = re.compile(r"\[(Threshold|Overload)Shedder\] Unloading bundle: (\S+) from broker (\S+)")


def log_of(version):
    """Return the log of a release's cluster on loopback, with cycles of each strategy."""
    return (LOGS / f"broker-{version}.log").read_text().splitlines()


@pytest.mark.parametrize("version", ["3.0.7", "4.2.4"])
def test_each_line_of_a_running_cluster_agrees_with_its_figures(explained, version):
    lines = log_of(version)
    status, out, _ = explained(*lines)
    assert status == 0
    assert "all figures agree" in out
    unloads = [found for line in lines if (found := UNLOADED.search(line))]
    assert len(unloads) >= 7
    for unload in unloads:
        assert f"Shedder unloads {unload[2]} from {unload[3]} to " in out
    plans = sum(bool(PLANNED.search(line)) for line in lines)
    assert out.count(" % of its traffic") + out.count("the line agrees") >= plans >= 5
    assert out.count("AvgShedder, ") == 4


@pytest.mark.parametrize("version", ["3.0.7", "4.2.4"])
@pytest.mark.parametrize(
    ("figure", "changed"),
    [("Offloading at least 20.48", "Offloading at least 30.48"), (" 0.648", " 2.648")],
)
def test_a_changed_figure_of_a_log_is_found(explained, version, figure, changed):
    lines = "\n".join(log_of(version))
    assert figure in lines
    _, out, _ = explained(*lines.replace(figure, changed).splitlines())
    assert "the figures of 1 differ" in out


def test_a_compressed_log_and_one_that_docker_saved_are_read(tmp_path, capsys):
    line = (
        "ThresholdShedder - Attempting to shed load on b1:8080, which has max resource usage above "
        "avgUsage  and threshold 72.0% > 43.33% + 10.0% -- Offloading at least 22.6 MByte/s of "
        "traffic, left throughput 77.4 MByte/s"
    )
    said = []
    for name, content in (
        ("leader.log", line.encode()),
        ("leader.log.gz", gzip.compress(line.encode())),
        ("docker.log", json.dumps({"log": f"{line}\n", "stream": "stdout"}).encode()),
    ):
        file = tmp_path / name
        file.write_bytes(content)
        assert main(["explain", "--log", str(file)]) == 0
        said.append(capsys.readouterr().out.replace(name, "leader.log"))
    assert said[0] == said[1] == said[2]
    damaged = tmp_path / "damaged.log.gz"
    damaged.write_bytes(gzip.compress(line.encode())[:20])
    assert main(["explain", "--log", str(damaged)]) == 2
    assert capsys.readouterr().err.startswith(f"pulsar-conformance: {damaged}: ")
