"""A failure of the adapter is an error, never a verdict on Pulsar; a plug-in's failure names its
stack frame.
"""

import zipfile
from types import SimpleNamespace

import pytest

pytest.importorskip("jpype", reason="needs the extra pulsar")

from pulsar_conformance.adapters import python_host
from pulsar_conformance.adapters.errors import AdapterFailure
from pulsar_conformance.adapters.pulsar import host, jvm, release, shells, strategies
from pulsar_conformance.adapters.pulsar.operations import reports
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.commands.main import main


class Frame:
    def __init__(self, name, line):
        self.name, self.line = name, line

    def getClassName(self):  # noqa: N802  Java's
        return self.name

    def __str__(self):
        return f"{self.name}.decide(Some.java:{self.line})"


def raised(text, *names, cause=None):
    """Return a Java exception that passed through these classes, the innermost first."""
    return SimpleNamespace(
        toString=lambda: text,
        getStackTrace=lambda: [Frame(name, line) for line, name in enumerate(names)],
        getCause=lambda: cause,
    )


def test_a_python_exception_of_the_adapter_is_an_error_of_the_whole_message():
    def breaks(_release, _case):
        return next(iter(()))

    released = host.ReleasedHost.__new__(host.ReleasedHost)
    released._release, released._operations = None, {"manager.choose": breaks}
    with pytest.raises(AdapterFailure, match=r"the adapter failed, not Pulsar, .*StopIteration"):
        released.answer("manager.choose", {})
    answering = python_host.Host("unused")
    answering._object, answering._operations = released, ("manager.choose",)
    reply = answering.reply({"id": 1, "ask": "manager.choose", "cases": [{}]})
    assert b'"code":"adapter"' in reply
    assert b"answers" not in reply


NULL = (
    'java.lang.NullPointerException: Cannot invoke "X.get()" because the return value of '
    '"org.apache.pulsar.broker.PulsarService.{}()" is null'
)


def test_a_null_that_no_stand_in_replied_is_the_adapters(monkeypatch):
    monkeypatch.setattr(shells, "UNREPLIED", {"PulsarService.getAdvisor"})
    assert "no stub has a reply for PulsarService.getAdvisor" in shells.stub_error(
        raised("CompletionException", cause=raised(NULL.format("getAdvisor")))
    )
    assert shells.stub_error(raised(NULL.format("getOther"))) is None
    assert shells.stub_error(raised("java.lang.NullPointerException: own")) is None
    assert shells.stub_error(raised("org.mockito.exceptions.base.MockitoException: x"))


def test_a_plug_ins_exception_shows_its_own_frame_and_pulsars(tmp_path):
    jar = tmp_path / "mine.jar"
    with zipfile.ZipFile(jar, "w") as content:
        content.writestr("com/acme/Throwing.class", b"")
        content.writestr("com/acme/Throwing$Inner.class", b"")
    folder = tmp_path / "classes" / "com" / "other"
    folder.mkdir(parents=True)
    (folder / "Helper.class").touch()
    plugged = host.classes_in([jar, tmp_path / "classes"])
    assert plugged == {"com.acme.Throwing", "com.other.Helper"}
    manager = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"
    error = raised("java.lang.X: why", "java.util.Map", "com.acme.Throwing$Inner", manager)
    assert host.describe_exception(error, plugged) == (
        "java.lang.X: why at com.acme.Throwing$Inner.decide(Some.java:1) "
        f"called by {manager}.decide(Some.java:2)"
    )
    assert (
        host.describe_exception(error, frozenset())
        == f"java.lang.X: why at {manager}.decide(Some.java:2)"
    )


def test_a_release_that_needs_a_newer_java_says_which():
    compiled = "has been compiled by a more recent version of the Java Runtime"
    said = f"java.lang.UnsupportedClassVersionError: A {compiled} (class file version 65.0)"
    assert (
        jvm.linkage_error_text(said) == "a class needs Java 21 or newer; set JAVA_HOME accordingly"
    )
    assert "all jars are present" in jvm.linkage_error_text("java.lang.NoClassDefFoundError: A")


def test_a_class_compiled_for_another_release_is_told_apart_from_a_missing_jar():
    at = "at com.acme.Mine.decide(Mine.java:7)"
    said = jvm.linkage_error_text(f"java.lang.NoSuchMethodError: 'int A.newer()' {at}")
    assert "uses something that this release lacks, java.lang.NoSuchMethodError: 'int A.n" in said
    assert f"{at}; compile a plug-in against the release that runs it" in said
    assert "all jars are present" not in said


def test_a_class_that_was_found_says_what_it_needs():
    said = jvm.load_problem_text(
        "org.acme.Mine", "java.lang.NoClassDefFoundError: org/acme/Base", "4.2.4"
    )
    assert "org.acme.Mine was found, but it needs org.acme.Base, which is neither in" in said
    assert "nor in Pulsar 4.2.4 (NoClassDefFoundError)" in said
    newer = "java.lang.UnsupportedClassVersionError: A (class file version 65.0)"
    assert "was found, but a class needs Java 21" in jvm.load_problem_text("A", newer, "4.2.4")
    misplaced = "java.lang.NoClassDefFoundError: acme/Mine (wrong name: org/acme/Mine)"
    assert "acme.Mine contains org.acme.Mine; give this name" in jvm.load_problem_text(
        "acme.Mine", misplaced, "4.2.4"
    )


def test_a_strategy_of_the_extensible_manager_is_named_in_a_case():
    said = strategies.extensible_strategy_text("TransferShedder")
    assert "leave strategy= out of the adapter's name" in said
    assert 'name TransferShedder in a case of shed.select, as "strategy": "TransferShedder"' in said
    said = strategies.extensible_strategy_text("LeastResourceUsageWithWeight")
    assert "only TransferShedder can be asked, in a case of shed.select" in said
    assert "leave strategy= out" not in said


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_a_release_before_top_bundles_says_that_it_selects_none(manager, monkeypatch):
    class Kept:
        java = load_data = None

        def __init__(self, _service):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_raised):
            pass

    nothing = {"class_exists": lambda _name: False, "methods": lambda *_names: [], "Manager": Kept}
    for name, one in {**nothing, "Service": lambda _configuration: None}.items():
        monkeypatch.setattr(reports, name, one)
    older = SimpleNamespace(configuration=lambda _settings: SimpleNamespace())
    case = {"manager": manager, "settings": {}, "stats": {}, "brokerCount": 1}
    with pytest.raises(release.Unsupported, match=r"has no extensible|every bundle"):
        reports.top_bundles(older, case)


@pytest.mark.pulsar
@pytest.mark.parametrize("version", releases())
def test_each_release_follows_the_protocol(version, capsys):
    assert main(["check", f"pulsar:{version}"]) == 0, capsys.readouterr().out
