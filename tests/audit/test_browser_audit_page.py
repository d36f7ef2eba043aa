"""The page of an audit in Chromium, with the maximum content for a cluster of 100 brokers."""

import re
import shutil

import pytest
from pulsar_conformance.audit.page.rendering import render_page
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.browser

BROKERS, POINTS, MARKS, ROWS, BUNDLES = 100, 300, 1000, 1000, 50
"""The maximum numbers of brokers, points, marks, rows and bundles on the page of one cluster."""

BEGINS, STEP = 1_795_132_800, 300
"""The time of the first cycle, in seconds since 1970 (2026-11-20), and seconds between cycles."""

BUNDLE = "shop/events-001/0x0ccccccc_0x13333333"
SWITCHES = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
USED = 62.5
MARKED = POINTS // 2


def page():
    times = [BEGINS + STEP * point for point in range(POINTS)]
    brokers = [
        {"name": f"broker-{n}:8080", "used": [USED if n == 1 else 20.5 + n / 2] * POINTS}
        for n in range(1, BROKERS + 1)
    ]
    why = "used 62.5 % of the 60 % allowed; it is the heaviest of those that may go " * 4
    marks = [[times[MARKED], "unload", "broker-1:8080", f"{BUNDLE}; shedding; SHED-04", True]]
    marks += [
        [times[n % POINTS], "unload", f"broker-{n % 99 + 2}:8080", f"{BUNDLE}; {why}", False]
        for n in range(1, MARKS)
    ]
    cluster = {
        "name": "eu-1",
        "times": times,
        "average": [45.6] * POINTS,
        "limit": [55.6] * POINTS,
        "brokers": brokers,
        "left_out": 0,
        "marks": marks,
        "bundles": [[BUNDLE, 8, " → ".join(["broker-1:8080"] * 8)]] * BUNDLES,
    }
    told = "broker-1:8080 shed a bundle that had been unloaded lately " * 5
    row = ["SHED-04", "violated", "eu-1", "2026-11-20 00:35:00", told, None]
    other = ["SHED-07", "undecided", "eu-1", "2026-11-20 00:35:00", told, None]
    name = "SHED-04-eu-1-20261120T003500Z"
    data = {
        "fleet": [["eu-1", BROKERS, 1, "SHED-04", MARKS, 9], ["eu-2", 3, 0, "", 0, 0]],
        "clusters": [cluster],
        "verdicts": [row, *[other] * (ROWS - 1)],
        "cases": {name: "usage 62.5 % of cpu"},
    }
    return render_page(data, ["1 cluster, 300 shedding cycles"])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    written = tmp_path_factory.mktemp("page") / "audit.html"
    written.write_text(page(), "utf-8")
    return written


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    for word in SWITCHES:
        options.add_argument(word)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, file):
    browser.set_window_size(1440, 900)
    browser.get(file.as_uri())
    yield browser
    told = browser.get_log("browser")
    assert [one["message"] for one in told if one["level"] == "SEVERE"] == []


def test_it_is_small(file):
    assert file.stat().st_size < 2_000_000


def test_it_opens_and_loads_nothing(opened):
    assert opened.find_element(By.CSS_SELECTOR, "#clusters h2").text == "eu-1"
    assert opened.find_elements(By.CSS_SELECTOR, ".u-over")
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert len(opened.find_elements(By.CSS_SELECTOR, ".u-legend .u-series")) == BROKERS + 3


def test_a_mark_gives_its_reason(opened):
    place = MARKED / (POINTS - 1)
    opened.execute_script(
        """
        const over = document.querySelector(".u-over").getBoundingClientRect();
        document.querySelector(".u-over").dispatchEvent(new MouseEvent("mousemove", {
          bubbles: true,
          clientX: over.left + arguments[0] * over.width,
          clientY: over.top + (1 - arguments[1] / 100) * over.height,
        }));
        """,
        place,
        USED,
    )
    hint = opened.find_element(By.ID, "hint")
    assert hint.is_displayed()
    assert "unload broker-1:8080: " + BUNDLE + "; shedding; SHED-04" in hint.text.split(" | ")[0]


def test_the_verdicts_are_filtered(opened):
    rows = "#verdicts tbody tr"
    assert len(opened.find_elements(By.CSS_SELECTOR, rows)) == ROWS
    opened.find_element(By.ID, "filter").send_keys("shed-04 EU-1")
    (row,) = opened.find_elements(By.CSS_SELECTOR, rows)
    assert row.text.startswith("SHED-04 violated eu-1")
    assert opened.find_element(By.ID, "count").text == f"1 of {ROWS}"


def test_the_fleet_names_what_each_cluster_broke_and_links_to_it(opened):
    first, second = opened.find_elements(By.CSS_SELECTOR, "#fleet tbody tr")
    assert first.text == f"eu-1 {BROKERS} 1 SHED-04 {MARKS} 9"
    assert second.text.startswith("eu-2 3 0")
    link = first.find_element(By.TAG_NAME, "a").get_attribute("href").partition("#")[2]
    assert opened.find_element(By.ID, link).find_element(By.TAG_NAME, "h2").text == "eu-1"


def test_a_verdict_has_its_arithmetic(opened):
    (more,) = opened.find_elements(By.CSS_SELECTOR, "#verdicts details")
    more.find_element(By.TAG_NAME, "summary").click()
    assert more.find_element(By.TAG_NAME, "pre").text == "usage 62.5 % of cpu"
    link = more.find_element(By.TAG_NAME, "a").get_attribute("href")
    assert link.endswith("/cases/SHED-04-eu-1-20261120T003500Z.json")


def test_a_bundle_that_is_chosen_shows_what_happened_to_it(opened):
    assert not opened.find_elements(By.CSS_SELECTOR, "#events tr")
    opened.find_element(By.CSS_SELECTOR, "#clusters button.link").click()
    assert opened.find_element(By.ID, "filter").get_attribute("value") == BUNDLE
    assert opened.find_element(By.CSS_SELECTOR, "#events h2").text.endswith(BUNDLE)
    assert len(opened.find_elements(By.CSS_SELECTOR, "#events tbody tr")) == 200


def test_arrow_keys_go_from_mark_to_mark(opened):
    chart = opened.find_element(By.CSS_SELECTOR, ".uplot")
    hint, told = opened.find_element(By.ID, "hint"), []
    for _ in range(2):
        chart.send_keys(Keys.ARROW_RIGHT)
        told.append(hint.text)
    assert all("unload broker-" in one for one in told)
    assert told[0] != told[1]
    chart.send_keys(Keys.ESCAPE)
    assert not hint.is_displayed()


def test_a_touch_shows_a_mark(opened):
    opened.execute_script(
        """
        const over = document.querySelector(".u-over").getBoundingClientRect();
        document.querySelector(".u-over").dispatchEvent(new PointerEvent("pointerdown", {
          bubbles: true, pointerType: "touch",
          clientX: over.left + arguments[0] * over.width,
          clientY: over.top + (1 - arguments[1] / 100) * over.height - 12,
        }));
        """,
        MARKED / (POINTS - 1),
        USED,
    )
    assert "SHED-04" in opened.find_element(By.ID, "hint").text


def test_it_fits_a_phone_in_the_dark(browser, file):
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        browser.get(file.as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert max(map(int, re.findall(r"\d+", ground))) < 64
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
