"""The to-dos on three pages, in a terminal and in the database itself: one query, the same everywhere."""

import json
import sqlite3
import urllib.request

import pytest

from programs import Broker, Demos, Program, await_true, run
from to_do_page import FIRST, ToDoPage


@pytest.fixture
def database(tmp_path):
    return tmp_path / "demos.sqlite"


@pytest.fixture
def demos(broker, database):
    with Demos(broker.port, database=database) as demos:
        yield demos


@pytest.fixture
def pages(browsers, demos):
    """Three pages of five to-dos."""
    pages = [ToDoPage(browser) for browser in browsers]
    for page in pages:
        page.script_errors()
        page.open(demos.url + "/to-do/")
        page.await_live()
        page.await_titles(*FIRST)
    yield pages
    for page in pages:
        page.set_offline(False)
        assert page.script_errors() == []


def stored(demos, query="open"):
    rows = json.load(urllib.request.urlopen(f"{demos.url}/to-do/{query}", timeout=10))["rows"]
    return [row["title"] for row in rows]


def write(database, sql):
    """What `sqlite3 demos.sqlite "…"` does, in another process than the demos'."""
    connection = sqlite3.connect(database, timeout=10)
    with connection:
        connection.execute(sql)
    connection.close()


def await_agreement(demos, *screens, count):
    seen = {}

    def agree():
        seen["stored"] = stored(demos)
        seen["shown"] = [screen.titles for screen in screens]
        return len(seen["stored"]) == count and all(titles == seen["stored"] for titles in seen["shown"])

    await_true(agree, f"{count} to-dos in the database and on every screen", told=lambda: seen)


def test_the_query_decides_where_a_new_row_goes(pages):
    pages[0].add("Buy bread", due="2020-01-01")
    for page in pages:
        page.await_titles("Buy bread", *FIRST)
        await_true(lambda: page.state == "update: 0 deletions, 1 insertion, 0 modifications, 0 moves", page.state)
    pages[1].add("Some day")
    for page in pages:
        page.await_titles("Buy bread", *FIRST, "Some day")


def test_a_change_touches_exactly_the_rows_that_differ(pages):
    for page in pages:
        assert page.state == "initial: 5 rows"
        page._driver.execute_script(
            """
            window.touched = [];
            for (const item of document.querySelectorAll("#rows li")) {
                new MutationObserver(() => touched.push(item.querySelector(".name").textContent))
                    .observe(item, { childList: true, subtree: true, characterData: true });
            }
            """
        )
    pages[0].edit("Call Grandma", new_title="Call Grandpa")
    for page in pages:
        page.await_titles(*FIRST[:2], "Call Grandpa", *FIRST[3:])
        await_true(lambda: page.state == "update: 0 deletions, 0 insertions, 1 modification, 0 moves", page.state)
        assert set(page._driver.execute_script("return touched")) == {"Call Grandpa"}


def test_what_is_done_leaves_the_list_and_comes_back(pages):
    here, there, third = pages
    there.click("#show-done")
    there.await_titles("Mend the bicycle")
    here.tick("Water the tomatoes")
    there.await_titles("Water the tomatoes", "Mend the bicycle")
    third.await_titles(*[title for title in FIRST if title != "Water the tomatoes"])
    there.tick("Water the tomatoes")
    for page in (here, third):
        page.await_titles(*FIRST)
    here.tick("Call Grandma")
    third.await_titles(*[title for title in FIRST if title != "Call Grandma"])
    here.click("#undo button")
    for page in (here, third):
        page.await_titles(*FIRST)
    there.await_titles("Mend the bicycle")


def test_a_page_goes_offline_by_its_button_and_gets_what_came_meanwhile(pages, demos):
    here, there, _ = pages
    here.go_offline()
    there.tick("Water the tomatoes")
    there.add("Buy bread", due="2020-01-01")
    await_agreement(demos, there, count=5)
    here.add("Some day")
    assert here.titles == [*FIRST, "Some day"]
    here.go_online()
    await_true(lambda: "while you were away." in here.notices, "what came", told=lambda: here.notices)
    await_agreement(demos, *pages, count=6)


