"""The pages and programs of README.md, docs/fanfare-js.md and docs/away.md, as they stand there: what is missed behind a cut
arrives.

Pages with pusher-js run with the stand-in, and with the unmodified bundle where PUSHER_JS is its path.
"""

import json
import re
import subprocess
import time

import pytest

from frame_line import FrameLine
from programs import BUILD, ROOT, Broker, await_true
from static_site import StaticSite
from swift_program import compile_program, programs_in, start
from test_pusher_recovery import SCRIPTS, backend_of

BROKER_IN_PAGES = "6001"
PUSHER_JS_IN_PAGES = "https://js.pusher.com/8.4.0/pusher.min.js"
AWAY = "docs/away.md"
CUTS = {"README.md": ("userslist", "addUser", {"name": "Ann"}), AWAY: ("news", "new", None)}


def pages_in(document):
    """The pages that a document shows, in order."""
    return re.findall(r"^```html\n(.*?)^```", (ROOT / document).read_text(), re.S | re.M)


def page_with(text, document):
    return next(page for page in pages_in(document) if text in page)


def site_of(page, port, script=None):
    """Serves a page with this broker and this pusher-js."""
    here = page.replace(BROKER_IN_PAGES, str(port)).replace(PUSHER_JS_IN_PAGES, "/pusher.js")
    return StaticSite({"/": here, "/pusher.js": script.read_text() if script else ""})


@pytest.fixture(params=SCRIPTS)
def script(request):
    """The file of pusher-js."""
    if SCRIPTS[request.param] is None:
        pytest.skip("PUSHER_JS names no bundle of pusher-js")
    return SCRIPTS[request.param]


def page_with_token():
    """The page of docs/away.md for pusher-js, with its lines for a token in place of the add-on."""
    page = page_with("fanfare-pusher.js", AWAY)
    creation = re.search(r'^  const pusher = new Pusher\("app-key", {\n(.*?)\n  }\);$', page, re.S | re.M)
    lines = re.search(r"^```js\n(const token = .*?)^```", (ROOT / AWAY).read_text(), re.S | re.M)[1]
    assert lines.count("/* … as above */") == 1
    page = page.replace(creation[0], lines.replace("/* … as above */", creation[1]))
    return re.sub(r"^<script src=.*fanfare-pusher.js.*\n", "", page, flags=re.M)


def body(page):
    return page.text("body")


def events_in(page):
    """The events that a page shows, in order."""
    return re.findall(r"(?:Ann|Event )\d+\.", body(page))


def trigger(broker, document, number):
    channel, event, data = CUTS[document]
    value = {"name": f"{data['name']}{number}."} if data else f"Event {number}."
    backend_of(broker).trigger(channel, event, value)


def shown(document, count):
    name = "Ann" if document == "README.md" else "Event "
    return [f"{name}{number}." for number in range(count)]


def await_shown(page, expected):
    await_true(lambda: len(events_in(page)) >= len(expected), "all events", seconds=40, told=lambda: body(page))
    assert events_in(page) == expected


def await_subscriber(broker, document):
    channel = CUTS[document][0]
    info = ["subscription_count"]
    await_true(lambda: backend_of(broker).channel_info(channel, info)["subscription_count"], "a subscription")


def show_one_event(browser, broker, document):
    """The page shows an event: it knows its position, which a page that is cut while it subscribes does not."""
    await_subscriber(broker, document)
    trigger(broker, document, 0)
    await_shown(browser, shown(document, 1))


def miss_ten_events(browser, broker, document, line):
    """The page shows one event; ten more are triggered while its connection is cut."""
    show_one_event(browser, broker, document)
    line.close()
    for number in range(1, 11):
        trigger(broker, document, number)
    line.open()


@pytest.mark.parametrize("document", CUTS)
def test_the_page_with_pusher_js_misses_nothing_behind_a_cut(browsers, script, document):
    browser = browsers[0]
    with Broker() as broker, FrameLine(broker.port) as line:
        with site_of(page_with("fanfare-pusher.js", document), line.port, script) as site:
            browser.open(site.url)
            miss_ten_events(browser, broker, document, line)
            await_shown(browser, shown(document, 11))


