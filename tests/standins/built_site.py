"""The site's pages, built once in each process of the tests: all of them take seconds."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from pulsar_conformance.reports.site.making import Site


@cache
def site() -> Site:
    """Return the data of all pages."""
    return Site()


@cache
def site_pages() -> Mapping[str, str]:
    """Return the text of each page by its path; it cannot be changed."""
    return MappingProxyType(dict(site().pages()))
