"""The Realtime table on three pages, in a terminal and in an old app, with the programs as they ship."""

import os
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from browser import Page
from contrast import faint_texts
from frame_line import FrameLine
from line import Line
from programs import ROOT, Broker, await_true, broker_with_recovery, run
from static_site import StaticSite
from table_page import OldApp, TableDemos, TablePage, Terminal, order, post


@pytest.fixture
def pusher_js():
    """The URL of the unmodified pusher-js that PUSHER_JS names, on another origin as a CDN is; none without."""
    if not (path := os.environ.get("PUSHER_JS")):
        yield None
        return
    with StaticSite({"/pusher.min.js": Path(path).read_text()}) as site:
        yield f"{site.url}/pusher.min.js"


@pytest.fixture
def demos(broker):
    with TableDemos(broker.port) as demos:
        yield demos


@pytest.fixture
def pages(browsers, demos):
    """Three pages of one list: John Doe, Ada, Grace, Mary."""
    for name in ("Ada", "Grace", "Mary"):
        post(demos, "/add", name=name, deviceId="setup")
    pages = [TablePage(browser) for browser in browsers]
    for page in pages:
        page.script_errors()
        page.open(demos.url + "/table/")
        page.await_live()
        page.await_names("John Doe", "Ada", "Grace", "Mary")
    yield pages
    for page in pages:
        page.set_offline(False)
        assert page.script_errors() == []


def await_agreement(demos, count, *screens):
    """Waits until all screens show the order of the database, which has so many rows."""

    def agree():
        names = order(demos)
        return names if len(names) == count and all(screen.names == names for screen in screens) else None

    return await_true(agree, f"one order of {count} names on {len(screens)} screens and in the database")


def test_an_added_user_appears_everywhere(pages):
    pages[0].add("Hedy")
    for page in pages:
        page.await_names("John Doe", "Ada", "Grace", "Mary", "Hedy")


def test_every_row_has_its_icons(pages):
    drawn = "return [...document.querySelectorAll('#rows use')].filter((use) => use.getBBox().width > 0).length"
    await_true(lambda: pages[0]._driver.execute_script(drawn) == 2 * len(pages[0].names), "a handle and a cross each")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_whatever_its_colour(pages, scheme):
    with pages[0].colour_scheme(scheme):
        for hue in range(0, 360, 30):
            assert faint_texts(pages[0], hue) == [], hue


def test_a_removed_user_leaves_every_page(pages):
    pages[1].remove("Ada")
    for page in pages:
        page.await_names("John Doe", "Grace", "Mary")


@pytest.mark.parametrize(
    "name, target, names",
    [
        ("John Doe", "Mary", ["Ada", "Grace", "Mary", "John Doe"]),
        ("Mary", "John Doe", ["Mary", "John Doe", "Ada", "Grace"]),
        ("Ada", "Grace", ["John Doe", "Grace", "Ada", "Mary"]),
    ],
)
def test_a_dragged_row_moves_everywhere(pages, demos, name, target, names):
    pages[0].drag(name, target)
    for page in pages:
        page.await_names(*names)
    await_true(lambda: order(demos) == names, "the order in the database")


def test_the_keyboard_moves_a_row_everywhere(pages):
    pages[0].press("Mary", Keys.ARROW_UP, Keys.ARROW_UP)
    for page in pages:
        page.await_names("John Doe", "Mary", "Ada", "Grace")


def test_one_command_in_the_terminal_appears_everywhere(pages, demos, broker):
    addresses = ("--backend", demos.url, "--broker", f"ws://127.0.0.1:{broker.port}")
    done = run("demo-terminal", "table", "--do", "move 1 4", *addresses)
    assert done.returncode == 0, done.stderr
    for page in pages:
        page.await_names("Ada", "Grace", "Mary", "John Doe")


def test_the_terminal_shows_and_changes_the_same_list(pages, demos, broker):
    with Terminal(broker, demos) as terminal:
        pages[0].drag("Mary", "John Doe")
        await_agreement(demos, 4, *pages, terminal)
        terminal.type("move 1 3")
        for page in pages:
            page.await_names("John Doe", "Ada", "Mary", "Grace")
        terminal.type("remove 9")
        terminal.await_line("remove needs the number of a row, 1 to 4")
        terminal.type("add Hedy")
        await_agreement(demos, 5, *pages, terminal)