def test_the_page_with_a_token_misses_nothing_behind_a_cut(browsers, script):
    browser = browsers[0]
    # A device whose clock is nearly two minutes ahead: a broker that has just started cannot have forgotten its session.
    clock = "<script>{ const now = Date.now; Date.now = () => now() + 119_000; }</script>"
    page = page_with_token().replace("<!doctype html>", "<!doctype html>\n" + clock)
    assert "fanfare-pusher" not in page and "crypto.randomUUID()" in page
    with Broker() as broker, FrameLine(broker.port) as line:
        # So long that the tokens' time is two minutes behind the start.
        time.sleep(1.5)
        with site_of(page, line.port, script) as site:
            browser.open(site.url)
            miss_ten_events(browser, broker, AWAY, line)
            await_true(lambda: "Event 10." in body(browser), "the last event", seconds=40, told=lambda: body(browser))
            # What it had not confirmed may come again.
            assert list(dict.fromkeys(events_in(browser))) == shown(AWAY, 11)
            assert "missing" not in body(browser)
            # Behind another cut, from what it has got since.
            line.cut()
            trigger(broker, AWAY, 11)
            await_true(lambda: "Event 11." in body(browser), "one more", seconds=40, told=lambda: body(browser))
            assert list(dict.fromkeys(events_in(browser))) == shown(AWAY, 12)
            assert "missing" not in body(browser)


def test_the_page_with_fanfare_js_misses_nothing_behind_a_cut(browsers):
    browser = browsers[0]
    with Broker() as broker, FrameLine(broker.port) as line:
        with site_of(page_with("fanfare.js", AWAY), line.port) as site:
            browser.open(site.url)
            miss_ten_events(browser, broker, AWAY, line)
            await_shown(browser, shown(AWAY, 11))
            assert "Event 10. (while you were away)" in body(browser)


def test_the_page_of_the_browser_client_shows_an_event(browsers, broker):
    browser = browsers[0]
    with site_of(page_with('from "http://127.0.0.1:6001/fanfare.js"', "docs/fanfare-js.md"), broker.port) as site:
        browser.open(site.url)
        await_subscriber(broker, "README.md")

        def is_shown():
            trigger(broker, "README.md", 0)
            return "Ann0." in body(browser)

        await_true(is_shown, "the name")


def test_the_page_with_pusher_js_misses_nothing_while_the_broker_is_restarted(browsers, script, tmp_path):
    """With the messages in a file; half of the events are triggered before the stop, half behind the start."""
    file = tmp_path / "broker.json"  # JSON is YAML as well.
    app = {"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret}
    app["recovery"] = {"rules": [{"channel_prefix": "", "store": "sqlite", "keep": "always"}]}
    file.write_text(json.dumps({"apps": [app], "recovery": {"database": str(tmp_path / "history.sqlite")}}))
    checked = subprocess.run([BUILD / "fanfare", "check", "--config", file], capture_output=True, text=True)
    if "recovery.database" in checked.stdout + checked.stderr:
        pytest.skip("this broker cannot keep messages in a file: it has no recovery.database")
    browser = browsers[0]
    broker = Broker(configuration=file)
    with FrameLine(broker.port) as line:
        with site_of(page_with("fanfare-pusher.js", "README.md"), line.port, script) as site:
            browser.open(site.url)
            show_one_event(browser, broker, "README.md")
            line.close()
            for number in range(1, 6):
                trigger(broker, "README.md", number)
            assert broker.stop() == 0
            with Broker(port=broker.port, configuration=file) as again:
                for number in range(6, 11):
                    trigger(again, "README.md", number)
                line.open()
                await_shown(browser, shown("README.md", 11))


def test_the_swift_program_misses_nothing_behind_a_cut(tmp_path):
    with Broker() as broker, FrameLine(broker.port) as line:
        source = programs_in(AWAY)[0].replace(BROKER_IN_PAGES, str(line.port))
        with start(compile_program(source, tmp_path, "away")) as program:
            await_subscriber(broker, AWAY)
            trigger(broker, AWAY, 0)
            program.await_line("Event 0")
            line.close()
            for number in (1, 2):
                trigger(broker, AWAY, number)
            line.open()
            for number in (1, 2):
                program.await_line(f"Event {number}", seconds=40)
            program.await_line("2 events while you were away")
