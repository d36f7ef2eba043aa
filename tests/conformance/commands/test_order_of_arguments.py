"""Options may come before, between and after the other arguments of every command."""

import argparse
from itertools import chain

import pytest
from pulsar_conformance.conformance.commands.main import COMMANDS, parser_of

MANY = {"*": 2, "+": 2, "?": 1, None: 1}
"""Number of values to pass for an argument, by its `nargs`."""


def single_commands(parser):
    """Yield a command's parser, or those of its subcommands."""
    subcommands = [one for one in parser._actions if one.nargs == argparse.PARSER]
    for one in subcommands:
        yield from one.choices.values()
    if not subcommands:
        yield parser


PARSERS = {
    one.prog.removeprefix("pulsar-conformance "): one
    for name in COMMANDS
    for one in single_commands(parser_of(name))
}
WITH_POSITIONALS = [
    name
    for name, parser in PARSERS.items()
    if any(one.nargs != argparse.REMAINDER for one in parser._get_positional_actions())
]


def values_of(parser):
    """Return values for all arguments of a parser that are not options."""
    return [
        str(next(iter(one.choices))) if one.choices else f"{one.dest}{place}"
        for one in parser._get_positional_actions()
        for place in range(MANY.get(one.nargs, one.nargs))
    ]


def options_of(parser):
    """Return the required options of a parser and one more, each with its value."""
    options = [one for one in parser._get_optional_actions() if one.dest != "help"]
    plain = [one for one in options if one.nargs is None and not one.type and not one.choices]
    flags = [one for one in options if one.nargs == 0]
    needed = [one for one in options if one.required]
    chosen = {id(one): one for one in [*needed, *plain[:1], *flags[:1]]}.values()
    return [[one.option_strings[0], *([] if one.nargs == 0 else ["given"])] for one in chosen]


@pytest.mark.parametrize("name", WITH_POSITIONALS)
def test_options_may_stand_anywhere(name):
    """A command gets the same arguments wherever its options stand."""
    parser = PARSERS[name]
    values, options = values_of(parser), [*chain(*options_of(parser))]
    expected = parser.parse_known_args([*options, *values])
    assert expected[1] == []
    for place in range(len(values) + 1):
        words = [*values[:place], *options, *values[place:]]
        assert parser.parse_known_args(words) == expected, words


def test_a_file_may_follow_the_options_of_ask():
    """The files of `ask` may follow an option that follows the adapter."""
    args = parser_of("ask").parse_args(["reference", "--judge-by", "documented-4.2", "one", "two"])
    assert (args.adapter, args.files) == ("reference", ["one", "two"])


def test_words_after_two_dashes_are_no_options():
    """Words after `--` are arguments even if they start with a dash."""
    args = parser_of("ask").parse_args(["reference", "--batch", "3", "--", "-one", "--two"])
    assert (args.files, args.batch) == (["-one", "--two"], 3)
