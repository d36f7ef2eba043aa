"""Messages to a person: wrapped at 80 columns, with whole words."""

from contextlib import suppress

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.text import WIDTH, message_lines

REPORTS = "fixtures/reports/full-direct-memory"
PATH = "/srv/" + "long/" * 20 + "case.json"


def test_a_message_continues_with_an_indentation_and_keeps_long_words():
    assert [*message_lines("it is short\n  next: so is this")] == [
        "it is short",
        "  next: so is this",
    ]
    assert [*message_lines(f"start: {PATH} is not a case")] == [
        "start:",
        f"  {PATH}",
        "  is not a case",
    ]
    first, second = message_lines(f"  next: {'word ' * 18}".rstrip())
    assert first.startswith("  next: word")
    assert second.startswith("    word")


def test_what_a_message_quotes_is_not_wrapped():
    quoted = "    at " + "a " * 60
    assert [*message_lines(quoted)] == [quoted]


@pytest.mark.usefixtures("wrapped")
@pytest.mark.parametrize(
    "words",
    [
        ["explain", REPORTS, "--release", "3.0.7"],
        ["explain", "overload-95-over-86"],
        ["case", REPORTS],
        ["run", "--judge-by", "documented-9.9"],
        ["settings", "loadBalancerEnable"],
        ["run", "--examples", "many-examples-but-without-any-number-at-all-whatever-it-may-be"],
    ],
    ids=" ".join,
)
def test_notes_and_mistakes_fit_on_a_terminal(words, capsys):
    with suppress(SystemExit):
        main(words)
    shown = capsys.readouterr().err.splitlines()
    assert shown
    assert [line for line in shown if len(line) > WIDTH and " " in line.strip()] == []
    assert all(line.startswith(("pulsar-conformance", "usage", " ")) for line in shown)
