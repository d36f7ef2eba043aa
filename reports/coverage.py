"""The rules and checks for each sentence of the documents: `nox -s coverage -- --documents DIR`.

Sentences are numbered from 1 within each section, as in the sources of rules; headings and labels
of notes do not count. A list item, a row of a table, a comment and a line with a setting each start
a new sentence, and a block of code or a table of the monitor counts as one.

Exit status: 0 on success; 1 if a text differs from its fingerprints, no rule claims a sentence, or
a rule has no check; 2 for invalid input.
"""

import argparse
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.reports.texts import Text, find_texts, sentence_changes
from pulsar_conformance.specs import Document, Rule, Sentence, Specs, load, load_from
from pulsar_conformance.specs.claims import claiming_rules
from pulsar_conformance.specs.errors import UserError, status_of
from rich.console import Console
from rich.table import Table
from rich.text import Text as Line

STYLES = {
    "claimed": "green",
    "unchecked": "bold red",
    "none": "dim",
    "awaits": "yellow",
    "nobody's": "bold red",
}
"""Styles of sentences on a terminal, by the status of the sentence."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report. Return the exit status."""
    options = _arguments(argv)
    return status_of(lambda: _report(options), OSError)


def _report(options: argparse.Namespace) -> int:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False, markup=False, emoji=False)
    specs = load_from(options.specs) if options.specs else load()
    texts = find_texts(specs.documents, options.documents)
    wrong = 0
    totals: dict[str, Counter[str]] = {}
    for document in specs.documents.values():
        if document.id in texts:
            text = texts[document.id]
            wrong += _print_differences(console, document, text)
            totals[document.id] = _print_document(console, specs, document, text, options.unclaimed)
    _print_totals(console, totals)
    if missing := [one for name, one in specs.documents.items() if name not in texts]:
        named = ", ".join(one.id for one in missing)
        problem = f"no file in {options.documents} has the text of {named}"
        raise UserError(
            f"{problem}; save it there, from {' and '.join(one.url for one in missing)}"
        )
    lacking = any(total["nobody's"] or total["unchecked"] for total in totals.values())
    return 1 if wrong or lacking else 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="coverage", description=__doc__)
    parser.add_argument(
        "--documents",
        type=Path,
        required=True,
        metavar="DIR",
        help="the folder with the texts of the documents; file names do not matter",
    )
    parser.add_argument(
        "--unclaimed",
        action="store_true",
        help="list only sentences that need a rule but have none",
    )
    parser.add_argument(
        "--specs",
        type=Path,
        metavar="DIR",
        help="specifications to use instead of the bundled ones",
    )
    return parser.parse_args(argv)


def _print_differences(console: Console, document: Document, text: Text) -> int:
    found = list(sentence_changes(document, text))
    for difference in found:
        line = textwrap.fill(f"{document.id}: {difference}", console.width, subsequent_indent="  ")
        console.print(Line(line, style="bold red"))
    return len(found)


def _print_document(
    console: Console, specs: Specs, document: Document, text: Text, only_unclaimed: bool
) -> Counter[str]:
    claimed, words = claiming_rules(specs), text.by_fingerprint()
    total: Counter[str] = Counter()
    console.print(Line(f"\n{document.id}  {document.title}  ({text.file.name})", style="bold"))
    for section in document.sections:
        heading = f"\n  {section.title or '(above the first heading)'}"
        for sentence in section.sentences:
            rules = claimed.get((document.id, section.title, sentence.number), ())
            kind, said = _status_and_text(sentence, [specs.rules[rule] for rule in rules])
            total[kind] += 1
            if only_unclaimed and kind in ("claimed", "none"):
                continue
            if heading:
                console.print(Line(heading, style="bold"))
                heading = ""
            text_of = words.get(sentence.sha256, "(not in this file)")
            console.print(Line(_numbered_sentence(sentence.number, text_of, console.width)))
            console.print(Line(_indented(said, console.width), style=STYLES[kind]))
    return total


def _status_and_text(sentence: Sentence, rules: Sequence[Rule]) -> tuple[str, str]:
    if rules:
        unchecked = any(rule.untestable is None and rule.id not in checks() for rule in rules)
        said = ", ".join(map(_check_text, rules))
        if sentence.besides is not None:
            said += f"; no check tests this part: {sentence.besides}"
        return "unchecked" if unchecked else "claimed", said
    if sentence.none is not None:
        return "none", f"none: {sentence.none}"
    if sentence.awaits is not None:
        return "awaits", f"unclaimed: awaits {sentence.awaits}"
    return "nobody's", "unclaimed, and the specifications give no reason for that"


def _check_text(rule: Rule) -> str:
    """Return a rule's ID with the name of its check, or with the reason why it has no check."""
    if rule.untestable is not None:
        return f"{rule.id} ({rule.judged_by or 'untestable'})"
    return f"{rule.id} ({checks()[rule.id].name if rule.id in checks() else 'no check'})"


def _print_totals(console: Console, totals: dict[str, Counter[str]]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("document")
    for title in ("sentences", *STYLES):
        table.add_column(title, justify="right")
    rows = list(totals.items())
    for name, total in [*rows, ("all", sum((one for _, one in rows), Counter()))]:
        table.add_row(name, str(total.total()), *(str(total[kind]) for kind in STYLES))
    console.print()
    console.print(table)


def _numbered_sentence(number: int, text: str, width: int) -> str:
    """Return a sentence in full, wrapped, with its number before the first line."""
    start = f"{number:5}  "
    return textwrap.fill(text, width, initial_indent=start, subsequent_indent=" " * len(start))


def _indented(said: str, width: int) -> str:
    return textwrap.fill(said, width, initial_indent=" " * 7, subsequent_indent=" " * 7)


if __name__ == "__main__":
    sys.exit(main())
