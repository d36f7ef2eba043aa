"""The built site in Chromium: pages of every kind, the matrix, the search, the playground."""

import copy
import functools
import json
import os
import shutil
import subprocess
import tarfile
import threading
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from pulsar_conformance import specs
from pulsar_conformance.audit.simulation.variants import Variant, simulate_worlds
from pulsar_conformance.audit.simulation.worlds import named_world
from pulsar_conformance.fixtures import examples
from pulsar_conformance.reference import Model
from pulsar_conformance.reports.allure import tool_cache
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
    "deviations/pulsar-3-0-7",
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
"""Flags with which Chromium runs on any machine, and makes no requests of its own."""
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def axe():
    """Return the source of axe-core, which is downloaded from npm once."""
    folder = tool_cache() / "tests"
    archive = folder / f"axe-core-{AXE}.tgz"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = ["npm", "pack", f"axe-core@{AXE}", "--ignore-scripts", "--loglevel=error"]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    with tarfile.open(archive) as packed:
        return packed.extractfile("package/axe.min.js").read().decode()


class Quiet(SimpleHTTPRequestHandler):
    """A server that returns the site's own 404 page for missing pages, as web hosts do."""

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
    """Serve the site, and provide its address."""
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


WIDTHS = (1440, 360)
STILL = """
document.head.append(Object.assign(document.createElement("style"),
  {textContent: "* { transition: none !important }"}))
for (const one of document.querySelectorAll("details")) one.open = true
"""
"""Script that switches off transitions, since links would fade between the schemes' colors."""
SCHEMES = {"default": {}, "slate": {"runOnly": ["color-contrast"]}}
"""Color schemes, with the checks for each: the second scheme changes only colors."""
WITHIN = {"preload": False}
"""Options that keep axe from loading style sheets again, which fails without a server."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_opens_without_a_server_and_can_be_read_by_everybody(kind, browser, axe):
    browser.set_window_size(WIDTHS[0], 900)
    browser.get((SITE / f"{kind}.html").as_uri())
    assert browser.find_element(By.TAG_NAME, "h1").text
    assert errors(browser) == []
    wide = {}
    for width in WIDTHS:
        browser.set_window_size(width, 900)
        wide[width] = browser.execute_script(
            "return document.documentElement.scrollWidth - innerWidth"
        )
    assert max(wide.values()) <= 0, wide
    browser.set_window_size(WIDTHS[0], 900)
    browser.execute_script(STILL + axe)
    WebDriverWait(browser, SETTLES_WITHIN).until(lambda _: not unreachable(browser))
    for scheme, options in SCHEMES.items():
        browser.execute_script(
            "document.body.setAttribute('data-md-color-scheme', arguments[0])", scheme
        )
        found = browser.execute_async_script(
            "axe.run('.md-content', arguments[0]).then((one) => arguments[1](one.violations))",
            {**options, **WITHIN},
        )
        told = [
            (one["id"], one["nodes"][0]["html"][:120]) for one in found if one["impact"] in SERIOUS
        ]
        assert told == [], scheme


SETTLES_WITHIN = 60
"""Maximum seconds until a page has its layout after a change, on a busy machine."""

UNREACHABLE = """
return [...document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")]
  .filter((one) => one.scrollWidth > one.clientWidth && one.tabIndex < 0)
  .map((one) => one.textContent.slice(0, 80))
"""


def unreachable(browser):
    """Return the scrollable elements that the keyboard cannot scroll."""
    return browser.execute_script(UNREACHABLE)


@pytest.mark.parametrize("kind", ["rules/SPLIT-01", "reference/settings", "guides/what-if"])
def test_what_scrolls_can_be_scrolled_with_the_keyboard_at_any_width(kind, browser):
    browser.get((SITE / f"{kind}.html").as_uri())
    browser.execute_script(STILL)
    for width in (*reversed(WIDTHS), *WIDTHS):
        browser.set_window_size(width, 900)
        WebDriverWait(browser, SETTLES_WITHIN).until(lambda _: not unreachable(browser))
    browser.set_window_size(WIDTHS[1], 900)
    late = """
    const box = Object.assign(document.createElement("div"), {className: "md-typeset__scrollwrap"})
    box.style.cssText = "width: 100px; overflow: auto"
    box.innerHTML = "<table style='width: 900px'><tr><td>late</td></tr></table>"
    document.querySelector(".md-typeset").append(box)
    """
    browser.execute_script(late)
    WebDriverWait(browser, SETTLES_WITHIN).until(lambda _: not unreachable(browser))
    browser.execute_script("document.querySelector('.md-typeset').lastChild.style.width = '950px'")
    free = "return document.querySelector('.md-typeset').lastChild.tabIndex < 0"
    WebDriverWait(browser, SETTLES_WITHIN).until(lambda _: browser.execute_script(free))


def test_a_setting_is_beside_its_value_on_a_phone(browser, served):
    browser.get(f"{served}/rules/OVERLOAD-11.html")
    browser.set_window_size(WIDTHS[1], 900)
    browser.execute_script(STILL)
    hidden = """
    return [...document.querySelectorAll(".md-typeset__scrollwrap")]
      .filter((one) => one.querySelectorAll("tr:first-child > *").length === 2)
      .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)
    """
    assert browser.execute_script(hidden) == []


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
"""Script that finds the links of search results, which are in the shadow tree of an element."""


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


STARTS_WITHIN = 30
"""Maximum seconds of processor time until the playground answers, also on a busy machine."""


def processor_time(browser):
    """Return the seconds of processor time of the browser's running processes."""
    spent = 0.0
    driver = psutil.Process(browser.service.process.pid)
    for process in (driver, *driver.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            spent += times.user + times.system
    return spent


NAME = "overload-95-over-85"
WORLD, CYCLES, PROFILES = "ninety-ten", 12, ("documented-3.0", "documented-4.2")


def change_number(browser, case):
    """Set the usage of a broker to 80 % in the playground and in a case."""
    label = next(
        one
        for one in said(browser, "numbers").find_elements(By.TAG_NAME, "label")
        if one.text.endswith("b1 › cpu › usage")
    )
    field = label.find_element(By.TAG_NAME, "input")
    field.clear()
    field.send_keys("80")
    case["brokers"]["b1"]["cpu"]["usage"] = 80


def expected_course(profile):
    """Return the course that the suite simulates for the same world as the playground."""
    variant = Variant("reference", profile, "ThresholdShedder", {})
    [course] = simulate_worlds(variant, [named_world(WORLD)], CYCLES, {})
    return course


def shown_courses(browser, wait):
    """Wait for the simulations; return the moves and the lines of each profile's simulation."""
    wait.until(lambda _: "Simulated" in said(browser, "loop-state").text)
    found = {}
    for one in browser.find_elements(By.CSS_SELECTOR, ".pc-of-profile"):
        moves = one.find_element(By.CSS_SELECTOR, "[data-part=moves]").get_attribute("textContent")
        lines = one.find_elements(By.CSS_SELECTOR, "path.pc-usage")
        found[one.get_attribute("data-profile")] = (
            [line.strip() for line in moves.splitlines() if "→" in line],
            [line.get_attribute("data-broker") for line in lines],
        )
    return found


def test_the_playground_answers_and_simulates_as_the_model_does(browser, served):
    [example] = [one for one in examples() if one.id == NAME]
    operation, case = copy.deepcopy(example.questions[0])
    model = Model(PROFILES[0], dict(example.readings))
    browser.set_window_size(1440, 900)
    begun = processor_time(browser)
    browser.get(f"{served}/playground.html#{NAME}")
    wait = WebDriverWait(browser, 240)
    before = dict(model.derive(operation, case).answer)
    wait.until(lambda _: answered(browser) == before)
    assert processor_time(browser) - begun < STARTS_WITHIN
    change_number(browser, case)
    after = model.derive(operation, case)
    assert dict(after.answer) != before
    wait.until(lambda _: answered(browser) == dict(after.answer))
    shown = said(browser, "steps").get_attribute("textContent")
    assert shown.splitlines() == list(after.lines())
    Select(said(browser, "beside")).select_by_value(PROFILES[1])
    other = list(Model(PROFILES[1]).derive(operation, case).lines())
    beside = said(browser, "other").find_element(By.TAG_NAME, "pre")
    wait.until(lambda _: beside.text.splitlines()[-len(other) :] == other)

    Select(said(browser, "world")).select_by_value(WORLD)
    Select(said(browser, "strategy")).select_by_value("ThresholdShedder")
    said(browser, "cycles").clear()
    said(browser, "cycles").send_keys(str(CYCLES))
    said(browser, "simulate").click()
    courses = {profile: expected_course(profile) for profile in PROFILES}
    expected = {
        profile: (
            [f"{move.bundle}: {move.source} → {move.target}" for move in course.sheds],
            list(course.cycles[0].usage),
        )
        for profile, course in courses.items()
    }
    assert all(moves for moves, _ in expected.values())
    assert shown_courses(browser, wait) == expected

    kept = browser.current_url
    browser.get("about:blank")
    browser.get(kept)
    wait.until(lambda _: answered(browser) == dict(after.answer))
    assert shown_courses(browser, wait) == expected
    assert errors(browser) == []
