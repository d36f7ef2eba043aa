"""Values of `--release` and `--to`: release lines, versions, and other texts."""

import argparse

import pytest
from pulsar_conformance.adapters.arguments import released_version
from pulsar_conformance.conformance.commands.main import main

REPORTS = "fixtures/reports/three-brokers/modular"


@pytest.mark.parametrize("text", ["4.2", "4.2.x", "4.2.X", "4.2.*", "4.2.", "v4.2"])
def test_a_release_line_means_its_newest_examined_version(text, capsys):
    assert released_version(text) == "4.2.4"
    assert f"Pulsar {text} means 4.2.4 here" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["4.2.0", "v4.2.4", "5.0.0-M1", "4.2.4.1", "4.2.5-SNAPSHOT"])
def test_a_version_means_itself(text, capsys):
    assert released_version(text) == text
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "text", ["", "x", "4", "4.x", "4.2.y", "4.2-M1", "4.2.4rc1", "4.2.4,4.0.7"]
)
def test_any_other_text_is_refused_with_what_to_write(text):
    told = f"^{text} is not a version of Pulsar; give a release line, such as 4.2, or a full "
    with pytest.raises(argparse.ArgumentTypeError, match=told):
        released_version(text)


def test_no_command_takes_a_line_for_a_version_of_its_own(capsys):
    assert main(["explain", REPORTS, "--release", "4.2.x"]) == 0
    told = capsys.readouterr()
    assert "4.2.x is" not in told.out + told.err
    assert "was not examined" not in told.out + told.err
