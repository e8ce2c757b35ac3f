"""What pages do with statuses of the backend: "not now" and "sign in again" keep the edits, a refusal returns them."""

import json
import urllib.request

import pytest

from contacts_page import ADA, ContactsPage
from films_page import FilmsPage
from programs import Demos, await_true
from room_page import RoomPage
from table_page import TablePage
from text_page import TextPage
from to_do_page import ToDoPage

# What is posted is answered by `status`, with JSON as backends and many proxies do; `longest` is the longest text taken.
ANSWER = """
    const { status, longest = null, content = '{"error":"not now"}' } = given[0];
    const real = window.realFetch ??= window.fetch;
    window.refused = 0;
    window.fetch = async (path, options) => {
        const inserted = () => JSON.parse(options.body).operations.map(({ insert }) => [...insert ?? ""].length);
        const isTaken = longest !== null && Math.max(...inserted()) <= longest;
        if (options?.method !== "POST" || String(path).endsWith("/auth") || isTaken) return real(path, options);
        window.refused += 1;
        return new Response(content, { status });
    };
"""
NOT_NOW = [401, 408, 429]
# Refusals that a backend gives, and what a proxy says of a body that is too long.
REFUSALS = [(403, '{"error":"read only"}'), (413, "<h1>Too large</h1>"), (422, '{"error":"no such words"}')]

# The pages with a list: what they show, and where their backend has it.
LISTS = {
    "to-do": (ToDoPage, "titles", "/to-do/open", "title"),
    "table": (TablePage, "names", "/table/rows", "name"),
    "films": (FilmsPage, "titles", "/films/rows", "title"),
}


@pytest.fixture(scope="module")
def demos(broker):
    with Demos(broker.port) as demos:
        yield demos


@pytest.fixture(scope="module")
def text(demos):
    page = TextPage()
    try:
        page.open(demos.url + "/text/")
        page.await_loaded()
        yield page
    finally:
        page.quit()


def answer_with(page, status, **details):
    page.run(ANSWER, {"status": status, **details})


def let_through(page):
    page.run("window.fetch = window.realFetch; dispatchEvent(new Event('online'));")


def await_refused(page, count=1):
    await_true(lambda: page.run("return window.refused") >= count, f"{count} answers")


def handed_back(page):
    return page.run('return [...document.querySelectorAll(".refused textarea")].map(({ value }) => value)')


def stored_text(demos):
    snapshot = json.load(urllib.request.urlopen(demos.url + "/text/snapshot", timeout=10))
    return "".join(run[2] for run in snapshot["runs"] if isinstance(run[2], str))


def dismiss(page):
    page.click(".refused button")
    assert handed_back(page) == []


@pytest.mark.parametrize("content", ['{"error":"no"}', "<h1>No</h1>"])
def test_only_an_answer_to_what_was_sent_is_a_refusal(text, content):
    script = ANSWER + """
        const { request, Refused } = await import("/backend.js");
        return request("POST", "operations", {}).catch((error) => error instanceof Refused);
    """
    refusals = [400, 403, 404, 409, 410, 422] if content[0] == "{" else []
    for status in [400, 401, 403, 404, 407, 408, 409, 410, 413, 421, 422, 425, 429, 500, 502, 503]:
        assert text.run(script, {"status": status, "content": content}) == (status in [413, *refusals]), status
    let_through(text)


@pytest.mark.parametrize("status", NOT_NOW)
def test_what_was_typed_stays_and_is_sent_later(text, demos, status):
    before = text.written
    answer_with(text, status)
    text.put_caret(len(before))
    text.type(f"typed at {status}, ")
    await_refused(text)
    assert text.written == f"{before}typed at {status}, "
    await_true(lambda: text.problems.startswith("Your changes are not saved yet.\nnot now"), "why")
    text.type("and on. ")
    let_through(text)
    text.await_saved()
    assert text.written == stored_text(demos) == f"{before}typed at {status}, and on. "
    assert handed_back(text) == []


@pytest.mark.parametrize("content", ['{"error":"too long"}', "<h1>Too large</h1>"])
def test_what_is_too_long_for_the_backend_is_sent_in_parts(text, demos, content):
    before = text.written
    answer_with(text, 413, longest=3, content=content)
    text.put_caret(0)
    text.type("in parts of three: ")
    text.await_saved()
    await_refused(text)
    let_through(text)
    assert text.written == stored_text(demos) == "in parts of three: " + before
    assert handed_back(text) == []


