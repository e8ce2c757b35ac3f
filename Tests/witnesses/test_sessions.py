"""Stock clients with a session token, behind a line that is cut: what they have not processed comes again.

pusher-js is not part of the project: its tests run with PUSHER_JS=PATH of a bundle, `dist/web/pusher.min.js` of its package.
"""

import os
import secrets
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pusher
import pytest

from line import Line
from programs import Broker, await_true
from pysher_client import Subscriber

GAP = "pusher:gap"


def base36(number):
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def make_token():
    """By a clock that is nearly two minutes ahead: a broker that has just started cannot have forgotten its session."""
    return f"{base36(int(time.time() * 1000) + 119_000)}-{secrets.token_urlsafe(24)}"


@pytest.fixture(scope="module")
def own_broker():
    """One that has been running for as long as the tokens' clock is behind the tolerance."""
    with Broker() as broker:
        time.sleep(1.5)
        yield broker


@pytest.fixture
def trigger(own_broker):
    publisher = pusher.Pusher(
        app_id=own_broker.app_id, key=own_broker.key, secret=own_broker.secret,
        host="127.0.0.1", port=own_broker.port, ssl=False,
    )
    return lambda number, channel="orders": publisher.trigger(channel, "greeting", str(number))


def in_order(numbers):
    """The numbers without repeats."""
    return list(dict.fromkeys(numbers))


def test_pysher_loses_nothing(own_broker, trigger):
    with Line(7, own_broker.port) as line:
        address = SimpleNamespace(
            key=f"{own_broker.key}/r/{make_token()}",
            host=line.host, port=own_broker.port, secret=own_broker.secret,
        )
        with Subscriber(address, "orders", events=("greeting", GAP)) as subscriber:
            for number in range(1, 241):
                trigger(number)
                time.sleep(0.02)
                if number % 60 == 30:
                    line.cut()
                if number % 60 == 50:
                    line.mend()
            received = []
            while 240 not in received:
                channel, event, data = subscriber.next()
                assert (channel, event) == ("orders", "greeting"), data
                received.append(int(data))
            assert in_order(received) == list(range(1, 241))
            # What was confirmed does not come again: of four seconds and a half, and as many cuts, some of the end.
            assert len(received) < 2 * 240


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def bundle():
    """The URL of pusher-js."""
    path = os.environ.get("PUSHER_JS")
    if not path:
        pytest.skip("PUSHER_JS does not name a bundle of pusher-js")
    path = Path(path)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=path.parent)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{path.name}"
        server.shutdown()


# The page's thread can be blocked, which the network layer does not notice.
CONNECT = """
    const [script, host, port, key, token, inKey] = given;
    await new Promise((resolve, reject) => {
        const element = document.createElement("script");
        Object.assign(element, { src: script, onload: resolve, onerror: reject });
        document.head.append(element);
    });
    Object.assign(window, { got: [], gaps: [], acknowledgements: [], states: [] });
    window.block = (seconds, then) => setTimeout(() => {
        const end = performance.now() + seconds * 1000;
        while (performance.now() < end);
        then?.();
    });
    window.pusher = new Pusher(inKey ? `${key}/r/${token}` : key, {
        wsHost: host, wsPort: port, forceTLS: false, enabledTransports: ["ws"], cluster: "",
        disableStats: true, activityTimeout: 3000, pongTimeout: 2000,
        ...(inKey ? {} : { wsPath: `/r/${token}` }),
    });
    pusher.connection.bind("state_change", ({ current }) => states.push(current));
    const channel = pusher.subscribe("orders");
    channel.bind("greeting", (data) => got.push(Number(data)));
    channel.bind("pusher:gap", (data) => gaps.push(data));
    await new Promise((resolve) => channel.bind("pusher:subscription_succeeded", (data) => {
        acknowledgements.push(data);
        resolve();
    }));
"""


class Client:
    """pusher-js, unchanged, in a page."""

    def __init__(self, page, broker, bundle, line, in_key):
        self._page = page
        page.open(bundle.rsplit("/", 1)[0] + "/")
        page.run(CONNECT, bundle, line.host, broker.port, broker.key, make_token(), in_key)

    def run(self, script, *arguments):
        return self._page.run(script, *arguments)

    def await_last(self, number):
        await_true(lambda: number in self.run("return got"), f"event {number}", seconds=40)
        return self.run("return got")

    @property
    def state(self):
        return self.run("return pusher.connection.state")


@pytest.mark.parametrize("in_key", [False, True], ids=["path", "key"])
def test_pusher_js_loses_nothing(browsers, own_broker, trigger, bundle, in_key):
    with Line(8, own_broker.port) as line:
        client = Client(browsers[0], own_broker, bundle, line, in_key)
        for number in range(1, 31):
            trigger(number)
            time.sleep(0.05)
            if number == 20:
                line.cut()
        assert client.run("return got")[-1] < 30
        line.mend()
        assert in_order(client.await_last(30)) == list(range(1, 31))
        acknowledgements = client.run("return acknowledgements")
        assert acknowledgements[0] == {} and client.run("return gaps") == []
        await_true(lambda: len(client.run("return acknowledgements")) == 2, "another acknowledgement")
        last = client.run("return acknowledgements")[-1]
        assert last["recovered"] and last["replay"] >= 10


def test_a_blocked_page_loses_nothing_at_a_cut(browsers, own_broker, trigger, bundle):
    with Line(9, own_broker.port) as line:
        client = Client(browsers[0], own_broker, bundle, line, False)
        trigger(1)
        client.await_last(1)
        # It has answered once.
        time.sleep(1.5)
        client.run("block(2)")
        for number in range(2, 8):
            trigger(number)
            time.sleep(0.1)
        time.sleep(0.6)
        line.cut()
        trigger(8)
        line.mend()
        assert in_order(client.await_last(8)) == list(range(1, 9))
        assert client.run("return gaps") == []


def test_what_a_closing_page_drops_comes_again(browsers, own_broker, trigger, bundle):
    with Line(10, own_broker.port) as line:
        client = Client(browsers[0], own_broker, bundle, line, False)
        trigger(1)
        client.await_last(1)
        time.sleep(1.5)
        # Messages arrive in the browser, whose network layer answers ping frames, while the page's thread is busy; then
        # the page closes the connection, and the browser drops them.
        client.run("block(2.5, () => { pusher.disconnect(); window.before = [...got]; })")
        for number in range(2, 8):
            trigger(number)
            time.sleep(0.1)
        await_true(lambda: client.state == "disconnected", "the end of the connection")
        assert client.run("return before") == [1]
        time.sleep(0.5)
        client.run("pusher.connect()")
        assert in_order(client.await_last(7)) == list(range(1, 8))
        assert client.run("return got") == list(range(1, 8)), "what was confirmed does not come again"
        assert client.run("return gaps") == []


def test_two_pages_with_one_token_are_told(browsers, own_broker, trigger, bundle):
    with Line(11, own_broker.port) as line:
        token = make_token()
        clients = []
        for page in browsers[:2]:
            page.open(bundle.rsplit("/", 1)[0] + "/")
            page.run(CONNECT, bundle, line.host, own_broker.port, own_broker.key, token, False)
            clients.append(page)
        for page in clients:
            await_true(lambda page=page: page.run("return gaps"), "a gap", seconds=20)
            assert page.run("return gaps") == [{"reason": "shared_session"}]
        trigger(1)
        for page in clients:
            await_true(lambda page=page: page.run("return got") == [1], "the event")
