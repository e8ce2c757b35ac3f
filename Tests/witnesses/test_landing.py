"""The home page of the demos: two live panes on one page, the times between them, and a snippet that works as it stands."""

import shlex
import subprocess

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from programs import Demos, await_true
from static_site import StaticSite
from table_page import NAMES, order, post


@pytest.fixture
def demos(broker):
    with Demos(broker.port) as demos:
        yield demos


class Pane:
    """One of the two panes, by its number."""

    def __init__(self, page, number):
        self._driver = page._driver
        self._number = number

    def __enter__(self):
        self._driver.switch_to.frame(self._driver.find_elements(By.CSS_SELECTOR, ".panes iframe")[self._number])
        return self

    def __exit__(self, *_):
        self._driver.switch_to.default_content()

    def names(self):
        with self:
            return self._driver.execute_script(NAMES)

    def text(self, selector):
        with self:
            return self._driver.find_element(By.CSS_SELECTOR, selector).text

    def add(self, name):
        with self:
            self._driver.find_element(By.ID, "name").send_keys(name, Keys.ENTER)

    def click(self, selector):
        with self:
            self._driver.find_element(By.CSS_SELECTOR, selector).click()


@pytest.fixture
def page(browsers, demos):
    page = browsers[0]
    page.script_errors()
    page.open(demos.url + "/")
    page.await_live()
    yield page
    assert page.script_errors() == []


@pytest.fixture
def panes(page):
    panes = [Pane(page, 0), Pane(page, 1)]
    for pane in panes:
        await_true(lambda: pane.text("#connection") == "Live" and len(pane.names()) == 8, "a live pane of eight people")
    return panes


def test_it_says_what_this_is_and_measures_the_round_trip(page):
    assert page.text("h1") == "Fanfare"
    assert page.text("header div p") == "Sends events to browsers, phones and servers the moment they happen."
    await_true(lambda: page.text("#round-trip").endswith(" ms"), "the time of a round trip")


def test_a_change_in_one_pane_is_seen_in_the_other_with_its_time(page, panes, demos):
    panes[0].add("Ann")
    for pane in panes:
        await_true(lambda: pane.names()[-1] == "Ann", "Ann in both panes")
    await_true(lambda: page.text("#shown").endswith(" ms"), "the time from pane to pane")
    assert order(demos)[-1] == "Ann"


def test_one_pane_goes_offline_and_catches_up(panes, demos):
    panes[0].click("#offline")
    await_true(lambda: panes[0].text("#connection") == "Offline", "that the pane is offline")
    panes[1].add("Ann")
    panes[1].add("Bob")
    await_true(lambda: panes[1].names()[-2:] == ["Ann", "Bob"], "both in the other pane")
    assert len(panes[0].names()) == 8
    panes[0].click("#offline")
    await_true(lambda: "2 changes while you were away." in panes[0].text("#notices"), "what has happened")
    await_true(lambda: panes[0].names() == order(demos), "the same list")


def test_the_snippet_works_as_it_stands(browsers, page, demos):
    await_true(lambda: "</script>" in page.text("#snippet"), "the snippet")
    other = browsers[1]
    with StaticSite({"/": f"<!doctype html><title>Own</title><body>{page.text('#snippet')}"}) as site:
        other.open(site.url + "/")

        def heard():
            # The page subscribes on its own; names are added until it does.
            post(demos, "/add", name="Ann", deviceId="test")
            return "Ann" in other.text("body")

        await_true(heard, "the name on a page of one's own")


def test_the_request_in_a_shell_works_as_it_stands(page, demos):
    await_true(lambda: page.text("#request"), "the request")
    done = subprocess.run(shlex.split(page.text("#request")), capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    assert order(demos)[-1] == "Ann"


def test_every_app_and_every_terminal_is_named(page, demos):
    links = [link.get_attribute("href") for link in page._driver.find_elements(By.CSS_SELECTOR, ".cards a")]
    assert links == [f"{demos.url}/{name}/" for name in ("table", "room", "text", "contacts", "films", "to-do")]
    for command in ("table", "to-do", "text"):
        assert f"demo-terminal {command}" in page.text("footer")


def test_nothing_is_wider_than_a_phone(page, demos):
    for path in ("/", "/table/", "/room/", "/text/", "/contacts/", "/films/", "/to-do/"):
        with page.phone():
            page.open(demos.url + path)
            page.await_live()
            assert page.run("return document.documentElement.scrollWidth") <= 360, path
