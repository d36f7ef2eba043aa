"""Parquet files of a history: a damaged file is quarantined as a whole, and all others are used."""

import json
from collections import Counter, defaultdict
from datetime import datetime

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.input import parquets
from pulsar_conformance.audit.input.parquets import is_about_files
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from standins.records import GOOD, history, line, reasons, said, told
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark


@pytest.fixture(scope="module")
def session(spark):
    return spark.session


def test_parquet_files_of_records_in_columns_or_as_text(session, tmp_path):
    texts = session.createDataFrame([(text,) for text in GOOD], "line string")
    texts.coalesce(1).write.parquet(str(tmp_path / "texts"))
    fields = "kind string, cluster string, at {}, broker string"
    row = "'leader', 'eu-2', {}'2026-11-20 10:00:00', 'b1:8080'"
    for name in ("timestamp", "timestamp_ntz"):
        value = F.expr(f"named_struct('one', struct({row.format(name)}))")
        columns = session.range(1).select(value.alias("x")).select("x.one.*")
        named = columns.toDF(*(part.split()[0] for part in fields.split(", ")))
        named.coalesce(1).write.parquet(str(tmp_path / name))
    nested = session.range(1).selectExpr(
        "'load_report' kind", "'eu-2' cluster", "'2026-11-20T10:00:00Z' at", "'b1' broker",
        f"'{json.dumps(said())}' report",
    )  # fmt: skip
    nested.coalesce(1).write.parquet(str(tmp_path / "nested"))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    rows = told(session, tmp_path)
    assert reasons(rows) == {None: len(GOOD) + 2, "duplicate": 1, "damaged-parquet": 1}


def test_a_parquet_file_that_breaks_off_when_it_is_read(session, tmp_path):
    texts = [line("leader", f"2026-11-20T10:00:{n:02}Z", broker=f"b{n}") for n in range(60)]
    frame = session.createDataFrame([(text,) for text in texts], "line string")
    frame.coalesce(1).write.option("compression", "none").parquet(str(tmp_path / "whole"))
    (tmp_path / "whole" / "_SUCCESS").unlink()
    (file,) = (tmp_path / "whole").glob("*.parquet")
    content = bytearray(file.read_bytes())
    content[4:60] = b"\xff" * 56
    file.write_bytes(content)
    for hidden in (tmp_path / "whole").glob(".*"):
        hidden.unlink()
    rows = told(session, history(tmp_path, GOOD), whole=False)
    assert reasons(rows) == {None: len(GOOD), "damaged-parquet": 1}


def rows_of(number, count=60):
    return [
        line("leader", f"2026-11-20T10:{number:02}:{n:02}Z", broker=f"b{n}") for n in range(count)
    ]


def parquet_of(path, texts, **options):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table([texts], ["line"])
    usual = {"compression": "none", "use_dictionary": False, "row_group_size": 20}
    parquet.write_table(table, str(path), **{**usual, **options})
    return bytearray(path.read_bytes())


def flipped(content, place, width=56):
    content[place : place + width] = b"\xff" * width
    return content


