"""The built site in Chromium: pages of every kind, the matrix, the search, the playground."""

import copy
import functools
import json
import os
import shutil
import subprocess
import tarfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.fixtures import examples
from pulsar_conformance.reference import Model
from pulsar_conformance.reports.allure import cache
from pulsar_conformance.reports.site.results import results
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("PULSAR_CONFORMANCE_SITE", ROOT / "reports" / "out" / "site"))
AXE = "4.14.1"
KINDS = (
    "index",
    "matrix",
    "playground",
    "deviations",
    "rules/overload",
    "rules/OVERLOAD-02",
    "rules/SPLIT-01",
    "rules/OWN-01",
    "implementations/index",
    "implementations/reference-0.1.0-documented-3.0",
    "implementations/pulsar-3.0.7-documented-3.0",
    "documents/index",
    "documents/load-balance-3.0",
    "guides/judge-your-own",
    "reference/protocol",
    "reference/settings",
    "reference/readings",
    "reference/commands",
    "reference/python",
)
SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
"""Flags that let Chromium run anywhere, without calls of its own."""
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def axe():
    """The source of axe-core, from npm, once."""
    folder = cache() / "tests"
    archive = folder / f"axe-core-{AXE}.tgz"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = ["npm", "pack", f"axe-core@{AXE}", "--ignore-scripts", "--loglevel=error"]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    with tarfile.open(archive) as packed:
        return packed.extractfile("package/axe.min.js").read().decode()


