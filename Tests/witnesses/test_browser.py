"""The Realtime table in two real browsers, with the broker and the backend as they ship."""

import json
import urllib.request

import pytest
from selenium.webdriver.common.keys import Keys

from browser import Page
from programs import Broker, Demos, await_true, run


@pytest.fixture(scope="module")
def browsers():
    pages = []
    try:
        pages.append(Page())
        pages.append(Page())
        yield pages
    finally:
        for page in pages:
            page.quit()


@pytest.fixture
def backend(broker):
    with Demos(broker.port) as backend:
        yield backend


@pytest.fixture
def pages(browsers, backend):
    """Two pages of one list: John Doe, Ada, Grace, Mary."""
    for name in ("Ada", "Grace", "Mary"):
        post(backend, "/add", name=name, deviceId="setup")
    for page in browsers:
        page.open(backend.url + "/table/")
        page.await_live()
        page.await_names("John Doe", "Ada", "Grace", "Mary")
    yield browsers
    for page in browsers:
        assert page.script_errors() == []


def post(backend, path, **fields):
    request = urllib.request.Request(
        backend.url + path, json.dumps(fields).encode(), {"Content-Type": "application/json"}
    )
    return json.load(urllib.request.urlopen(request, timeout=10))


def users(backend):
    return json.load(urllib.request.urlopen(backend.url + "/users", timeout=10))


def test_an_added_user_appears_in_both(pages):
    here, there = pages
    here.add("Hedy")
    for page in (here, there):
        page.await_names("John Doe", "Ada", "Grace", "Mary", "Hedy")


def test_a_removed_user_leaves_both(pages):
    here, there = pages
    there.remove("Ada")
    for page in (here, there):
        page.await_names("John Doe", "Grace", "Mary")


@pytest.mark.parametrize(
    "name, target, order",
    [
        ("John Doe", "Mary", ["Ada", "Grace", "Mary", "John Doe"]),
        ("Mary", "John Doe", ["Mary", "John Doe", "Ada", "Grace"]),
        ("Ada", "Grace", ["John Doe", "Grace", "Ada", "Mary"]),
    ],
)
def test_a_dragged_row_moves_in_both(pages, backend, name, target, order):
    here, there = pages
    here.drag(name, target)
    for page in (here, there):
        page.await_names(*order)
    await_true(lambda: [user["name"] for user in users(backend)] == order, "the order in the database")


def test_the_keyboard_moves_a_row_in_both(pages):
    here, there = pages
    here.press("Mary", Keys.ARROW_UP, Keys.ARROW_UP)
    for page in (here, there):
        page.await_names("John Doe", "Mary", "Ada", "Grace")


def test_a_move_by_a_third_process_appears_in_both(pages, backend, broker):
    """The terminal view, which is written with the Swift SDK, moves the first row to the end."""
    run(
        "demo-terminal", "table", "--do", "move 1 4",
        "--backend", backend.url, "--broker", f"ws://127.0.0.1:{broker.port}",
    )
    for page in pages:
        page.await_names("Ada", "Grace", "Mary", "John Doe")


def test_changes_from_all_sides_end_in_one_order(pages, backend):
    here, there = pages
    for number in range(5):
        here.add(f"Here {number}")
        there.add(f"There {number}")
        there.press("John Doe", Keys.ARROW_DOWN)
        here.press("Mary", Keys.ARROW_UP)

    def agree():
        order = [user["name"] for user in users(backend)]
        return order if here.names == there.names == order and len(order) == 14 else None

    await_true(agree, "one order of fourteen names on both pages and in the database")


def test_a_trigger_from_the_command_line_is_seen(pages, broker):
    arguments = ("notice", '{"text": "Hello from the shell"}', "--channel", "userslist")
    sent = run("fanfare", "trigger", *arguments, "--url", broker.url)
    assert sent.returncode == 0, sent.stderr
    for page in pages:
        await_true(lambda: "Hello from the shell" in page.notices, "the notice")


def test_a_name_is_text_and_never_markup(pages):
    here, there = pages
    here.add("<img src=x onerror=alert(1)>")
    there.await_names("John Doe", "Ada", "Grace", "Mary", "<img src=x onerror=alert(1)>")


def test_the_page_says_that_the_broker_is_away_and_recovers(browsers, tmp_path):
    page = browsers[0]
    broker = Broker()
    with Demos(broker.port, database=tmp_path / "list.sqlite") as backend:
        page.open(backend.url + "/table/")
        page.await_live()
        page.await_names("John Doe")
        assert broker.stop() == 0
        await_true(lambda: "Live updates are paused" in page.problems, "a clear error")
        # What is changed meanwhile, here or elsewhere, is not lost.
        page.add("Ada")
        page.await_names("John Doe", "Ada")
        post(backend, "/add", name="Grace", deviceId="another")
        with Broker(port=broker.port):
            page.await_live()
            await_true(lambda: page.problems == "", "that the error goes")
            page.await_names("John Doe", "Ada", "Grace")
            post(backend, "/add", name="Mary", deviceId="another")
            page.await_names("John Doe", "Ada", "Grace", "Mary")


def test_the_page_says_that_the_backend_is_away_and_recovers(browsers, broker, tmp_path):
    page = browsers[0]
    database = tmp_path / "list.sqlite"
    first = Demos(broker.port, database=database)
    page.open(first.url + "/table/")
    page.await_live()
    page.await_names("John Doe")
    assert first.stop() == 0
    page.add("Ada")
    await_true(lambda: "Your changes wait" in page.problems, "a clear error")
    page.await_names("John Doe", "Ada")
    with Demos(broker.port, port=first.port, database=database) as second:
        await_true(lambda: page.problems == "", "that the change gets there")
        page.await_names("John Doe", "Ada")
        assert [user["name"] for user in users(second)] == ["John Doe", "Ada"]
