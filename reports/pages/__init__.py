"""The worked examples as Markdown, one page per area: `nox -s examples`."""

from pulsar_conformance.reports.pages.making import pages

__all__ = ["pages"]