def test_an_old_app_and_new_pages_edit_one_list(pages, demos, broker):
    with OldApp(broker, demos) as old:
        old.add("Old")
        for page in pages:
            page.await_names("John Doe", "Ada", "Grace", "Mary", "Old")
        old.move("Old", "Ada")
        for page in pages:
            page.await_names("John Doe", "Old", "Ada", "Grace", "Mary")
        pages[0].add("New")
        pages[1].press("Mary", Keys.ARROW_UP)
        pages[2].remove("Ada")
        names = await_agreement(demos, 5, *pages, old)
        assert set(names) == {"John Doe", "Old", "Mary", "Grace", "New"}
        old.remove("New")
        await_agreement(demos, 4, *pages, old)


def test_changes_from_all_sides_end_in_one_order(pages, demos, broker):
    """Three pages, the terminal and an old app add and move at the same time, and none waits for another."""
    with OldApp(broker, demos) as old, Terminal(broker, demos) as terminal:
        for number in range(4):
            for index, page in enumerate(pages):
                page.add(f"Page {index} {number}")
            old.add(f"Old {number}")
            terminal.type(f"add Terminal {number}")
            terminal.type("move 1 3")
            pages[0].press("John Doe", Keys.ARROW_DOWN)
            pages[1].press("Ada", Keys.ARROW_UP)
            old.move("Mary", "Grace")
        pages[2].remove("Page 2 0")
        terminal.type("remove 1")
        await_agreement(demos, 4 + 5 * 4 - 2, *pages, terminal, old)


