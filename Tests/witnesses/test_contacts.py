"""The contacts on three pages at once: three screens, each of which follows its model."""

import json
import urllib.error
import urllib.request
import uuid

import pytest
from selenium.webdriver.common.keys import Keys

from contacts_page import ADA, GRACE, ContactsPage
from programs import Broker, Demos, await_true


@pytest.fixture
def demos(broker):
    with Demos(broker.port) as demos:
        yield demos


@pytest.fixture
def pages(browsers, demos):
    """Three pages of one book with eleven people."""
    pages = [ContactsPage(page) for page in browsers]
    for page in pages:
        # What another test has left.
        page.script_errors()
        page.open(demos.url + "/contacts/")
        page.await_live()
        await_true(lambda: len(page.names) == 11, "eleven people")
    yield pages
    for page in pages:
        page.set_offline(False)
        assert page.script_errors() == []


def post(demos, route, **fields):
    request = urllib.request.Request(
        f"{demos.url}/contacts/{route}", json.dumps(fields).encode(), {"Content-Type": "application/json"}
    )
    return json.load(urllib.request.urlopen(request, timeout=10))


def people(demos):
    return json.load(urllib.request.urlopen(f"{demos.url}/contacts/people", timeout=10))["model"]


def await_equal(pages, demos):
    """All pages show what the store has."""

    def agree():
        stored = {person["name"] for person in people(demos)}
        return all(set(page.names) == stored and len(page.names) == len(stored) for page in pages)

    await_true(agree, f"the names of the store on all pages, which show {[page.names for page in pages]}")


def test_a_snapshot_touches_only_what_differs(pages, demos):
    for page in pages:
        page._driver.execute_script("for (const item of document.querySelectorAll('#list li')) item.isOld = true")
    post(demos, "add", id=str(uuid.uuid4()), name="Émilie du Châtelet", phone="123")
    for page in pages:
        await_true(lambda: "Émilie du Châtelet" in page.names, "the new name")
        assert ("E", ["Edsger Dijkstra", "Émilie du Châtelet"]) in page.sections
        assert page.touched() == {"revision": 2, "inserted": 1, "updated": 0, "removed": 0, "untouched": 11}
    post(demos, "change", id=GRACE, phone="999")
    for page in pages:
        await_true(lambda: page.touched()["revision"] == 3, "the next snapshot")
        assert page.touched() == {"revision": 3, "inserted": 0, "updated": 1, "removed": 0, "untouched": 11}
    post(demos, "remove", id=GRACE)
    for page in pages:
        await_true(lambda: page.touched()["revision"] == 4, "the next snapshot")
        assert page.touched() == {"revision": 4, "inserted": 0, "updated": 0, "removed": 1, "untouched": 11}
        # A letter without people is gone with its last one, and the cells that stay are the same elements.
        assert "G" not in dict(page.sections)
        old = "return [...document.querySelectorAll('#list .group:not(.leaving) li:not(.leaving)')].filter((item) => item.isOld).length"
        assert page._driver.execute_script(old) == 10


def test_who_is_added_on_one_page_is_on_all(pages, demos):
    first = pages[0]
    first.go("add")
    first.write("name", "Hypatia")
    first.write("email", "hypatia")
    first.press_button("Add")
    error = "An e-mail address is like ada@example.org; “hypatia” is not."
    await_true(lambda: first.text("#error-email") == error, "what is wrong with the address")
    first.write("email", "hypatia@example.org")
    first.press_button("Add")
    first.await_cell("email", "hypatia@example.org")
    for page in pages:
        await_true(lambda: ("H", ["Hedy Lamarr", "Hypatia"]) in page.sections, "Hypatia below H")
    await_equal(pages, demos)


def test_a_new_contact_is_told_who_is_there_while_it_is_written(pages, demos):
    first = pages[0]
    first.go("add")
    first.write("name", "Rosalind Franklin")
    post(demos, "add", id=str(uuid.uuid4()), name="rosalind franklin")
    await_true(lambda: "rosalind franklin has this name already." in first.cells.values(), "the duplicate")


def test_two_people_edit_one_contact(pages):
    here, there, watching = pages
    for page in pages:
        page.go(ADA)
        page.await_cell("title", "Ada Lovelace")
    for page in (here, there):
        page.press_button("Edit")
    here.write("phone", "+44 1")
    there.write("note", "Poetical science.")
    # Both have the same field open, too.
    here.write("name", "Ada King")
    there.write("name", "Augusta Ada")
    here.press_button("Save")
    await_true(lambda: there.cells.get("phone") == "+44 1", "a field that is not touched there follows")
    await_true(lambda: "Changed elsewhere to “Ada King”." in there.text("li[data-id=name] .hint"), "the hint")
    there.press_button("Save")
    for page in pages:
        page.await_cell("title", "Augusta Ada")
        page.await_cell("phone", "+44 1")
        page.await_cell("note", "Poetical science.")
    await_true(lambda: watching.touched("screen")["updated"] >= 1, "touched cells on the page that only watches")


def test_who_is_deleted_elsewhere_is_said_to_be(pages, demos):
    here, there, third = pages
    for page in (here, there):
        page.go(GRACE)
        page.await_cell("title", "Grace Hopper")
    there.press_button("Edit")
    there.write("note", "A nanosecond is a foot long.")
    here.press_button("Delete …")
    here.press_button("Delete")
    gone = "Grace Hopper was deleted on another screen. What you have written is kept if you add them again."
    there.await_cell("gone", gone)
    await_equal(pages, demos)
    there.press_button("Add again")
    there.await_cell("note", "A nanosecond is a foot long.")
    there.press_button("Add")
    await_true(lambda: "Grace Hopper" in third.names, "Grace again")
    await_equal(pages, demos)


