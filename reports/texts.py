"""Finding documents among files, and comparing their texts with fingerprints."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from pulsar_conformance.specs import Document, Section
from pulsar_conformance.specs.sentences import fingerprint, split_sentences

SHARE = 0.5
"""Minimum share of sentences that a document and its file have in common."""


@dataclass(frozen=True)
class Text:
    """The text of a file read as a document: its sentences by section, in order."""

    file: Path
    sections: Mapping[str, list[str]]
    part: str = ""
    """The release of the text's annotations, if the file has annotations of several releases."""

    def by_fingerprint(self) -> dict[str, str]:
        """Return the sentences by their fingerprints."""
        return {fingerprint(one): one for sentences in self.sections.values() for one in sentences}


def find_texts(documents: Mapping[str, Document], directory: Path) -> dict[str, Text]:
    """Return the most similar file for each document, by the document's ID.

    A file, or a part of one, is assigned to at most one document.
    """
    contents = dict(_contents(directory))
    alike = [
        (_likeness(document, text), document.id, text)
        for document in documents.values()
        for file, content in contents.items()
        if (text := _read_as(document, file, content)).sections
    ]
    found: dict[str, Text] = {}
    for share, document_id, text in sorted(alike, key=lambda one: (-one[0], one[1], one[2].file)):
        taken = document_id in found or (text.file, text.part) in _parts(found.values())
        if share >= SHARE and not taken:
            found[document_id] = text
    return found


def sentence_changes(document: Document, text: Text) -> Iterator[str]:
    """Yield a line for each sentence of a document that the text changes, lacks or adds."""
    titles = [section.title for section in document.sections]
    for title in text.sections:
        if title not in titles:  # This can only be text above the first heading.
            yield f"{_name(title)}: {len(text.sections[title])} additional sentences"
    for section in document.sections:
        if section.title not in text.sections:
            yield f"{_name(section.title)}: this heading is missing or out of order"
            # Without this heading, the rest of the text cannot be divided into sections.
            return
        yield from _section_differences(section, text.sections[section.title])


def _section_differences(section: Section, texts: list[str]) -> Iterator[str]:
    known = [sentence.sha256 for sentence in section.sentences]
    given = [fingerprint(text) for text in texts]
    matcher = SequenceMatcher(a=known, b=given, autojunk=False)
    for _, known_from, known_to, given_from, given_to in matcher.get_opcodes():
        if known[known_from:known_to] == given[given_from:given_to]:
            continue
        both = min(known_to - known_from, given_to - given_from)
        name = _name(section.title)
        for step in range(both):
            yield f"{name}, sentence {known_from + step + 1}: changed: {texts[given_from + step]}"
        for number in range(known_from + both, known_to):
            yield f"{name}, sentence {number + 1}: missing"
        for text in texts[given_from + both : given_to]:
            yield f"{name}, after sentence {known_to}: additional: {text}"


def _name(title: str) -> str:
    return title or "(above the first heading)"


def _contents(directory: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted(directory.rglob("*")):
        if file.is_file():
            try:
                yield file, file.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # no text


def _parts(texts: Iterable[Text]) -> set[tuple[Path, str]]:
    return {(one.file, one.part) for one in texts}


def _read_as(document: Document, file: Path, content: str) -> Text:
    if document.headings == "annotations":
        return Text(file, dict(_annotations(document.version, file, content)), document.version)
    titles = [section.title for section in document.sections]
    return Text(file, dict(split_sentences(content, titles, marked=document.headings == "marked")))


def _annotations(release: str, file: Path, content: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each setting with its annotation in a release; `content` is JSON by setting."""
    if file.suffix == ".json":
        for name, by_release in json.loads(content).items():
            if by_release[release]:
                text = json.dumps(by_release[release], sort_keys=True, ensure_ascii=False)
                yield name, [text]


def _likeness(document: Document, text: Text) -> float:
    known = {one.sha256 for section in document.sections for one in section.sentences}
    given = set(text.by_fingerprint())
    return 2 * len(known & given) / max(1, len(known) + len(given))