def test_edits_that_could_not_know_of_each_other_converge(pages, demos, broker):
    """Two pages are cut off while everything changes; then all of it has to fit together."""
    first, second, third = pages
    lines = [Line(number, demos.port, broker.port) for number in (2, 3)]
    with OldApp(broker, demos) as old, Terminal(broker, demos) as terminal, lines[0], lines[1]:
        for page, line in zip(pages, lines):
            page.open(f"http://{line.host}:{demos.port}/table/")
            page.await_live()
            page.await_names("John Doe", "Ada", "Grace", "Mary")
            line.cut()
            page.set_offline(True)
        # All three move the same row; one removes the row behind which another has moved it.
        first.drag("John Doe", "Mary")
        first.add("First")
        second.remove("Mary")
        second.press("John Doe", Keys.ARROW_DOWN)
        third.press("John Doe", Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        third.add("Third")
        old.remove("Grace")
        await_agreement(demos, 4, third, terminal, old)
        for page in (first, second):
            await_true(lambda: "Your changes are not saved yet" in page.problems, "that the page says so")
            await_true(lambda: "Live updates are paused" in page.problems, "that the page says so")
        first.await_names("Ada", "Grace", "Mary", "John Doe", "First")
        second.await_names("Ada", "John Doe", "Grace")
        for page, line in zip(pages, lines):
            line.mend()
            page.set_offline(False)
        names = await_agreement(demos, 4, *pages, terminal, old)
        assert set(names) == {"John Doe", "Ada", "First", "Third"}
        for page in pages:
            await_true(lambda: page.problems == "", "that nothing is wrong any more", seconds=40)


def test_a_reload_shows_what_all_others_show(pages, demos):
    pages[0].add("Hedy")
    pages[0].drag("Hedy", "Ada")
    pages[0].reload()
    await_agreement(demos, 5, *pages)


def test_a_trigger_from_the_command_line_is_seen(pages, broker):
    arguments = ("notice", '{"text": "Hello from the shell"}', "--channel", "userslist")
    sent = run("fanfare", "trigger", *arguments, "--url", broker.url)
    assert sent.returncode == 0, sent.stderr
    for page in pages:
        await_true(lambda: "Hello from the shell" in page.notices, "the notice")


def test_events_that_somebody_else_invents_do_no_harm(pages, publisher, demos):
    for data in ({}, {"revision": 10**9, "operations": [None]}, {"revision": 10**9, "operations": []}, "x", None):
        publisher.trigger("userslist", "list_changed", data)
    pages[0].add("Hedy")
    await_agreement(demos, 5, *pages)


def test_a_name_is_text_and_never_markup(pages):
    pages[0].add("<img src=x onerror=alert(1)>")
    pages[1].await_names("John Doe", "Ada", "Grace", "Mary", "<img src=x onerror=alert(1)>")


def test_a_refused_edit_takes_itself_back(pages, demos):
    pages[0].run("document.getElementById('name').maxLength = 1000")
    pages[0].add("x" * 101)
    await_true(lambda: "must not have more than 100 characters" in pages[0].problems, "why")
    await_agreement(demos, 4, *pages)


def test_the_pages_say_that_the_broker_is_away_and_recover(browsers, tmp_path):
    pages = [TablePage(browser) for browser in browsers]
    broker = Broker()
    with TableDemos(broker.port, database=tmp_path / "list.sqlite") as demos:
        for page in pages:
            page.open(demos.url + "/table/")
            page.await_live()
            page.await_names("John Doe")
        assert broker.stop() == 0
        for page in pages:
            await_true(lambda: "Live updates are paused" in page.problems, "a clear error")
        # What is changed meanwhile, here or elsewhere, is not lost.
        for number, page in enumerate(pages):
            page.add(f"Page {number}")
        post(demos, "/add", name="Grace", deviceId="another")
        with Broker(port=broker.port):
            for page in pages:
                page.await_live()
                await_true(lambda: page.problems == "", "that the error goes")
            await_agreement(demos, 5, *pages)
            pages[2].press("Grace", Keys.ARROW_UP)
            await_agreement(demos, 5, *pages)


def test_a_page_says_that_the_backend_is_away_and_recovers(browsers, broker, tmp_path):
    page = TablePage(browsers[0])
    database = tmp_path / "list.sqlite"
    first = TableDemos(broker.port, database=database)
    page.open(first.url + "/table/")
    page.await_live()
    page.await_names("John Doe")
    assert first.stop() == 0
    page.add("Ada")
    await_true(lambda: "Your changes are not saved yet" in page.problems, "a clear error")
    page.await_names("John Doe", "Ada")
    with TableDemos(broker.port, port=first.port, database=database) as second:
        await_true(lambda: page.problems == "", "that the change gets there")
        await_agreement(second, 2, page)


def test_edits_that_wait_outlive_their_page(browsers, broker, tmp_path):
    page = TablePage(browsers[0])
    database = tmp_path / "list.sqlite"
    first = TableDemos(broker.port, database=database)
    page.open(first.url + "/table/")
    page.await_live()
    page.await_names("John Doe")
    assert first.stop() == 0
    page.add("Ada")
    page.add("Grace")
    await_true(lambda: "Your changes are not saved yet" in page.problems, "that they wait")
    page.open("about:blank")
    with TableDemos(broker.port, port=first.port, database=database) as second:
        page.open(second.url + "/table/")
        await_agreement(second, 3, page)
        page.reload()
        page.await_names("John Doe", "Ada", "Grace")
        await_agreement(second, 3, page)


def test_edits_that_wait_outlive_their_tab(broker, tmp_path):
    database = tmp_path / "list.sqlite"
    first = TableDemos(broker.port, database=database)
    page = TablePage(Page())
    try:
        page.open(first.url + "/table/")
        page.await_live()
        page.await_names("John Doe")
        assert first.stop() == 0
        page.add("Ada")
        await_true(lambda: "Your changes are not saved yet" in page.problems, "that they wait")
        page.open_in_new_tab("about:blank")
        with TableDemos(broker.port, port=first.port, database=database) as second:
            page.open(second.url + "/table/")
            await_agreement(second, 2, page)
            page.reload()
            page.await_names("John Doe", "Ada")
    finally:
        page.quit()


def test_a_page_is_not_live_while_its_changes_wait(browsers, broker, tmp_path):
    page = TablePage(browsers[0])
    database = tmp_path / "list.sqlite"
    first = TableDemos(broker.port, database=database)
    page.open(first.url + "/table/")
    page.await_live()
    page.await_names("John Doe")
    assert first.stop() == 0
    page.add("Ada")
    await_true(lambda: "Your changes are not saved yet" in page.problems, "a clear error")
    assert page.connection == "Not saved"
    with TableDemos(broker.port, port=first.port, database=database):
        page.await_live()


@pytest.mark.parametrize("query", ["", "?client=pusher-js"])
def test_a_page_goes_offline_by_its_button_and_gets_what_came_meanwhile(browsers, broker, pusher_js, query):
    if query and not pusher_js:
        pytest.skip("PUSHER_JS names no bundle of pusher-js")
    page = TablePage(browsers[0])
    with TableDemos(broker.port, pusher_js=pusher_js) as demos:
        page.open(demos.url + "/table/" + query)
        page.await_live()
        page.await_names("John Doe")
        loads = page.request_count("/table/rows")
        page.go_offline()
        for number in range(12):
            post(demos, "/add", name=f"Number {number}", deviceId="another")
        page.add("Here")
        await_true(lambda: "This page is offline." in page.problems, "that the page says so")
        page.await_names("John Doe", "Here")
        assert len(order(demos)) == 13
        page.go_online()
        await_true(lambda: "12 changes while you were away." in page.notices, "what came", told=lambda: page.notices)
        await_agreement(demos, 14, page)
        await_true(lambda: page.problems == "", "that nothing is wrong")
        assert page.request_count("/table/rows") == loads


def test_a_page_believes_a_backend_that_has_begun_anew(browsers, broker):
    page = TablePage(browsers[0])
    first = TableDemos(broker.port)
    page.open(first.url + "/table/")
    page.await_live()
    for name in ("Ada", "Grace"):
        page.add(name)
    await_agreement(first, 3, page)
    assert first.stop() == 0
    # Its list was in memory only.
    with TableDemos(broker.port, port=first.port) as second:
        page.add("Mary")
        await_agreement(second, 2, page)


def test_a_page_that_was_away_catches_up_without_a_request_and_says_so(browsers, broker):
    page = TablePage(browsers[0])
    with FrameLine(broker.port) as line, TableDemos(broker.port, public_broker=f"http://127.0.0.1:{line.port}") as demos:
        page.open(demos.url + "/table/")
        page.await_live()
        page.await_names("John Doe")
        loads = page.request_count("/table/rows")
        line.close()
        await_true(lambda: page.connection == "Reconnecting", "that the connection is gone")
        for number in range(12):
            post(demos, "/add", name=f"Number {number}", deviceId="another")
        line.open()
        await_true(lambda: "12 changes while you were away." in page.notices, "what has happened", seconds=40)
        await_agreement(demos, 13, page)
        assert page.request_count("/table/rows") == loads


def test_an_open_page_loses_nothing_while_the_broker_of_make_run_is_restarted(browsers, tmp_path):
    """With config/demos.yaml, whose messages are in a file: what came before the stop and what came behind the start."""
    page = TablePage(browsers[0])
    file = tmp_path / "demos.yaml"
    configured = (ROOT / "config" / "demos.yaml").read_text()
    assert "database: var/history.sqlite" in configured
    file.write_text(configured.replace("var/history.sqlite", str(tmp_path / "history.sqlite")))
    broker = Broker(configuration=file)
    address = f"http://127.0.0.1:{broker.port}"

    def add(*numbers):
        for number in numbers:
            post(demos, "/add", name=f"Number {number}", deviceId="another")

    def last():
        told = run("fanfare", "history", "userslist", "--last", "1", "--json", "--url", address)
        return told.stdout

    with FrameLine(broker.port) as line, TableDemos(
        broker.port, database=tmp_path / "list.sqlite", public_broker=f"http://127.0.0.1:{line.port}"
    ) as demos:
        page.open(demos.url + "/table/")
        page.await_live()
        page.await_names("John Doe")
        loads = page.request_count("/table/rows")
        # Nothing is missing: there is nothing to tell, and nothing to load.
        assert broker.stop() == 0
        await_true(lambda: "Live updates are paused" in page.problems, "a clear error")
        with Broker(port=broker.port, configuration=file) as broker:
            page.await_live()
            await_true(lambda: page.problems == "", "that the error goes")
            line.close()
            await_true(lambda: page.connection == "Reconnecting", "that the connection is gone")
            add(0, 1, 2)
            await_true(lambda: "Number 2" in last(), "that the first half is published", told=last)
        with Broker(port=broker.port, configuration=file):
            add(3, 4, 5)
            await_true(lambda: "Number 5" in last(), "that the second half is published", told=last)
            line.open()
            told = "6 changes while you were away."
            await_true(lambda: told in page.notices, "what has happened", seconds=40, told=lambda: page.notices)
            await_agreement(demos, 7, page)
            page.add("Here")
            await_agreement(demos, 8, page)
            assert page.request_count("/table/rows") == loads
            assert "expired" not in page.notices


def test_a_page_behind_a_gap_loads_anew_and_says_so(browsers, tmp_path):
    page = TablePage(browsers[0])
    with (
        broker_with_recovery(tmp_path, messages_max=5) as broker,
        FrameLine(broker.port) as line,
        TableDemos(broker.port, public_broker=f"http://127.0.0.1:{line.port}") as demos,
    ):
        page.open(demos.url + "/table/")
        page.await_live()
        page.await_names("John Doe")
        loads = page.request_count("/table/rows")
        line.close()
        await_true(lambda: page.connection == "Reconnecting", "that the connection is gone")
        for number in range(12):
            post(demos, "/add", name=f"Number {number}", deviceId="another")
        line.open()
        # Two for each change: one is for old apps.
        gap = "History expired, reloaded (24 events missed)."
        await_true(lambda: gap in page.notices, "what has happened", seconds=40, told=lambda: page.notices)
        await_agreement(demos, 13, page)
        assert page.request_count("/table/rows") == loads + 1


def test_a_terminal_that_was_away_catches_up_and_says_so(broker):
    with FrameLine(broker.port) as line, TableDemos(broker.port) as demos, Terminal(line, demos) as terminal:
        line.close()
        terminal.await_line("waiting to reconnect")
        for number in range(3):
            post(demos, "/add", name=f"Number {number}", deviceId="another")
        line.open()
        terminal.await_line("notice: 6 events while you were away", seconds=40)
        await_agreement(demos, 4, terminal)