BROKEN = {
    "no-footer": lambda made: made[:-8],
    "cut-in-two": lambda made: made[: len(made) // 2],
    "no-magic": lambda made: b"XXXX" + made[4:-4] + b"XXXX",
    "footer-length": lambda made: made[:-8] + b"\xff\xff\xff\x7f" + made[-4:],
    "footer": lambda made: flipped(made, len(made) - 200),
    "empty-but-magic": lambda _made: bytearray(b"PAR1PAR1"),
    "text": lambda _made: bytearray(b"kind: cycle"),
    "first-page-header": lambda made: flipped(made, 4),
    "page-header-of-the-second-group": lambda made: flipped(made, made.find(b"10:09:20") - 80),
    "page-header-of-the-last-group": lambda made: flipped(made, made.find(b"10:09:40") - 80),
}
"""Ways to damage a file of 60 rows in three groups."""


def test_a_damaged_parquet_file_is_one_line_of_the_quarantine(session, tmp_path):
    for number, (name, damage) in enumerate(BROKEN.items()):
        file = tmp_path / f"{name}.parquet"
        made = parquet_of(file, rows_of(9 if "group" in name else 20 + number))
        file.write_bytes(damage(made))
    for number in range(3):
        parquet_of(tmp_path / f"whole-{number}.parquet", rows_of(40 + number))
    rows = told(session, tmp_path, whole=False)
    of = defaultdict(Counter)
    for name, _, _, why in rows:
        of[name.removesuffix(".parquet")][why == "damaged-parquet"] += 1
    assert all(of[f"whole-{number}"] == {False: 60} for number in range(3))
    for name in BROKEN:
        assert of[name] == {True: 1}, name


def test_a_bad_footer_beside_a_bad_page(session, tmp_path):
    """If files cannot be read together, they are checked one by one."""
    made = parquet_of(tmp_path / "page.parquet", rows_of(1))
    (tmp_path / "page.parquet").write_bytes(flipped(made, 4))
    (tmp_path / "footer.parquet").write_bytes(
        parquet_of(tmp_path / "footer.parquet", rows_of(2))[:-8]
    )
    parquet_of(tmp_path / "whole.parquet", rows_of(3, 36))
    rows = told(session, tmp_path)
    assert reasons(rows) == {None: 36, "damaged-parquet": 2}


def test_parquet_of_other_writers(session, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    time = arrow.array([datetime(2026, 11, 20, 10)], arrow.timestamp("ns"))
    text = [arrow.array([one]) for one in (b"leader", b"eu-1", b"b1:8080")]
    names = ["kind", "cluster", "broker", "at", "odd`name"]
    columns = [*text, time, arrow.array([1])]
    parquet.write_table(arrow.table(columns, names), str(tmp_path / "ns.parquet"))
    number = [*text, arrow.array([1_795_168_860_000]), arrow.array([1])]
    parquet.write_table(arrow.table(number, names), str(tmp_path / "ms.parquet"))
    rows = told(session, tmp_path)
    assert reasons(rows) == {None: 2}


def test_files_with_columns_that_spark_cannot_read_are_quarantined(session, tmp_path):
    """The faults: a repeated name, a type without JSON form, a compression, and no columns."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    cycle = {"kind": "cycle", "cluster": "eu-1", "at": "2026-11-20T10:0{}:00Z"}

    def write(number, more, **options):
        values = [[value.format(number)] for value in cycle.values()]
        names = [*cycle, *(name for name, _ in more)]
        table = arrow.table([*values, *(column for _, column in more)], names)
        parquet.write_table(table, str(tmp_path / f"{number}.parquet"), **options)

    write(0, [])
    write(1, [("KIND", ["cycle"])])
    write(2, [("opens", arrow.array([1], arrow.time64("us")))])
    write(3, [], compression="brotli")
    write(4, [("kind", ["cycle"])])
    parquet.write_table(arrow.table({}), str(tmp_path / "none.parquet"))
    rows = told(session, tmp_path, whole=False)
    assert reasons(rows) == {None: 1, "damaged-parquet": 4}


def test_a_file_that_only_spark_finds_damaged_is_quarantined(session, tmp_path):
    """The metadata of a column's pages spells the column's name differently."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name, count in (("sound", 60), ("flawed", 1)):
        file = tmp_path / f"{name}.parquet"
        times = [f"2026-11-20T10:00:{number:02}Z" for number in range(count)]
        fixed = [["leader"] * count, ["eu-1"] * count, [name] * count, [["a"]] * count]
        table = arrow.table([times, *fixed], ["at", "kind", "cluster", "broker", "more"])
        parquet.write_table(table, str(file))
    made = file.read_bytes()
    assert made.count(b"\x04list\x07element") == 1
    file.write_bytes(made.replace(b"\x04list\x07element", b"\x04\xe6ist\x07element"))
    assert reasons(told(session, tmp_path, whole=False)) == {None: 60, "damaged-parquet": 1}


@pytest.mark.parametrize(
    ("error", "of_files"),
    [
        (PySparkException("[FAILED_READ_FILE.NO_HINT] Encountered error"), True),
        (PySparkException("java.lang.OutOfMemoryError: Java heap space"), False),
        (PySparkException("java.io.IOException: No space left on device"), False),
        (Py4JNetworkError("Answer from Java side is empty"), False),
        (KeyError("schema"), False),
    ],
)
def test_only_errors_about_files_are_taken_for_damaged_files(
    session, tmp_path, monkeypatch, error, of_files
):
    assert is_about_files(error) == of_files
    parquet_of(tmp_path / "whole.parquet", rows_of(1))

    def broken(_spark, _path):
        raise error

    monkeypatch.setattr(parquets, "_open_together", broken)
    if of_files:
        assert reasons(told(session, tmp_path)) == {None: 60}
    else:
        with pytest.raises(type(error)):
            told(session, tmp_path)
