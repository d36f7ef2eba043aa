"""Names after `pulsar:`, and the message for each name that cannot be used."""

import os
from pathlib import Path

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.pulsar import connect as opening
from pulsar_conformance.adapters.pulsar import versions
from pulsar_conformance.adapters.pulsar.target import BadTarget, Target
from pulsar_conformance.conformance.commands.main import main

CLASS = "com.acme.MyShedder"


def test_a_version_alone():
    assert Target.parse("3.0.7") == Target("3.0.7")


def test_a_plug_in_and_settings(tmp_path):
    jar = tmp_path / "my.jar"
    jar.touch()
    (tmp_path / "Other.class").touch()
    text = f"3.0.7,strategy={CLASS},classpath={jar}:{tmp_path},set=minUnloadMessage=1000,set=a=b=c"
    found = Target.parse(text)
    assert found.strategy == CLASS
    assert found.class_path == (jar, tmp_path)
    assert found.played is None
    assert Target.parse(f"{text},as=OverloadShedder").played == "OverloadShedder"
    assert found.settings == {"minUnloadMessage": "1000", "a": "b=c"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names neither a version nor a folder"),
        ("3.0.7,stratgy=x", "did you mean strategy=?"),
        ("3.0.7,strategy=", "is not an option here"),
        ("3.0.7,as=OverloadShedder", "as=OverloadShedder: also name your class with strategy="),
        (
            f"3.0.7,strategy={CLASS},as=TransferShedder",
            "a class can be judged only as OverloadShedder",
        ),
        ("3.0.7,set", "is not an option here"),
        ("3.0.7,set=minUnloadMessage", "write set=NAME=VALUE"),
        ("3.0.7,set==5", "write set=NAME=VALUE"),
        ("3.0.7,classpath=/no/such.jar", "there is no /no/such.jar"),
    ],
)
def test_a_name_that_says_nothing_usable(text, said):
    with pytest.raises(BadTarget, match=said.replace("?", r"\?")):
        Target.parse(text)


def test_several_jars_may_be_named_together_or_one_by_one(tmp_path):
    one, two = tmp_path / "a.jar", tmp_path / "b.jar"
    for jar in (one, two):
        jar.touch()
    start = f"3.0.7,strategy={CLASS},classpath={one}"
    assert Target.parse(f"{start}:{two}") == Target.parse(f"{start},classpath={two}")
    assert Target.parse(f"{start}:{two}").class_path == (one, two)


def test_a_folder_of_jars_is_no_folder_of_classes(tmp_path):
    (tmp_path / "mine.jar").touch()
    said = f"the folder {tmp_path} contains jars, but no classes; name each jar, as in classpath="
    with pytest.raises(BadTarget, match=said):
        Target.parse(f"3.0.7,strategy={CLASS},classpath={tmp_path}")
    with pytest.raises(BadTarget, match=r"there is no .*\*; name each jar"):
        Target.parse(f"3.0.7,strategy={CLASS},classpath={tmp_path}/*")
    (tmp_path / "Mine.class").touch()
    assert Target.parse(f"3.0.7,strategy={CLASS},classpath={tmp_path}").class_path == (tmp_path,)


def test_every_release_is_a_file_of_its_own_version():
    known = versions.releases()
    assert list(known) == ["2.4.2", "2.10.5", "3.0.7", "4.0.7", "4.2.4", "5.0.0-M1"]
    assert all(pin.count(":") == 2 for one in known.values() for pin in one.pins)


def test_every_neutral_setting_has_a_reason():
    assert all(one.reason for one in versions.neutral_settings(()))


def refused(name):
    with pytest.raises(AdapterError) as raised:
        connect(name, "documented-3.0", {})
    assert raised.value.phase == "start"
    return str(raised.value)


@pytest.mark.parametrize("name", ["2.7.1", "newest", "3.0", "v4.2.4"])
def test_a_version_that_cannot_be_fetched_is_refused_before_anything_is_started(name, capsys):
    assert main(["run", "--adapter", f"pulsar:{name}", "--out", "nowhere"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    later = "2.10.5, 3.0.7, 4.0.7, 4.2.4, 5.0.0-M1"
    assert f"give a version, 2.8 or later, such as {later}, or 2.4.2, or the lib" in said
    assert "or the lib folder of a distribution or build" in said


def test_a_folder_without_pulsar(complete, tmp_path):
    Path(tmp_path, "guava.jar").touch()
    assert "has no pulsar-broker-VERSION.jar" in refused(f"pulsar:{tmp_path}")


def test_a_folder_with_two_versions(complete, tmp_path):
    for version in ("3.0.7", "3.0.7-tests", "4.0.7"):
        Path(tmp_path, f"pulsar-broker-{version}.jar").touch()
    assert "several pulsar-broker jars, 3.0.7 and 4.0.7" in refused(f"pulsar:{tmp_path}")


def test_a_path_that_java_takes_for_two():
    with pytest.raises(BadTarget, match="Java cannot use a path with"):
        opening._check_class_path(Path("/lib"), Path(f"/my{os.pathsep}lib"))


def test_a_machine_without_java(complete, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    assert "needs Java 17 or newer, and there is none on the PATH" in refused("pulsar:3.0.7")


def test_a_machine_with_an_old_java(complete, monkeypatch, tmp_path):
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "needs Java 17 or newer; the one in JAVA_HOME is version 11" in refused("pulsar:3.0.7")


def test_a_machine_without_the_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    told = "pulsar:3.0.7: start: released Pulsar needs JPype: pip install '.[pulsar]'"
    for settings in ("", ",set=minUnloadMessage=1000,set=maxUnloadPercentage=0.2"):
        assert told in refused(f"pulsar:3.0.7{settings}")


@pytest.fixture
def complete(monkeypatch):
    """Pretend that the machine has Java and JPype."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("shutil.which", _which)


def _which(program):
    import os

    return f"/usr/bin/{program}" if os.environ["PATH"] else None


def test_a_setting_of_a_run_goes_to_released_pulsar_alone():
    from pulsar_conformance.conformance.engine.plan import with_settings_added

    named = with_settings_added(["reference", "pulsar:3.0.7"], ["minUnloadMessage=7"])
    assert named == ["reference", "pulsar:3.0.7,set=minUnloadMessage=7"]


@pytest.mark.parametrize(
    ("adapter", "setting", "said"),
    [
        ("reference", "a=b", "only pulsar:VERSION takes settings"),
        ("pulsar:3.0.7", "a", "write NAME=VALUE"),
        ("pulsar:3.0.7", "a=", "write NAME=VALUE"),
    ],
)
def test_a_setting_that_nobody_takes(adapter, setting, said):
    from pulsar_conformance.conformance.engine.plan import BadPlan, with_settings_added

    with pytest.raises(BadPlan, match=said):
        with_settings_added([adapter], [setting])