def test_two_people_change_one_row(pages, demos):
    here, there, _ = pages
    here.open_editor("Learn to juggle")
    there.edit("Learn to juggle", due="2020-01-01")
    here.await_titles("Learn to juggle", *FIRST[:-1])
    here._driver.execute_script("document.getElementById('edit-title').value = 'Juggle'")
    here.click("#editor button[value=save]")
    for page in pages:
        page.await_titles("Juggle", *FIRST[:-1])
        assert page.due("Juggle").endswith("days late")


def test_what_is_deleted_while_it_is_edited_is_said(pages):
    here, there, _ = pages
    here.open_editor("Call Grandma")
    there.remove("Call Grandma")
    await_true(lambda: "“Call Grandma” was deleted on another screen." in here.notices, "the notice")
    assert not here._find("#editor").is_displayed()


def test_the_pages_follow_what_another_process_writes_to_the_file(pages, database):
    write(database, "INSERT INTO ToDos (title, due) VALUES ('From the shell', '2020-01-01')")
    for page in pages:
        page.await_titles("From the shell", *FIRST)
    write(database, "UPDATE ToDos SET isDone = 1 WHERE due IS NOT NULL")
    for page in pages:
        page.await_titles("Learn to juggle")
        await_true(lambda: page.state == "update: 5 deletions, 0 insertions, 0 modifications, 0 moves", page.state)


def test_a_query_that_fails_is_an_error_until_it_does_not(pages, database):
    write(database, "ALTER TABLE ToDos RENAME TO Hidden")
    for page in pages:
        await_true(lambda: "error: The query cannot be answered: no such table" in page.state, "the error")
        assert page.titles == FIRST
    write(database, "ALTER TABLE Hidden RENAME TO ToDos")
    for page in pages:
        await_true(lambda: page.state.startswith("update:"), "the next update")
        await_true(lambda: page.problems == "", "that the error goes")


def test_changes_from_all_sides_converge(pages, demos, database):
    for number in range(4):
        for index, page in enumerate(pages):
            page.add(f"{number} of {index}", due=f"2020-01-{1 + (number * 3 + index * 5) % 9:02}")
        write(database, f"INSERT INTO ToDos (title, due) VALUES ('{number} of the shell', '2020-01-05')")
    # One edits what another ticks off at the same time.
    pages[1].open_editor("Water the tomatoes")
    pages[0].tick("Water the tomatoes")
    pages[1]._driver.execute_script("document.getElementById('edit-title').value = 'Water all'")
    pages[1].click("#editor button[value=save]")
    pages[2].remove("Call Grandma")
    write(database, "UPDATE ToDos SET due = '2020-01-02' WHERE title = 'Call Grandma'")
    await_agreement(demos, *pages, count=5 + 16 - 2)
    await_true(lambda: "Water all" in stored(demos, "done"), "both edits of one row")


def test_a_page_that_was_offline_sends_and_catches_up(pages, demos):
    offline, here, _ = pages
    offline.set_offline(True)
    offline.add("Offline")
    offline.tick("Water the tomatoes")
    expected = [title for title in FIRST if title != "Water the tomatoes"] + ["Offline"]
    offline.await_titles(*expected)
    await_true(lambda: "Your changes are not saved yet." in offline.problems, "that they wait")
    here.add("Here")
    here.edit("Water the tomatoes", new_title="Water all")
    offline.set_offline(False)
    await_agreement(demos, *pages, count=6)
    assert "Water all" in stored(demos, "done")
    await_true(lambda: offline.problems == "", "that the problems go")


def test_a_reload_shows_the_same(pages):
    pages[0].add("Before the reload")
    pages[0].await_titles(*FIRST, "Before the reload")
    await_true(lambda: pages[1].titles == pages[0].titles, "the row on the other page")
    pages[0].reload()
    pages[0].await_live()
    pages[0].await_titles(*FIRST, "Before the reload")


