"""Pages that are opened with ?client=pusher-js: they load that script, and nothing else changes."""

from pathlib import Path

import pytest

from contacts_page import ADA, ContactsPage
from programs import Broker, Demos, await_true
from static_site import StaticSite
from table_page import TableDemos, TablePage, order, post
from to_do_page import FIRST, ToDoPage

RUNS_AT_TWO_NODES = True


@pytest.fixture(scope="module")
def script():
    """The URL of the stand-in, on another origin as a CDN is."""
    text = (Path(__file__).parent / "pusher_stand_in.js").read_text()
    with StaticSite({"/pusher_stand_in.js": text}) as site:
        yield f"{site.url}/pusher_stand_in.js"


def await_agreement(demos, count, pages):
    def agree():
        names = order(demos)
        return len(names) == count and all(page.names == names for page in pages)

    await_true(agree, f"one order of {count} names everywhere")


def test_pages_with_either_client_edit_one_list(browsers, broker, script):
    pages = [TablePage(browser) for browser in browsers]
    with TableDemos(broker.port, pusher_js=script) as demos:
        for page, query in zip(pages, ("?client=pusher-js", "", "?client=pusher-js")):
            page.open(demos.url + "/table/" + query)
            page.await_live()
        counts = [page.run("return window.Pusher?.instances.length ?? 0") for page in pages]
        assert counts == [1, 0, 1]
        for number, page in enumerate(pages):
            page.add(f"Page {number}")
        await_agreement(demos, 4, pages)
        pages[2].drag("Page 2", "John Doe")
        pages[0].remove("Page 1")
        await_agreement(demos, 3, pages)


def test_a_page_with_the_stock_client_comes_back(browsers, script, tmp_path):
    page = TablePage(browsers[0])
    broker = Broker()
    with TableDemos(broker.port, database=tmp_path / "list.sqlite", pusher_js=script) as demos:
        page.open(demos.url + "/table/?client=pusher-js")
        page.await_live()
        assert broker.stop() == 0
        await_true(lambda: page.connection == "Connecting", "that the connection is gone")
        page.add("Ada")
        with Broker(port=broker.port):
            page.await_live()
            await_agreement(demos, 2, [page])


def test_a_page_that_cannot_load_it_says_so_and_goes_on(browsers, broker):
    page = TablePage(browsers[0])
    with TableDemos(broker.port, pusher_js="http://127.0.0.1:9/pusher.min.js") as demos:
        page.open(demos.url + "/table/?client=pusher-js")
        await_true(lambda: "pusher.min.js cannot be loaded" in page.notices, "why")
        page.await_live()
        page.add("Ada")
        await_agreement(demos, 2, [page])


@pytest.mark.parametrize("query, is_loaded", [("", False), ("?client=pusher-js", True)])
def test_only_who_asks_for_the_script_may_load_it(browsers, broker, script, query, is_loaded):
    page = browsers[0]
    with Demos(broker.port, pusher_js=script) as demos:
        page.open(demos.url + "/films/" + query)
        page.await_live()
        load = """
            const script = document.createElement("script");
            script.src = given[0];
            document.head.append(script);
            return new Promise((resolve) => {
                script.onload = () => resolve(true);
                script.onerror = () => resolve(false);
            });
        """
        assert page.run(load, script) is is_loaded
        # The very script, and no other of its server.
        assert page.run(load, script.replace("stand_in", "other")) is False


def test_contacts_follow_their_models_by_the_stock_client(browsers, broker, script):
    page = ContactsPage(browsers[0])
    with Demos(broker.port, pusher_js=script) as demos:
        page.open(demos.url + "/contacts/?client=pusher-js")
        page.await_live()
        # A screen that is left and opened again follows its model again.
        for phone in ("1", "2"):
            page.go(ADA)
            page.await_cell("title", "Ada Lovelace")
            post(demos, "/contacts/change", id=ADA, phone=phone)
            page.await_cell("phone", phone)
            page.go("")
            await_true(lambda: page.cells == {}, "no card")
        assert page.touched()["revision"] == 3


def test_to_dos_follow_their_query_by_the_stock_client(browsers, broker, script):
    pages = [ToDoPage(browser) for browser in browsers[:2]]
    with Demos(broker.port, pusher_js=script) as demos:
        for page in pages:
            page.open(demos.url + "/to-do/?client=pusher-js")
            page.await_live()
            page.await_titles(*FIRST)
        pages[0].add("Buy bread", due="2020-01-01")
        pages[0].tick("Call Grandma")
        for page in pages:
            page.await_titles("Buy bread", *[title for title in FIRST if title != "Call Grandma"])
