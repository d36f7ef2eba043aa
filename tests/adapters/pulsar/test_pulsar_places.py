"""Texts about a release mention only classes and methods that are in the release's jars."""

import re
import zipfile
from pathlib import Path

import pytest
import yaml
from pulsar_conformance import specs
from pulsar_conformance.adapters.pulsar.connect import released_jars
from pulsar_conformance.adapters.pulsar.target import Target
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.cases.deviations import load_deviations
from pulsar_conformance.reference.released import assignment

pytestmark = pytest.mark.pulsar

ROOT = Path(__file__).parents[3]
DEVIATIONS = ROOT / "fixtures" / "deviations"
BELOW = "src/main/java/"
NAMED = re.compile(r"\b([A-Z]\w+)\.([a-zA-Z_]\w+)\b")
"""Pattern of a class with a method or field, as in `ThresholdShedder.findBundlesForUnloading`."""


class Jars:
    """The classes of a release, found by name, or by module and path."""

    def __init__(self, version):
        _, folder = released_jars(Target(version))
        self._jars = [
            zipfile.ZipFile(jar) for jar in folder.glob(f"org.apache.pulsar.*{version}.jar")
        ]
        self._version = version
        self._members = [
            (jar, member)
            for jar in self._jars
            for member in jar.namelist()
            if member.endswith(".class")
        ]

    def close(self):
        for jar in self._jars:
            jar.close()

    def of_path(self, path):
        """List the bytes of a source file's class in its module's jar; empty if it is missing."""
        module, _, rest = path.partition(f"/{BELOW}")
        wanted = rest.removesuffix(".java") + ".class"
        archive = f"org.apache.pulsar.{module}-{self._version}.jar"
        found = [jar for jar in self._jars if Path(jar.filename).name == archive]
        return [jar.read(wanted) for jar in found if wanted in jar.namelist()]

    def of_name(self, name):
        """Return the bytes of each class of this name, in any package."""
        ends = f"/{name}.class"
        return [jar.read(member) for jar, member in self._members if member.endswith(ends)]


@pytest.fixture(scope="module", params=releases())
def jars(request):
    found = Jars(request.param)
    yield request.param, found
    found.close()


def has(classes, name):
    """True if one of the classes has a method or field with this name among its constants."""
    constant = len(name).to_bytes(2, "big") + name.encode()
    return any(b"\x01" + constant in each for each in classes)


def test_each_known_deviation_names_methods_of_its_release(jars):
    version, found = jars
    for file in DEVIATIONS.glob(f"*-{version}.yaml"):
        for one in load_deviations(file):
            for place in one.source:
                assert has(found.of_path(place.path), place.method), (file.name, one.rule, place)


def profile_of(version):
    return f"released-{'.'.join(version.split('.')[:2])}"


def named_by_the_profile(version):
    """Yield each way and dropped rule of a release, with text that names classes and methods."""
    profile = yaml.safe_load((ROOT / "specs" / "profiles.yaml").read_text("utf-8"))[
        profile_of(version)
    ]
    ways = specs.load().ways
    for name, taken in profile["ways"].items():
        yield name, ways[name].alternatives[taken].place
    yield from profile["without"].items()
    yield "the filters of the placement", " ".join(assignment.FILTERS)


def test_each_way_and_reason_names_methods_of_its_release(jars):
    version, found = jars
    for subject, text in named_by_the_profile(version):
        for name, method in NAMED.findall(text):
            assert has(found.of_name(name), method), (version, subject, name, method)


def test_a_method_that_is_not_there_is_noticed(jars):
    _version, found = jars
    broker = "pulsar-broker/src/main/java/org/apache/pulsar/broker/loadbalance/impl/"
    manager = f"{broker}ModularLoadManagerImpl.java"
    assert has(found.of_path(manager), "doLoadShedding")
    assert not has(found.of_path(manager), "doLoadShed")
    assert not has(found.of_path(manager.replace("/impl/", "/")), "doLoadShedding")
