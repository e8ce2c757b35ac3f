"""The films on three pages: batches, and what the tables of rows make of them."""

import json
import urllib.request

import pytest

from films_page import FilmsPage
from line import Line
from programs import Broker, Demos, await_true

ORIGINAL = ["Metropolis", "City Lights", "Casablanca", "Rashomon", "Vertigo", "Alien"]


@pytest.fixture
def demos(broker):
    with Demos(broker.port) as demos:
        yield demos


@pytest.fixture
def pages(browsers, demos):
    pages = [FilmsPage(browser) for browser in browsers]
    for page in pages:
        page.script_errors()
        page.open(demos.url + "/films/")
        page.await_live()
        await_true(lambda: page.titles == ORIGINAL, "the films that the list begins with")
    yield pages
    for page in pages:
        page.set_offline(False)
        assert page.script_errors() == []


def snapshot(demos):
    return json.load(urllib.request.urlopen(demos.url + "/films/rows", timeout=10))


def await_agreement(demos, count, *pages):
    def agree():
        titles = [film["title"] for film in snapshot(demos)["rows"]]
        return titles if len(titles) == count and all(page.titles == titles for page in pages) else None

    return await_true(agree, f"one order of {count} films everywhere")


def test_three_appended_and_three_dropped_are_one_batch_everywhere(pages, demos):
    pages[0].click("#append-and-drop")
    for page in pages:
        page.await_batch(deletes="1, 2, 3", inserts="4, 5, 6")
        # Six at the beginning, and three new ones: what stays keeps its cells.
        assert page.cell_count == 9
    assert await_agreement(demos, 6, *pages)[:3] == ORIGINAL[3:]
    assert snapshot(demos)["revision"] == 1


def test_three_at_the_front_push_the_others_down_without_new_cells_for_them(pages, demos):
    pages[1].click("#insert-three")
    for page in pages:
        page.await_batch(inserts="1, 2, 3")
        assert page.cell_count == 9
    assert await_agreement(demos, 9, *pages)[3:] == ORIGINAL


def test_single_edits_are_batches_of_one(pages, demos):
    pages[0].add("Nosferatu")
    for page in pages:
        page.await_batch(inserts="7")
    pages[1].rename("Alien", "Aliens")
    for page in pages:
        page.await_batch(updates="6")
    pages[2].remove("Metropolis")
    for page in pages:
        page.await_batch(deletes="1")
    pages[0].drag_down("City Lights")
    for page in pages:
        await_true(lambda: "moves" in page.batch, "a move")
        assert page.cell_count == 7
    assert await_agreement(demos, 6, *pages) == [
        "Casablanca", "City Lights", "Rashomon", "Vertigo", "Aliens", "Nosferatu",
    ]


def test_a_shuffle_makes_no_cells(pages, demos):
    pages[0].click("#shuffle")
    await_true(lambda: snapshot(demos)["revision"] == 1, "the commit")
    await_agreement(demos, 6, *pages)
    assert [page.cell_count for page in pages] == [6, 6, 6]


def test_everything_goes_back_to_the_beginning(pages, demos):
    pages[0].click("#append-and-drop")
    await_agreement(demos, 6, *pages)
    pages[1].rename("Alien", "Aliens")
    await_true(lambda: "Aliens" in pages[0].titles, "the other title")
    pages[2].click("#reset")
    assert await_agreement(demos, 6, *pages) == ORIGINAL


def test_batches_of_three_pages_at_once_converge(pages, demos):
    for button in ("#append-and-drop", "#insert-three", "#shuffle", "#append-and-drop"):
        for page in pages:
            page.click(button)
    # Three pages, and of each three films at the front.
    await_true(lambda: snapshot(demos)["revision"] == 12, "twelve commits")
    count = len(snapshot(demos)["rows"])
    await_agreement(demos, count, *pages)


def test_batches_made_offline_follow(pages, demos, broker):
    here, there, third = pages
    with Line(4, demos.port, broker.port) as line:
        here.open(f"http://{line.host}:{demos.port}/films/")
        here.await_live()
        await_true(lambda: here.titles == ORIGINAL, "the films that the list begins with")
        line.cut()
        here.set_offline(True)
        here.click("#append-and-drop")
        here.await_batch(deletes="1, 2, 3", inserts="4, 5, 6")
        there.remove("Casablanca")
        third.rename("Rashomon", "羅生門")
        # Behind the last film, which is gone by then.
        there.remove("Alien")
        await_agreement(demos, 4, there, third)
        line.mend()
        here.set_offline(False)
        titles = await_agreement(demos, 5, *pages)
        assert titles[:2] == ["羅生門", "Vertigo"]


def test_pages_meet_again_after_a_reload_and_a_restart_of_the_broker(browsers, tmp_path):
    pages = [FilmsPage(browser) for browser in browsers]
    broker = Broker()
    with Demos(broker.port, database=tmp_path / "films.sqlite") as demos:
        for page in pages:
            page.open(demos.url + "/films/")
            page.await_live()
        assert broker.stop() == 0
        for page in pages[:2]:
            await_true(lambda: "Live updates are paused" in page.problems, "a clear error")
            page.click("#insert-three")
        pages[2].reload()
        with Broker(port=broker.port):
            for page in pages:
                page.await_live()
            await_agreement(demos, 12, *pages)
            pages[2].click("#append-and-drop")
            await_agreement(demos, 12, *pages)


def test_a_list_that_is_full_says_so_and_takes_the_batch_back(pages, demos):
    for _ in range(18):
        pages[0].click("#insert-three")
    await_agreement(demos, 60, *pages)
    pages[1].click("#insert-three")
    await_true(lambda: "The list is full: the limit is 60 rows." in pages[1].problems, "why")
    await_agreement(demos, 60, *pages)


def test_the_films_that_the_list_begins_with_are_no_change(browsers, demos):
    page = FilmsPage(browsers[0])
    page.open("about:blank")
    # Rows flash as they get this class; an observer sees it however short it is.
    page.watch_classes("changed")
    page.open(demos.url + "/films/")
    page.await_live()
    await_true(lambda: page.titles == ORIGINAL, "the films that the list begins with")
    assert page.flashed() == []
    assert page.batch == {}
    page.click("#shuffle")
    await_true(lambda: page.flashed(), "that a change flashes")


def test_the_list_is_in_view_on_a_phone(browsers, demos):
    page = FilmsPage(browsers[0])
    with page.phone():
        page.open(demos.url + "/films/")
        page.await_live()
        await_true(lambda: page.titles == ORIGINAL, "the films")
        bottoms = page.run("""return [...document.querySelectorAll("#rows li")].map((row) => row.getBoundingClientRect().bottom)""")
        assert sum(bottom <= 640 for bottom in bottoms) >= 3, bottoms
