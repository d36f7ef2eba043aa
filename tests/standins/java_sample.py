"""The Java sample as classes: started by its source, it is compiled at every start."""

import subprocess

import pytest
from pulsar_conformance.adapters.bundled import BUNDLED

COMPILER = "jdk.compiler/com.sun.tools.javac.Main"


@pytest.fixture(scope="session")
def java_sample(tmp_path_factory):
    """The name of an adapter: the Java sample, compiled once."""
    folder = tmp_path_factory.mktemp("java-sample")
    words = ["java", "--module", COMPILER, "-d", str(folder), str(BUNDLED["java"].place)]
    subprocess.run(words, check=True)
    return f"exec:java -cp {folder} Main"
