"""Splits documents into the sentences that have fingerprints and that rules claim.

A code block or a monitor table counts as one sentence. A line with a setting, a command, a table
row, a list item and a comment each start a new sentence. All other lines are joined and split at
the ends of sentences. Markers of notes ("tip", ":::note") are not sentences.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence

NOTE = re.compile(r":::.*|tip|note", re.IGNORECASE)
BULLET = re.compile(r"[•*-]\s+")
SETTING = re.compile(r"[A-Za-z]\w+=\S*")
CONTINUES = re.compile(r"[a-z\"`/(]|\d+\s")
SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z\"`\[(_])")
FENCE, RULE = "```", "====="


def fingerprint(sentence: str) -> str:
    """Return the SHA-256 of a sentence, in which any whitespace is replaced by a single space."""
    return hashlib.sha256(" ".join(sentence.split()).encode()).hexdigest()


def split_sentences(
    text: str, titles: Sequence[str], *, marked: bool
) -> list[tuple[str, list[str]]]:
    """Return the title and the sentences of each section that is found in a document, in order.

    `titles` are searched for one after the other, because a comment can look like a heading and a
    list item like a title. With `marked`, headings start with number signs. Text before the first
    title is a section without a title; it is omitted if it is empty.
    """
    sections: list[tuple[str, list[str]]] = [("", [])]
    waiting = [title for title in titles if title]
    for line in _front_matter_as_heading(text.splitlines()):
        if waiting and _is_heading(line, waiting[0], marked):
            sections.append((waiting.pop(0), []))
        else:
            sections[-1][1].append(line)
    split_up = [(title, list(_sentences(lines))) for title, lines in sections]
    return [(title, sentences) for title, sentences in split_up if title or sentences]


def _is_heading(line: str, title: str, marked: bool) -> bool:
    stripped = line.strip()
    return stripped.lstrip("#").strip() == title and stripped.startswith("#") == marked


def _front_matter_as_heading(lines: list[str]) -> list[str]:
    """Replace the front matter by its title, written as a heading."""
    if not lines or lines[0].strip() != "---":
        return lines
    end = next((n for n, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    titles = [line.removeprefix("title:") for line in lines[1:end] if line.startswith("title:")]
    return [f"# {title.strip()}" for title in titles] + lines[end + 1 :]


def _sentences(lines: list[str]) -> Iterator[str]:
    for unit in _joined_lines(lines):
        if "\n" in unit:  # This is a block, which may be empty.
            yield from filter(None, [" ".join(unit.split())])
        else:
            yield from SENTENCE_END.split(unit)


def _joined_lines(lines: list[str]) -> Iterator[str]:
    """Yield a document's lines, joined to paragraphs; blocks keep their lines and are not split."""
    open_unit, was_comment = "", False
    rest = iter(lines)
    for raw in rest:
        line = raw.strip()
        comment = line.startswith("# ")
        line = line.removeprefix("# ").strip()
        if open_unit and _continues(open_unit, line, comment == was_comment):
            open_unit = open_unit.removesuffix("\\").rstrip() + " " + line
            continue
        if open_unit:
            yield open_unit
        open_unit, was_comment = "", comment
        if block := _block(line, rest):
            yield block
        elif line and not NOTE.fullmatch(line):
            open_unit = BULLET.sub("", line, count=1) if BULLET.match(line) else line
    if open_unit:
        yield open_unit


def _continues(before: str, line: str, same_kind: bool) -> bool:
    if before.endswith("\\"):
        return bool(line)
    ended = before[-1] in ".:?!" or SETTING.fullmatch(before) or " | " in before
    alone = SETTING.fullmatch(line) or " | " in line or NOTE.fullmatch(line)
    starts_block = line.startswith((FENCE, RULE))
    return bool(
        same_kind and not ended and not alone and not starts_block and CONTINUES.match(line)
    )


def _block(first: str, rest: Iterator[str]) -> str:
    """Return a code block, monitor table or braced object that starts with the line `first`.

    Its other lines are consumed from `rest`. Empty if no block starts there.
    """
    if first.startswith(FENCE):
        taken = _take_until(rest, lambda line: line.startswith(FENCE))
        taken = [line for line in taken if not line.startswith(FENCE)]
    elif first.startswith(RULE):
        taken = [first, *_take_until(rest, lambda line: line.startswith(RULE))]
    elif first == "{":
        depth = [1]

        def closes(line: str) -> bool:
            depth[0] += line.count("{") - line.count("}")
            return depth[0] <= 0

        taken = [first, *_take_until(rest, closes)]
    else:
        return ""
    return "\n".join(taken) + "\n"


def _take_until(rest: Iterator[str], last: Callable[[str], bool]) -> list[str]:
    taken = []
    for raw in rest:
        taken.append(raw.strip())
        if last(taken[-1]):
            break
    return taken