def test_a_new_broker_and_a_new_backend_are_found(browsers, database):
    pages = [ToDoPage(browser) for browser in browsers]
    broker = Broker()
    demos = Demos(broker.port, database=database)
    for page in pages:
        page.open(demos.url + "/to-do/")
        page.await_live()
        page.await_titles(*FIRST)
    assert broker.stop() == 0
    for page in pages:
        await_true(lambda: "Live updates are paused" in page.problems, "a clear error")
    pages[0].add("Without the broker")
    pages[0].await_titles(*FIRST, "Without the broker")
    with Broker(port=broker.port):
        for page in pages:
            page.await_live()
        await_agreement(demos, *pages, count=6)
        assert demos.stop() == 0
        # No event reports this: the next run of the backend has to.
        write(database, "DELETE FROM ToDos WHERE title = 'Without the broker'")
        with Demos(broker.port, port=demos.port, database=database) as again:
            await_agreement(again, *pages, count=5)


def test_a_title_is_text_and_never_markup(pages):
    pages[0].add("<img src=x onerror=alert(1)>")
    for page in pages:
        page.await_titles(*FIRST, "<img src=x onerror=alert(1)>")


def terminal_arguments(broker, demos, file):
    urls = ("--backend", demos.url, "--broker", f"ws://127.0.0.1:{broker.port}")
    return ("demo-terminal", "to-do", "--database", file, *urls)


@pytest.fixture
def terminal(broker, demos, tmp_path):
    program = Program(*terminal_arguments(broker, demos, tmp_path / "terminal.sqlite"), is_typed_at=True)
    with program:
        program.await_line("update: .*" + ", ".join(FIRST))
        yield program


def test_a_terminal_shows_the_query_of_its_own_database(pages, demos, terminal):
    pages[0].add("From a page", due="2020-01-01")
    terminal.await_line("update: 0 deleted, 1 inserted, 0 modified: From a page, Return")
    terminal.type("rename 1 From the terminal")
    for page in pages:
        page.await_titles("From the terminal", *FIRST)
    terminal.type("done 1")
    terminal.type("add Buy bread by 2020-01-02")
    for page in pages:
        page.await_titles("Buy bread", *FIRST)
    terminal.type("due 1 tomorrow")
    terminal.await_line("problem: The backend refused: The field due must be a day like 2026-01-31, not tomorrow.")
    assert stored(demos)[0] == "Buy bread"


def test_the_terminals_screen_follows_whoever_writes_to_its_database(terminal, tmp_path):
    """Its own sync is one of those; nothing but the query tells the screen."""
    terminal.type("done 2")
    terminal.await_line("update: 1 deleted, 0 inserted, 0 modified: Return the library books, Call Grandma")
    terminal.type("undo")
    terminal.await_line("update: 0 deleted, 1 inserted, 0 modified: " + ", ".join(FIRST))


def test_a_terminal_works_offline_and_syncs_when_it_is_back(browsers, broker, database, tmp_path):
    page = ToDoPage(browsers[0])
    demos = Demos(broker.port, database=database)
    arguments = terminal_arguments(broker, demos, tmp_path / "terminal.sqlite")
    with Program(*arguments, is_typed_at=True) as terminal:
        terminal.await_line("update: .*" + ", ".join(FIRST))
        assert demos.stop() == 0
        terminal.type("add Offline by 2020-01-01")
        terminal.await_lines(
            "update: 0 deleted, 1 inserted, 0 modified: Offline, Return",
            "status: offline: 1 edit to send. The backend cannot be reached.",
        )
        terminal.type("done 2")
        terminal.await_line("update: 1 deleted")
    # It ends and begins again without a backend, and still has everything.
    with Program(*arguments, is_typed_at=True) as terminal:
        terminal.await_lines(
            "initial: Offline, Water the tomatoes, Call Grandma",
            "status: offline: 2 edits to send",
        )
        # Meanwhile another field is changed of the row that was ticked off here.
        write(database, "UPDATE ToDos SET title = 'Return the film' WHERE title LIKE 'Return%'")
        with Demos(broker.port, port=demos.port, database=database) as demos:
            terminal.await_line("status: synced", seconds=30)
            assert stored(demos) == ["Offline", *FIRST[1:]]
            assert "Return the film" in stored(demos, "done")
            page.open(demos.url + "/to-do/")
            page.await_titles("Offline", *FIRST[1:])


def test_one_command_changes_the_list_and_ends(pages, broker, demos, tmp_path):
    done = run(*terminal_arguments(broker, demos, tmp_path / "terminal.sqlite"), "--do", "done 1")
    assert done.returncode == 0, done.stderr
    for page in pages:
        page.await_titles(*FIRST[1:])
