"""Stock clients with a session token, behind a line that is cut: what they have not processed comes again.

pusher-js is not part of the project: its tests run with PUSHER_JS=PATH of a bundle, `dist/web/pusher.min.js` of its package.
"""

import json
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
from test_archive import Backend

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


class Restarting:
    """A broker that keeps messages and sessions over a restart, on one port; what is published goes on meanwhile."""

    # Sessions are written every five seconds; then a killed broker's clients resume.
    WRITTEN = 6

    def __init__(self, folder, store):
        recovery = {"database": str(folder / "history.sqlite")} if store == "sqlite" else {"spool": str(folder / "spool")}
        rule = {"channel_prefix": "", "keep": "always", "store": "sqlite" if store == "sqlite" else "memory"}
        # pusher-js may take a quarter of a minute to come back to a port on which nobody has listened.
        rule.update(messages_max=100_000, bytes_max="64 MiB")
        kept = {"rules": [rule], "replay_messages_max": 100_000, "replay_bytes_max": "64 MiB"}
        app = {"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret, "recovery": kept}
        self._file = folder / "fanfare.json"  # JSON is YAML as well.
        self._file.write_text(json.dumps({"apps": [app], "recovery": recovery, "loops": 2}))
        self._broker = Broker(configuration=self._file)
        self.key, self.port, self.secret = Broker.key, self._broker.port, Broker.secret
        self.last = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._publish)
        # By the tokens' clock it has been running for two minutes.
        time.sleep(1.5)

    def begin(self):
        """Begins to publish 1, 2, 3 … on channel `orders`, each until it is answered with 200."""
        self._thread.start()

    def _publish(self):
        backend = Backend(self.port)
        while not self._is_over.wait(0.005):
            assert backend.trigger("orders", str(self.last + 1), f"{self.last + 1}", time.monotonic() + 60)
            self.last += 1

    def restart(self, end):
        """Stops or kills the broker, and starts it again."""
        if end == "stop":
            assert self._broker.stop() == 0
        else:
            self._broker.kill()
        self._broker = Broker(port=self.port, configuration=self._file)

    def finish(self):
        """Ends the publishing; returns the number of events."""
        self._is_over.set()
        self._thread.join()
        return self.last

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._broker.stop()


ENDS = pytest.mark.parametrize("end, store", [("stop", "sqlite"), ("stop", "spool"), ("kill", "sqlite")])


@ENDS
def test_pysher_loses_nothing_while_the_broker_is_restarted(tmp_path, end, store):
    with Restarting(tmp_path, store) as broker:
        address = SimpleNamespace(key=f"{broker.key}/r/{make_token()}", port=broker.port, secret=broker.secret)
        with Subscriber(address, "orders", events=("e", GAP)) as subscriber:
            broker.begin()
            time.sleep(Restarting.WRITTEN if end == "kill" else 1)
            for _ in range(3):
                broker.restart(end)
                time.sleep(1.5)
            last, received = broker.finish(), []
            while last not in received:
                _, event, data = subscriber.next()
                assert event == "e", f"{event} {data} behind {received[-1:]}"
                received.append(int(data))
            assert in_order(received) == list(range(1, last + 1))


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
    const [script, host, port, key, token, inKey, mark] = given;
    let unused = mark ?? "";
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
        ...(inKey ? {} : { wsPath: { toString: () => "/r/" + token + unused } }),
    });
    pusher.connection.bind("connected", () => { unused = ""; });
    pusher.connection.bind("state_change", ({ current }) => states.push(current));
    const channel = pusher.subscribe("orders");
    for (const event of ["greeting", "e"]) channel.bind(event, (data) => got.push(Number(data)));
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


def test_a_new_token_misses_nothing_after_a_start(browsers, bundle):
    # Of this moment, and by a clock that is behind.
    for page, ahead in zip(browsers, [0, -100_000]):
        token = f"{base36(int(time.time() * 1000) + ahead)}-{secrets.token_urlsafe(24)}"
        with Broker() as broker, Line(12, broker.port) as line:
            page.open(bundle.rsplit("/", 1)[0] + "/")
            page.run(CONNECT, bundle, line.host, broker.port, broker.key, token, False, ".new")
            line.cut()
            Backend(broker.port).trigger("orders", "1", "1", time.monotonic() + 10)
            line.mend()
            await_true(lambda page=page: page.run("return got") == [1], "the missed event", seconds=40)
            assert page.run("return gaps") == []
            acknowledgements = page.run("return acknowledgements")
            assert acknowledgements[0] == {} and acknowledgements[1]["recovered"]


@ENDS
def test_pusher_js_resumes_while_the_broker_is_restarted(browsers, tmp_path, bundle, end, store):
    with Restarting(tmp_path, store) as broker:
        client = Client(browsers[0], broker, bundle, SimpleNamespace(host="127.0.0.1"), False)
        broker.begin()
        time.sleep(Restarting.WRITTEN if end == "kill" else 1)
        broker.restart(end)
        await_true(lambda: len(client.run("return acknowledgements")) == 2, "another acknowledgement", seconds=40)
        last = broker.finish()
        assert in_order(client.await_last(last)) == list(range(1, last + 1))
        assert client.run("return gaps") == []
        assert client.run("return acknowledgements")[1]["recovered"]


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