def test_edits_and_deletes_from_all_sides_converge(pages, demos):
    ids = [person["id"] for person in people(demos)]
    for number, page in enumerate(pages):
        page._driver.execute_script(
            """
            const [number, ids] = arguments;
            const send = (route, body) => fetch(`/contacts/${route}`, {
                method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
            for (let round = 0; round < 12; round += 1) {
                const id = ids[(round * 5 + number) % ids.length];
                if (round % 4 === 3) send("remove", { id });
                else send("change", { id, name: `Name ${(round * 7 + number * 3) % 11} of ${number}`, phone: `${round}` });
                send("add", { id: crypto.randomUUID(), name: `New ${round} of ${number}` });
            }
            """,
            number,
            ids,
        )
    await_true(lambda: len([1 for person in people(demos) if person["name"].startswith("New")]) == 36, "36 new people")
    await_equal(pages, demos)


def test_a_page_that_was_offline_catches_up(pages, demos):
    offline, here, _ = pages
    offline.go(ADA)
    offline.await_cell("title", "Ada Lovelace")
    offline.set_offline(True)
    post(demos, "change", id=ADA, name="Ada King")
    post(demos, "remove", id=GRACE)
    here.go("add")
    here.write("name", "Hypatia")
    here.press_button("Add")
    await_true(lambda: "Hypatia" in here.names, "Hypatia")
    # What is written meanwhile is not lost: it is refused with a word, and kept.
    offline.press_button("Edit")
    offline.write("phone", "42")
    offline.press_button("Save")
    await_true(lambda: "cannot be reached" in offline.cells.get("error", ""), "a clear error")
    assert offline.cells["phone"] == "42"
    offline.set_offline(False)
    await_equal(pages, demos)
    await_true(lambda: offline.cells.get("name") == "Ada King", "the new name in the form")
    offline.press_button("Save")
    await_true(lambda: [p["phone"] for p in people(demos) if p["id"] == ADA] == ["42"], "the number in the store")


def test_a_reload_shows_the_same_screen(pages):
    page = pages[0]
    page.go(ADA)
    page.await_cell("title", "Ada Lovelace")
    page.reload()
    page.await_live()
    page.await_cell("title", "Ada Lovelace")
    assert len(page.names) == 11


def test_a_new_broker_and_a_new_backend_are_found(browsers, tmp_path):
    pages = [ContactsPage(page) for page in browsers]
    broker = Broker()
    database = tmp_path / "contacts.sqlite"
    demos = Demos(broker.port, database=database)
    for page in pages:
        page.open(demos.url + "/contacts/")
        page.await_live()
    assert broker.stop() == 0
    for page in pages:
        await_true(lambda: "Live updates are paused" in page.problems, "a clear error")
    # Its own change a page sees at once, the others when the broker is there.
    pages[0].go("add")
    pages[0].write("name", "Hypatia")
    pages[0].press_button("Add")
    await_true(lambda: "Hypatia" in pages[0].names, "Hypatia")
    with Broker(port=broker.port):
        for page in pages:
            page.await_live()
        await_equal(pages, demos)
        assert demos.stop() == 0
        with Demos(broker.port, port=demos.port, database=database) as again:
            post(again, "add", id=str(uuid.uuid4()), name="Emmy Noether")
            for page in pages:
                await_true(lambda: "Emmy Noether" in page.names, "Emmy Noether")


def test_the_same_screens_over_another_store(browsers, demos):
    page = ContactsPage(browsers[0])
    page.open(demos.url + "/contacts/?store=browser")
    await_true(lambda: "No contacts yet" in page.text("#list"), "an empty store")
    page.go("add")
    page.write("name", "Hypatia")
    page.press_button("Add")
    page.await_cell("title", "Hypatia")
    assert page.names == ["Hypatia"]
    page.reload()
    await_true(lambda: page.names == ["Hypatia"], "the name after a reload")
    assert "Hypatia" not in [person["name"] for person in people(demos)]
    page._driver.execute_script("localStorage.clear()")


def test_the_page_works_with_the_keyboard_alone(pages):
    page = pages[0]
    page._driver.execute_script("document.activeElement.blur()")
    body = page._find("body")
    body.send_keys("/")
    page._driver.switch_to.active_element.send_keys("hop")
    await_true(lambda: page.names == ["Grace Hopper"], "the one that fits")
    page._driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    page._driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.await_cell("title", "Grace Hopper")
    body.send_keys(Keys.ESCAPE)
    await_true(lambda: page.cells == {}, "no card")


def test_a_name_is_text_and_never_markup(pages, demos):
    name = "<img src=x onerror=alert(1)>"
    post(demos, "add", id=str(uuid.uuid4()), name=name)
    for page in pages:
        await_true(lambda: name in page.names, "the text")


def test_what_nobody_can_take_is_refused(demos):
    with pytest.raises(urllib.error.HTTPError) as refusal:
        post(demos, "add", id=str(uuid.uuid4()), name="")
    assert refusal.value.code == 422
    assert json.load(refusal.value) == {"error": "A contact needs a name.", "field": "name"}


def test_a_page_goes_offline_by_its_button_and_gets_what_came_meanwhile(pages, demos):
    here, there, _ = pages
    here.go(ADA)
    here.await_cell("title", "Ada Lovelace")
    here.go_offline()
    for phone in ("1", "2", "3"):
        post(demos, "change", id=ADA, phone=phone)
    there.go(ADA)
    there.await_cell("phone", "3")
    assert here.cells["phone"] != "3"
    here.go_online()
    await_true(lambda: "3 changes while you were away." in here.notices, "what came", told=lambda: here.notices)
    here.await_cell("phone", "3")