@pytest.mark.parametrize(("status", "content"), REFUSALS)
def test_a_refused_text_is_returned(text, demos, status, content):
    before = text.written
    answer_with(text, status, content=content)
    text.put_caret(0)
    text.type("refused")
    await_true(lambda: "".join(handed_back(text)), "what was typed")
    let_through(text)
    await_true(lambda: text.written == before or None, "the text of the backend")
    # Each letter of what was too long was refused by itself.
    assert "".join("".join(handed_back(text)).split()) == "refused"
    while handed_back(text):
        text.click(".refused button")
    text.type("accepted ")
    text.await_saved()
    assert text.written == stored_text(demos)


class ListPage:
    """A page with a list, and the rows of its backend."""

    def __init__(self, name, driver, demos):
        kind, self._shown, self._path, self._field = LISTS[name]
        self._demos = demos
        self.page = kind(driver)
        self.page.open(f"{demos.url}/{name}/")
        self.page.await_live()
        await_true(lambda: self.shown, "the rows")

    @property
    def shown(self):
        return getattr(self.page, self._shown)

    @property
    def stored(self):
        rows = json.load(urllib.request.urlopen(self._demos.url + self._path, timeout=10))["rows"]
        return [row[self._field] for row in rows]


@pytest.mark.parametrize("status", NOT_NOW)
@pytest.mark.parametrize("name", LISTS)
def test_an_edit_of_a_list_stays_and_is_sent_later(browsers, demos, name, status):
    rows = ListPage(name, browsers[0], demos)
    page = rows.page
    answer_with(page, status)
    title = f"Answer {status}"
    page.add(title)
    await_refused(page)
    assert title in rows.shown
    await_true(lambda: page.problems.startswith("Your changes are not saved yet.\nnot now"), "why")
    let_through(page)
    await_true(lambda: title in rows.stored, "the row in the database")
    assert title in rows.shown and handed_back(page) == []


@pytest.mark.parametrize(("status", "content"), REFUSALS)
@pytest.mark.parametrize("name", LISTS)
def test_a_refused_row_is_returned(browsers, demos, name, status, content):
    rows = ListPage(name, browsers[0], demos)
    page = rows.page
    answer_with(page, status, content=content)
    page.add("A title that took a while")
    await_true(lambda: handed_back(page) == ["A title that took a while"], "the title")
    assert "A title that took a while" not in rows.shown
    let_through(page)
    dismiss(page)


def field(page, name):
    return page.run("return document.getElementById(arguments[0])?.value", f"field-{name}")


@pytest.mark.parametrize("status", [*NOT_NOW, *(status for status, _ in REFUSALS)])
def test_a_form_keeps_what_was_written(browsers, demos, status):
    page = ContactsPage(browsers[0])
    page.open(demos.url + "/contacts/")
    page.await_live()
    page.go("add")
    page.write("name", f"Answer {status}")
    answer_with(page, status)
    page.press_button("Add")
    await_refused(page)
    await_true(lambda: "not now" in page.text("#screen"), "why")
    assert field(page, "name") == f"Answer {status}"
    let_through(page)
    page.press_button("Add")
    await_true(lambda: f"Answer {status}" in page.names, "the contact")
    page.go(ADA)
    page.await_cell("title", "Ada Lovelace")
    page.press_button("Edit")
    page.write("note", f"written at {status}")
    answer_with(page, status)
    page.press_button("Save")
    await_refused(page)
    await_true(lambda: "not now" in page.text("#screen"), "why")
    assert field(page, "note") == f"written at {status}"
    let_through(page)
    page.press_button("Save")
    page.await_cell("note", f"written at {status}")
    page.press_button("Delete …")
    answer_with(page, status)
    page.press_button("Delete")
    await_refused(page)
    let_through(page)
    assert "Ada Lovelace" in page.names
    page.await_cell("title", "Ada Lovelace")


@pytest.mark.parametrize("status", NOT_NOW)
def test_a_message_stays_and_is_sent_later(browsers, demos, status):
    page = RoomPage(browsers[0])
    page.enter(demos, "Ada")
    answer_with(page, status)
    text = f"said at {status}"
    page.say(text)
    await_refused(page)
    assert ("Ada", text) in page.messages
    let_through(page)
    stored = lambda: [message["text"] for message in json.load(urllib.request.urlopen(demos.url + "/room/messages"))]
    await_true(lambda: text in stored(), "the message at the backend")


@pytest.mark.parametrize(("status", "content"), REFUSALS)
def test_a_refused_message_is_returned(browsers, demos, status, content):
    page = RoomPage(browsers[0])
    page.enter(demos, "Ada")
    answer_with(page, status, content=content)
    page.say("words that nobody reads")
    await_true(lambda: handed_back(page) == ["words that nobody reads"], "the message")
    assert ("Ada", "words that nobody reads") not in page.messages
    let_through(page)
    dismiss(page)
