"""The text editor in three real browsers, with an old client among them, and the broker and backend as they ship."""

import json
import urllib.request
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from frame_line import FrameLine
from programs import Broker, Demos, await_true, run
from pysher_client import Subscriber
from text_page import TextPage, post

VECTORS = Path(__file__).with_name("text-vectors.json")

class OldClient(Subscriber):
    """Hears whole texts, as the tutorial's app does."""

    def __init__(self, broker):
        super().__init__(broker, "collabo")
        self.texts = []
        self._channels["collabo"].bind("text_update", lambda data: self.texts.append(json.loads(data)["text"]))


@pytest.fixture(scope="module")
def browsers():
    pages = []
    try:
        for _ in range(3):
            pages.append(TextPage())
        yield pages
    finally:
        for page in pages:
            page.quit()


@pytest.fixture
def demos(broker):
    with Demos(broker.port) as demos:
        yield demos


@pytest.fixture
def pages(browsers, demos):
    """Three pages of one text, of Ada, Grace and Mary."""
    post(demos, "one two three", "setup")
    for page, name in zip(browsers, ("Ada", "Grace", "Mary")):
        page.open(demos.url + "/text/")
        page.be_called(name)
        page.reload()
    for page in browsers:
        page.await_loaded()
        page.await_text("one two three")
    yield browsers
    for page in browsers:
        assert page.script_errors() == []


def stored(demos):
    snapshot = json.load(urllib.request.urlopen(demos.url + "/text/snapshot", timeout=10))
    return "".join(run[2] for run in snapshot["runs"] if isinstance(run[2], str))


def await_one_text(pages, demos, *parts):
    """Waits until all have the same text with all these parts in it."""

    def agree():
        texts = {page.written for page in pages} | {stored(demos)}
        return len(texts) == 1 and all(part in next(iter(texts)) for part in parts) and next(iter(texts))

    return await_true(agree, f"one text with {parts}", seconds=40)


def test_the_twin_in_javascript_does_what_swift_does(browsers, demos):
    page = browsers[0]
    page.open(demos.url + "/text/")
    assert page.replay(json.loads(VECTORS.read_text())) is None


def test_three_type_at_the_same_time_and_see_each_other(pages, demos):
    words = ("alpha ", "bravo ", "gamma ")
    for page, offset in zip(pages, (0, 4, 13)):
        page.put_caret(offset)
    # Letter by letter, in turns.
    for letters in zip(*words):
        for page, letter in zip(pages, letters):
            page.type(letter)
    text = await_one_text(pages, demos, *words)
    assert text == "alpha one bravo two threegamma "
    for page, others in zip(pages, (["Grace", "Mary"], ["Ada", "Mary"], ["Ada", "Grace"])):
        await_true(lambda: sorted(page.state["carets"]) == others, f"the carets of {others}")
        await_true(lambda: len(page.people) == 3, "three people: " + str(page.people))
        assert page.state["length"] == "31 characters"
        page.await_saved()
    # A caret is where its owner's is, and one's own has stayed behind one's own letters.
    await_true(lambda: pages[0].caret_offset_of("Grace") == 16, "Grace's caret")
    assert [page.state["caret"] for page in pages] == [6, 16, 31]


def test_what_three_type_at_one_place_stays_together(pages, demos):
    for page in pages:
        page.put_caret(3)
    for letters in zip("AAAA", "BBBB", "CCCC"):
        for page, letter in zip(pages, letters):
            page.type(letter)
    await_true(lambda: len({page.written for page in pages}) == 1 and len(pages[0].written) == 25, "one text", seconds=40)
    text = await_one_text(pages, demos, "AAAA", "BBBB", "CCCC")
    assert text.startswith("one") and text.endswith(" two three")


def test_a_reload_loses_nothing(pages, demos):
    pages[0].put_caret(0)
    pages[0].type("zero ")
    pages[0].reload()
    pages[0].await_loaded()
    await_one_text(pages, demos, "zero one two three")


def test_edits_made_offline_are_kept_and_put_together(pages, demos):
    here, there, third = pages
    here.set_offline(True)
    here.put_caret(13)
    here.type(" four")
    await_true(lambda: here.state["saved"] in ("offline", "saving"), "that edits are kept")
    there.put_caret(0)
    there.type("zero ")
    third.await_text("zero one two three")
    assert here.written == "one two three four"
    here.set_offline(False)
    assert await_one_text(pages, demos) == "zero one two three four"
    here.await_saved()


def test_an_old_client_and_new_ones_lose_nothing(pages, demos, broker):
    here, there, _ = pages
    with OldClient(broker) as old:
        here.put_caret(0)
        here.type("new ")
        # The old client has not heard of that, and types on from what it has.
        post(demos, "one two three, old", "phone")
        text = await_one_text(pages, demos, "new ", ", old")
        assert text == "new one two three, old"
        await_true(lambda: old.texts and old.texts[-1] == text, "the whole text for old clients")
        there.put_caret(0)
        there.type("very ")
        await_true(lambda: old.texts[-1] == "very " + text, "the whole text once more")
        post(demos, old.texts[-1] + " and last", "phone")
    assert await_one_text(pages, demos, "last") == "very new one two three, old and last"


