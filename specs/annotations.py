"""Settings annotated in the code of releases, converted to rules and to one document per
release.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pulsar_conformance.specs.lines import Sheet
from pulsar_conformance.specs.model import (
    JSON,
    Document,
    Hidden,
    Profile,
    Rule,
    Section,
    Sentence,
    Setting,
    Source,
)
from pulsar_conformance.specs.text import counted

DEFAULTS = "settings.defaults"
"""The operation that asks for defaults."""

URL = "https://central.sonatype.com/artifact/org.apache.pulsar/pulsar-broker-common/{}"


@dataclass(frozen=True)
class Annotations:
    """The contents of annotations.yaml, with types and defaults from broker.yaml."""

    sheet: Sheet
    broker: Mapping[str, JSON]

    @property
    def _entries(self) -> Mapping[str, Mapping[str, JSON]]:
        entries: Mapping[str, Mapping[str, JSON]] = self.sheet.data["settings"]
        return entries

    @cached_property
    def _releases(self) -> Mapping[str, str]:
        """The release of each document."""
        return dict(self.sheet.data["documents"])

    def _value_in_release(self, by_release: JSON, document: str) -> JSON | None:
        """Return the value for a document's release; None if all values are for later releases."""
        if not isinstance(by_release, Mapping):
            return by_release
        order: Sequence[str] = self.broker["releases"]
        last = order.index(self._releases[document])
        values = [value for since, value in by_release.items() if order.index(since) <= last]
        return values[-1] if values else None

    def _documents_with(self, name: str) -> tuple[str, ...]:
        """Return the documents that annotate a setting."""
        texts = self._entries[name]["texts"]
        return tuple(one for one in self._releases if self._value_in_release(texts, one))

    def documents(self) -> dict[str, Document]:
        """Return one document per release, in which each setting is a section of one sentence."""
        return {
            document: Document(
                id=document,
                title="Annotations of the broker's settings",
                version=release,
                url=URL.format(release),
                headings="annotations",
                copy_of=None,
                sections=tuple(
                    Section(name, (self._sentence(entry, document),))
                    for name, entry in self._entries.items()
                    if document in self._documents_with(name)
                ),
            )
            for document, release in self._releases.items()
        }

    def _sentence(self, entry: Mapping[str, JSON], document: str) -> Sentence:
        left = f"Its effect is left to rules of {entry['left']}." if "left" in entry else None
        return Sentence(1, str(self._value_in_release(entry["texts"], document)), besides=left)

    def settings(self, of_pages: Mapping[str, Setting]) -> dict[str, Setting]:
        """Return every annotated setting with its defaults by document; `of_pages` are the settings
        that pages name.
        """
        return {name: self._setting(name, of_pages.get(name)) for name in self._entries}

    def _setting(self, name: str, of_page: Setting | None) -> Setting:
        entry, known = self._entries[name], self.broker["settings"][name]
        documents = self._documents_with(name)
        return Setting(
            name=name,
            type=known["type"],
            unit=of_page.unit if of_page else entry.get("unit"),
            meaning=of_page.meaning if of_page else entry["meaning"],
            documents=documents,
            defaults={one: self._value_in_release(known["default"], one) for one in documents},
            no_default=None,
            choices=of_page.choices if of_page else (),
            range=of_page.range if of_page else None,
            unused=entry.get("unused", False),
            unlimited=entry.get("unlimited"),
            dynamic=entry.get("dynamic", True),
            deprecated_in=self._deprecated_in(known, documents),
            replaced_by=self._replaced_by(name),
        )

    def _deprecated_in(
        self, known: Mapping[str, JSON], documents: Sequence[str]
    ) -> tuple[str, ...]:
        since = known.get("deprecated")
        return tuple(
            one for one in documents if since and self._value_in_release({since: True}, one)
        )

    def _replaced_by(self, name: str) -> str | None:
        every = self.broker["settings"].items()
        return next((one for one, known in every if known.get("replaces") == name), None)

    def hidden(self) -> dict[str, Hidden]:
        """Return the hidden settings: no page names them, but they affect decisions of releases."""
        return {
            name: Hidden(name, entry["meaning"], entry["unit"], entry["neutral"])
            for name, entry in self._entries.items()
            if "neutral" in entry
        }

    def rules(self, written: Mapping[str, Rule], profiles: Mapping[str, Profile]) -> Iterator[Rule]:
        """Yield the rules about defaults that annotations state.

        A rule that is already in `written` gets the annotations as further sources; other rules are
        new. A rule belongs to each profile with a document whose annotation gives the default.
        """
        for name in self._entries:
            for rule, documents in self._rules_of(name).items():
                sources = tuple(Source(document, name, (1,)) for document in documents)
                having = tuple(
                    one.id for one in profiles.values() if {*documents}.intersection(one.documents)
                )
                known = written.get(rule) or self._rule(rule, name, documents[0])
                yield replace(
                    known,
                    sources=(*known.sources, *sources),
                    profiles=(*known.profiles, *having),
                )

    def _rules_of(self, name: str) -> dict[str, list[str]]:
        """Return the rules about the default of a setting, each with the documents that
        state it.
        """
        found: dict[str, list[str]] = {}
        for document in self._documents_with(name):
            rule = str(self._value_in_release(self._entries[name]["rule"], document))
            found.setdefault(rule, []).append(document)
        return found

    def _rule(self, rule: str, name: str, document: str) -> Rule:
        value = self._value_in_release(self.broker["settings"][name]["default"], document)
        text = value if isinstance(value, str) else json.dumps(value)
        whole = f"has the value {text}" if text else "is empty: left out, null or an empty text"
        return Rule(
            id=rule,
            area=rule.partition("-")[0],
            title=f"{name} {self._value_clause(name, text)} by default",
            level="must",
            statement=f"Where nothing else is set, {name} {whole}.",
            provenance="documented",
            sources=(),
            settings=(name,),
            operations=(DEFAULTS,),
            any_operation=False,
            any_strategy=False,
            managers=(),
            reading={},
            profiles=(),
            presupposes=(),
            untestable=None,
            why=None,
            file=self.sheet.file,
            line=self.sheet.line(("settings", name)),
        )

    def _value_clause(self, name: str, text: str) -> str:
        kind = self.broker["settings"][name]["type"]
        if kind == "list" and text:
            return f"lists {counted(len(text.split(',')), 'value')}"
        return f"is {text.rpartition('.')[2] if kind == 'class' else text or 'empty'}"
