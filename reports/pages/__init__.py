"""The worked examples as Markdown, a page an area: `nox -s examples`."""

from pulsar_conformance.reports.pages.making import pages

__all__ = ["pages"]