def test_a_text_of_one_letter_and_of_none_reach_all(pages, demos):
    post(demos, "o", "setup")
    for page in pages:
        page.await_text("o")
    post(demos, "", "setup")
    for page in pages:
        page.await_text("")
        assert page.state["length"] == "0 characters"


def test_undo_takes_back_what_one_did_oneself(pages, demos):
    here, there, _ = pages
    here.put_caret(3)
    here.type(" mine")
    there.await_text("one mine two three")
    there.put_caret(0)
    there.type("theirs ")
    here.await_text("theirs one mine two three")
    here.type(Keys.CONTROL, "z")
    assert await_one_text(pages, demos) == "theirs one two three"
    here.type(Keys.CONTROL, "y")
    assert await_one_text(pages, demos) == "theirs one mine two three"


def test_a_terminal_writes_along(pages, demos, broker):
    done = run(
        "demo-terminal", "text", "--do", "append from a shell",
        "--backend", demos.url, "--broker", f"ws://127.0.0.1:{broker.port}",
    )
    assert done.returncode == 0, done.stderr
    assert await_one_text(pages, demos) == "one two three\nfrom a shell"


def test_the_text_outlives_backend_and_broker(browsers, tmp_path):
    page = browsers[0]
    database = tmp_path / "text.sqlite"
    broker = Broker()
    first = Demos(broker.port, database=database)
    page.open(first.url + "/text/")
    page.await_loaded()
    page.type("kept ")
    page.await_saved()
    assert first.stop() == 0
    page.type("for ")
    with Demos(broker.port, port=first.port, database=database) as second:
        page.await_saved()
        assert broker.stop() == 0
        page.type("good")
        with Broker(port=broker.port):
            page.await_live()
            page.await_saved()
            assert stored(second) == page.written == "kept for good"


def test_a_page_that_was_away_catches_up_without_a_request_and_says_so(browsers, broker):
    page = browsers[0]
    with FrameLine(broker.port) as line, Demos(broker.port, public_broker=f"http://127.0.0.1:{line.port}") as demos:
        page.open(demos.url + "/text/")
        page.await_loaded()
        page.await_live()
        recoveries = page.request_count("/text/operations")
        line.close()
        await_true(lambda: page.connection == "Reconnecting", "that the connection is gone")
        for text in ("one", "two", "three"):
            post(demos, text, "another")
        line.open()
        page.await_text("three")
        await_true(lambda: "3 changes while you were away." in page.notices, "what has happened", seconds=40)
        assert page.request_count("/text/operations") == recoveries


def test_a_page_says_that_the_backend_is_away(browsers, broker, tmp_path):
    page = browsers[0]
    database = tmp_path / "text.sqlite"
    first = Demos(broker.port, database=database)
    page.open(first.url + "/text/")
    page.await_loaded()
    assert first.stop() == 0
    page.type("kept")
    await_true(lambda: "Your changes are not saved yet" in page.problems, "a clear error")
    assert page.connection == "Not saved"
    assert page.state["saved"] == "offline"
    with Demos(broker.port, port=first.port, database=database) as second:
        page.await_saved()
        page.await_live()
        await_true(lambda: page.problems == "", "that nothing is wrong any more")
        assert stored(second) == "kept"


def test_a_page_goes_offline_by_its_button_and_gets_what_came_meanwhile(pages, demos):
    here, there, _ = pages
    here.go_offline()
    here.put_caret(13)
    here.type(" four")
    there.put_caret(0)
    there.type("zero ")
    there.await_saved()
    await_true(lambda: "This page is offline." in here.problems, "that the page says so")
    assert stored(demos) == "zero one two three"
    here.go_online()
    await_true(lambda: "while you were away." in here.notices, "what came", told=lambda: here.notices)
    assert await_one_text(pages, demos) == "zero one two three four"
    await_true(lambda: here.problems == "", "that nothing is wrong any more")


def test_nine_pairs_of_writers_and_more_have_colours_that_differ(browsers, demos):
    page = browsers[0]
    page.open(demos.url + "/text/")
    page.await_loaded()
    nearest = page.run(
        """
        const { hues } = await import("/people.js");
        const { uuid } = await import("/me.js");
        const distance = (one, other) => Math.min(Math.abs(one - other), 360 - Math.abs(one - other));
        let nearest = 360;
        for (let round = 0; round < 500; round += 1) {
            const ids = Array.from({ length: 2 + round % 7 }, uuid);
            // Another page, which knows them in another order, shows the same.
            const elsewhere = hues([...ids].reverse());
            if (ids.some((id) => hues(ids).get(id) !== elsewhere.get(id))) return -1;
            for (const one of ids) for (const other of ids) {
                if (one !== other) nearest = Math.min(nearest, distance(elsewhere.get(one), elsewhere.get(other)));
            }
        }
        return nearest;
        """
    )
    assert nearest >= 25
