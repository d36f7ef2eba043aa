"""If the input for a release cannot be used, there is one message and no verdict."""

import importlib.util
import shutil
import subprocess

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.pulsar.shelf import CachedJars
from standins.releases import library_of

NEEDED = ("java", "javac", "mvn")
HERE = all(map(shutil.which, NEEDED)) and importlib.util.find_spec("jpype") is not None
pytestmark = [
    pytest.mark.pulsar,
    pytest.mark.skipif(not HERE, reason="needs Java, Maven and the extra pulsar"),
]

PROFILE = "documented-3.0"
SHEDDER = """
package com.acme;
import com.google.common.collect.Multimap;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.*;
public {what} implements LoadSheddingStrategy {{
    {constructor}
    public Multimap<String, String> findBundlesForUnloading(LoadData l, ServiceConfiguration c) {{
        return null;
    }}
}}
"""
PLACER = """
package com.acme;
import java.util.*;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.*;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;
public class Picky implements ModularLoadManagerStrategy {
    public Picky(int needed) { }
    public Optional<String> selectBroker(
            Set<String> among, BundleData bundle, LoadData load, ServiceConfiguration c) {
        return Optional.empty();
    }
}
"""
SOURCES = {
    "Abstract": SHEDDER.format(what="abstract class Abstract", constructor=""),
    "Closed": SHEDDER.format(
        what="class Closed",
        constructor='public Closed() { throw new IllegalStateException("no licence"); }',
    ),
    "Mute": SHEDDER.format(what="class Mute", constructor=""),
    "Picky": PLACER,
}


def refused(adapter):
    with pytest.raises(AdapterError) as told, connect(adapter, PROFILE, {}):
        pass
    assert "Traceback" not in str(told.value)
    return str(told.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Compile strategies against the release, which is downloaded if it is missing."""
    folder = tmp_path_factory.mktemp("plug-ins")
    files = [folder / f"{name}.java" for name in SOURCES]
    for file in files:
        file.write_text(SOURCES[file.stem])
    words = ["javac", "-cp", f"{library_of('3.0.7')}/*", "-d", folder, *files]
    subprocess.run(words, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Abstract", "InstantiationException"),
        ("Closed", "IllegalStateException: no licence"),
        ("Picky", "NoSuchMethodException"),
    ],
)
def test_a_strategy_that_cannot_be_made_is_not_replaced_by_pulsars_own(folder, name, why):
    said = refused(f"pulsar:3.0.7,strategy=com.acme.{name},classpath={folder}")
    assert f"cannot instantiate com.acme.{name}" in said
    assert why in said


def test_a_strategy_that_gives_nothing_back_fails_in_the_release(folder):
    case = {
        "strategy": None, "settings": {}, "brokers": {"b1": {}, "b2": {}}, "bundles": {},
        "recentlyUnloaded": {},
    }  # fmt: skip
    adapter = f"pulsar:3.0.7,strategy=com.acme.Mute,classpath={folder}"
    with connect(adapter, PROFILE, {}) as connection:
        [answer] = connection.ask("shed.select", [case])
    assert answer["failed"].startswith("java.lang.NullPointerException")


NEWER = {
    "org/apache/pulsar/broker/loadbalance/LoadData": """
package org.apache.pulsar.broker.loadbalance;
public class LoadData { public void newer() { } }
""",
    "com/acme/Newer": SHEDDER.format(what="class Newer", constructor="").replace(
        "return null;", "l.newer(); return null;"
    ),
}
"""A strategy, and a class of Pulsar with a method that no release has."""


def test_a_class_for_another_release_is_named_with_its_line(folder, tmp_path):
    for name, text in NEWER.items():
        (tmp_path / f"{name}.java").parent.mkdir(parents=True)
        (tmp_path / f"{name}.java").write_text(text)
    jars = f"{tmp_path}:{CachedJars('3.0.7').library}/*"
    words = ["javac", "-cp", jars, "-d", tmp_path / "all", tmp_path / "com/acme/Newer.java"]
    subprocess.run(words, check=True, capture_output=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "all" / "com").rename(tmp_path / "mine" / "com")
    case = {
        "strategy": None, "settings": {}, "brokers": {"b1": {}, "b2": {}}, "bundles": {},
        "recentlyUnloaded": {},
    }  # fmt: skip
    adapter = f"pulsar:3.0.7,strategy=com.acme.Newer,classpath={tmp_path / 'mine'}"
    with connect(adapter, PROFILE, {}) as connection, pytest.raises(AdapterError) as told:
        connection.ask("shed.select", [case])
    said = str(told.value)
    assert "NoSuchMethodError" in said
    assert "at com.acme.Newer.findBundlesForUnloading(Newer.java:" in said
    assert "compile a plug-in against the release that runs it" in said
    assert "the implementation wrote this message" not in said


def test_a_class_whose_superclass_is_missing_was_found(folder, tmp_path):
    source = tmp_path / "Derived.java"
    source.write_text("package com.acme; public class Derived extends Mute { }")
    jars = f"{CachedJars('3.0.7').library}/*:{folder}"
    words = ["javac", "-cp", jars, "-d", tmp_path / "classes", source]
    subprocess.run(words, check=True, capture_output=True)
    adapter = f"pulsar:3.0.7,strategy=com.acme.Derived,classpath={tmp_path / 'classes'}"
    said = refused(adapter)
    assert "com.acme.Derived was found, but it needs com.acme.Mute" in said
    assert "there is no class" not in said
    with connect(f"{adapter}:{folder}", PROFILE, {}) as connection:
        assert connection.hello.name == "pulsar+Derived"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("minUnloadMesage=1000", "has no setting minUnloadMesage; did you mean minUnloadMessage?"),
        ("minUnloadMessage=many", "rejects the settings: failed to initialize minUnloadMessage"),
    ],
)
def test_a_setting_that_the_release_cannot_take(setting, said):
    assert said in refused(f"pulsar:3.0.7,set={setting}")


def test_a_strategy_may_have_settings_that_pulsar_does_not_know(folder):
    adapter = f"pulsar:3.0.7,strategy=com.acme.Mute,classpath={folder},set=acmeLimit=7"
    with connect(adapter, PROFILE, {}) as connection:
        assert connection.hello.name == "pulsar+Mute"


def test_a_folder_that_lacks_a_jar(tmp_path):
    for jar in library_of("3.0.7").glob("*.jar"):
        if "pulsar-common-" not in jar.name:
            (tmp_path / jar.name).symlink_to(jar)
    assert "check that all jars are present and complete" in refused(f"pulsar:{tmp_path}")