class Quiet(SimpleHTTPRequestHandler):
    """A server that shows the site's own page for what is not there, as hosts of pages do."""

    def log_message(self, *_):
        pass

    def send_error(self, code, *_):
        page = (SITE / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(page)


@pytest.fixture(scope="module")
def served():
    """The address of the site on a server of its own."""
    handler = functools.partial(Quiet, directory=str(SITE))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    for word in SWITCHES:
        options.add_argument(word)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


def errors(browser):
    return [one["message"] for one in browser.get_log("browser") if one["level"] == "SEVERE"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [360, 1440])
def test_a_page_opens_without_a_server_and_without_an_error(kind, width, browser):
    browser.set_window_size(width, 900)
    browser.get((SITE / f"{kind}.html").as_uri())
    assert browser.find_element(By.TAG_NAME, "h1").text
    wide = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    assert errors(browser) == []


@pytest.mark.parametrize("scheme", ["default", "slate"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_can_be_read_by_everybody(kind, scheme, browser, served, axe):
    browser.set_window_size(1440, 900)
    browser.get(f"{served}/{kind}.html")
    browser.execute_script(  # links fade from one scheme's colour to the other's
        "document.head.append(Object.assign(document.createElement('style'),"
        " {textContent: '* { transition: none !important }'}));"
        "document.body.setAttribute('data-md-color-scheme', arguments[0]);"
        "for (const one of document.querySelectorAll('details')) one.open = true",
        scheme,
    )
    browser.execute_script(axe)
    found = browser.execute_async_script(
        "axe.run('.md-content').then((found) => arguments[0](found.violations))"
    )
    told = [(one["id"], one["nodes"][0]["html"][:120]) for one in found if one["impact"] in SERIOUS]
    assert told == []


def test_the_matrix_is_narrowed_and_leads_to_the_counterexample(browser, served):
    browser.get(f"{served}/matrix.html")
    form = browser.find_element(By.ID, "pc-filters")
    Select(form.find_element(By.NAME, "area")).select_by_value("SPLIT")
    Select(form.find_element(By.NAME, "verdict")).select_by_value("known_deviation")
    shown = [
        row.find_element(By.TAG_NAME, "th").text
        for row in browser.find_elements(By.CSS_SELECTOR, "#pc-matrix tbody tr")
        if row.is_displayed()
    ]
    judged = {rule: one for one in results() for rule in one.verdicts if rule.startswith("SPLIT-")}
    expected = {
        rule for rule in judged if any(one.word(rule) == "known_deviation" for one in results())
    }
    assert set(shown) == expected
    assert browser.find_element(By.ID, "pc-count").text.startswith(str(len(expected)))
    assert "area=SPLIT" in browser.current_url
    cell = next(
        one
        for one in browser.find_elements(By.CSS_SELECTOR, "td[data-verdict=known_deviation] a")
        if one.is_displayed()
    )
    cell.click()
    assert f"/rules/{shown[0]}.html#" in browser.current_url
    anchor = browser.current_url.rpartition("#")[2]
    assert browser.find_element(By.ID, anchor).is_displayed()


def test_the_matrix_is_narrowed_to_a_profile(browser, served):
    browser.get(f"{served}/matrix.html#area=SPLIT&profile=documented-4.2")
    rows = browser.find_elements(By.CSS_SELECTOR, "#pc-matrix tbody tr")
    shown = [row.find_element(By.TAG_NAME, "th").text for row in rows if row.is_displayed()]
    of_profile = specs.load().rules_of("documented-4.2")
    judged = {rule for one in results() for rule in one.verdicts}
    assert shown == [one.id for one in of_profile if one.area == "SPLIT" and one.id in judged]


def test_a_missing_page_leads_home_from_any_depth(browser, served):
    browser.get(f"{served}/rules/no/such/page.html")
    wait = WebDriverWait(browser, 30)
    links = wait.until(lambda one: one.find_elements(By.CSS_SELECTOR, "#home a"))
    assert [one.get_attribute("href") for one in links] == [
        f"{served}/{page}.html" for page in ("index", "matrix")
    ]
    assert all("404" in one for one in errors(browser))


def test_two_implementations_are_compared_in_the_matrix(browser, served):
    older, newer = (one for one in results() if one.name in ("pulsar 2.10.5", "pulsar 3.0.7"))
    browser.get(f"{served}/matrix.html#differing=on&columns={older.slug},{newer.slug}")
    browser.refresh()
    rows = browser.find_elements(By.CSS_SELECTOR, "#pc-matrix tbody tr")
    shown = [row.find_element(By.TAG_NAME, "th").text for row in rows if row.is_displayed()]
    judged = {*older.verdicts, *newer.verdicts}
    expected = {rule for rule in judged if older.word(rule) != newer.word(rule)}
    assert set(shown) == expected
    assert len(shown) > 5
    totals = browser.find_elements(By.CSS_SELECTOR, "#pc-matrix tfoot td")
    assert [one.text for one in totals if one.is_displayed()] == [
        str(len(expected & set(one.broken))) for one in (older, newer)
    ]


FOUND_LINKS = """
return [...document.querySelectorAll("*")].filter((one) => one.shadowRoot)
  .flatMap((one) => [...one.shadowRoot.querySelectorAll("a")].map((link) => link.href))
"""
"""The search shows its results in an element with a tree of its own."""


def test_the_search_finds_a_rule_without_a_server(browser):
    browser.set_window_size(1440, 900)
    browser.get((SITE / "index.html").as_uri())
    browser.find_element(By.CSS_SELECTOR, "button.md-search__button").click()
    browser.switch_to.active_element.send_keys("five-point margin")
    found = WebDriverWait(browser, 60).until(lambda one: one.execute_script(FOUND_LINKS))
    assert any("OVERLOAD-02" in link for link in found)


def said(browser, part):
    return browser.find_element(By.CSS_SELECTOR, f"[data-part={part}]")


def answered(browser):
    return json.loads(said(browser, "answer").text or "null")


def test_a_number_changed_in_the_playground_is_answered_as_by_the_model(browser, served):
    name = "overload-95-over-85"
    [example] = [one for one in examples() if one.id == name]
    operation, case = copy.deepcopy(example.questions[0])
    model = Model("documented-3.0", dict(example.readings))
    browser.get(f"{served}/playground.html#{name}")
    wait = WebDriverWait(browser, 240)
    before = dict(model.derive(operation, case).answer)
    wait.until(lambda _: answered(browser) == before)
    label = next(
        one
        for one in said(browser, "numbers").find_elements(By.TAG_NAME, "label")
        if one.text.endswith("b1 › cpu › usage")
    )
    field = label.find_element(By.TAG_NAME, "input")
    field.clear()
    field.send_keys("80")
    case["brokers"]["b1"]["cpu"]["usage"] = 80
    after = model.derive(operation, case)
    assert dict(after.answer) != before
    wait.until(lambda _: answered(browser) == dict(after.answer))
    shown = said(browser, "steps").get_attribute("textContent")
    assert shown.splitlines() == list(after.lines())
    Select(said(browser, "beside")).select_by_value("documented-4.2")
    other = Model("documented-4.2").derive(operation, case)
    beside = said(browser, "other").find_element(By.TAG_NAME, "pre")
    wait.until(
        lambda _: list(other.lines()) == beside.text.splitlines()[-len(list(other.lines())) :]
    )
    kept = browser.current_url
    browser.get("about:blank")
    browser.get(kept)
    wait.until(lambda _: answered(browser) == dict(after.answer))
    assert errors(browser) == []
