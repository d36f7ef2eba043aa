"""The part of an adapter's name after `cluster:`, if it is a URL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pulsar_conformance.adapters.admin_api.remote import Access, BadUrl
from pulsar_conformance.adapters.names import CLUSTER_URL_FORM
from pulsar_conformance.adapters.options import parse_options

URL_SCHEMES = ("http:", "https:")
KEYS = ("cluster", "token-file", "tls-trust", "changes")
CHANGES_ALLOWED = "allowed"
DEFAULT_TIMEOUT_SECONDS = 10.0
"""Default time limit for a broker's answer, in seconds."""


@dataclass(frozen=True)
class Address:
    """A cluster's admin URL, the access to it, and whether it may be changed.

    Attributes:
        access: the admin URL, with the token and the trusted certificates.
        cluster: the cluster's name, or None if there is only one.
        changes: true if the suite may play stories, in a tenant that it creates for them.
    """

    access: Access
    cluster: str | None = None
    changes: bool = False

    @classmethod
    def parse(cls, text: str, seconds: float = DEFAULT_TIMEOUT_SECONDS) -> Address:
        """Parse the text after `cluster:`. Errors: `BadUrl`, whose message contains no secrets."""
        url, *rest = text.split(",")
        given = dict(parse_options(rest, KEYS, CLUSTER_URL_FORM, BadUrl, "after a URL"))
        if given.get("changes", CHANGES_ALLOWED) != CHANGES_ALLOWED:
            raise BadUrl(
                f"changes={given['changes']}: write changes={CHANGES_ALLOWED}, or leave it out"
            )
        file, trust = (Path(given[key]) if key in given else None for key in KEYS[1:3])
        access = Access.of(url, file, trust, seconds)
        return cls(access, given.get("cluster"), "changes" in given)


def is_url(rest: str) -> bool:
    """True if the text after `cluster:` is a URL rather than a release or a folder."""
    return rest.startswith(URL_SCHEMES)
