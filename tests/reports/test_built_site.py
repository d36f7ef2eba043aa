"""The built site, read without a browser: the links, the content and the size of every page."""

import os
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pulsar_conformance.fixtures import examples
from pulsar_conformance.specs import AREAS

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("PULSAR_CONFORMANCE_SITE", ROOT / "reports" / "out" / "site"))
LARGEST = 300_000
"""Maximum number of bytes of a page."""
LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src", "use": "href"}
"""The attribute of each tag that links to a file."""
NOT_FILES = ("http", "https", "mailto", "data")
STATIC = ("stylesheet", "icon", "preload")


class Page(HTMLParser):
    """Parser that collects a page's anchors, links, and pictures without alternative text."""

    def __init__(self, file):
        super().__init__()
        self.anchors, self.ids, self.links, self.silent = set(), [], [], []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.ids += [given["id"]] if "id" in given else []
        if LINKS.get(tag) in given:
            self.links.append((tag, given[LINKS[tag]] or "", given.get("rel", "")))
        if tag == "img" and "alt" not in given:
            self.silent.append(given.get("src"))


@pytest.fixture(scope="module")
def pages():
    """Return every page of the site, by file."""
    found = {file.resolve(): Page(file) for file in sorted(SITE.rglob("*.html"))}
    assert len(found) > 200
    # Addresses carry a case of the playground, here that of a worked example, or a choice of rows.
    found[(SITE / "playground.html").resolve()].anchors |= {one.id for one in examples()}
    found[(SITE / "matrix.html").resolve()].anchors |= {f"area={area}" for area in AREAS}
    return found


def broken(pages):
    """Return each link to a missing file, or to an anchor that its page does not have."""
    for file, page in pages.items():
        for tag, link, _ in page.links:
            parts = urlsplit(link)
            if parts.scheme in NOT_FILES or parts.netloc:
                continue
            if parts.scheme:
                yield file.name, tag, link
                continue
            # The page for what is not there is shown under any address: its links are absolute.
            base = SITE.resolve() if parts.path.startswith("/") else file.parent
            place = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else file
            target = place / "index.html" if place.is_dir() else place
            anchors = {"", *pages[target].anchors} if target in pages else {parts.fragment}
            if not target.is_file() or unquote(parts.fragment) not in anchors:
                yield file.name, tag, link


def test_every_link_and_picture_leads_somewhere_anchors_included(pages):
    assert sorted(set(broken(pages))) == []


def test_a_broken_link_would_be_found(pages, tmp_path, monkeypatch):
    (tmp_path / "there.html").write_text('<h1 id="here">There</h1>')
    (tmp_path / "page.html").write_text(
        '<a href="there.html#here"></a> <a href="there.html#gone"></a> <a href="#gone"></a>'
        '<a href="gone.html"></a> <img src="gone.png"> <a href="https://example.org/#x"></a>'
    )
    few = {file.resolve(): Page(file) for file in tmp_path.iterdir()}
    assert [link for _, _, link in broken(few)] == [
        "there.html#gone",
        "#gone",
        "gone.html",
        "gone.png",
    ]


def test_every_picture_has_a_text(pages):
    assert {file.name: page.silent for file, page in pages.items() if page.silent} == {}


def test_no_anchor_is_twice_on_a_page(pages):
    for file, page in pages.items():
        counts = Counter(page.ids).items()
        assert [one for one, count in counts if count > 1] == [], file.name


def test_no_page_is_too_large(pages):
    assert [file.name for file in pages if file.stat().st_size > LARGEST] == []


def test_no_page_needs_the_network(pages):
    for file, page in pages.items():
        fetched = [
            link
            for tag, link, rel in page.links
            if tag != "a" and (tag != "link" or any(one in rel for one in STATIC))
        ]
        assert [link for link in fetched if urlsplit(link).netloc] == [], file.name
