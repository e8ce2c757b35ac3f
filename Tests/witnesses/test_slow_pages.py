"""Stock pusher-js with a session token, in a page that is too slow for its replay: it is behind when the broker or the
page gives the connection up, goes on behind the last part that it has processed, and catches up.

pusher-js is not part of the project: the tests run with PUSHER_JS=PATH of a bundle, `dist/web/pusher.min.js` of its package.
"""

import json
import time

import pusher
import pytest

from programs import Broker, await_true
from test_sessions import bundle, in_order, make_token  # noqa: F401

pytestmark = pytest.mark.timeout(240)

CHANNELS = [f"channel-{number}" for number in range(4)]
#: Messages that a page misses of each channel, and the characters of each.
MISSED, LENGTH = 1_000, 1_000
#: Milliseconds that the page's thread is busy with each.
BUSY = 4

CONNECT = """
    const [script, port, key, token, channels, busy, lifetime] = given;
    await new Promise((resolve, reject) => {
        const element = document.createElement("script");
        Object.assign(element, { src: script, onload: resolve, onerror: reject });
        document.head.append(element);
    });
    Object.assign(window, { got: Object.fromEntries(channels.map((name) => [name, []])), gaps: [], opened: 0 });
    window.pusher = new Pusher(key, {
        wsHost: "127.0.0.1", wsPort: port, wsPath: `/r/${token}`, forceTLS: false, enabledTransports: ["ws"], cluster: "",
    });
    pusher.connection.bind("connected", () => opened++);
    let end = Infinity;
    // As pusher-js does where it takes the connection for dead: what waits behind its handlers is dropped.
    window.giveUpAgain = () => {
        end = performance.now() + lifetime * 1000;
    };
    await Promise.all(channels.map((name) => new Promise((resolve) => {
        const channel = pusher.subscribe(name);
        channel.bind("pusher:gap", (data) => gaps.push(data));
        channel.bind("pusher:subscription_succeeded", resolve);
        channel.bind("e", (data) => {
            got[name].push(Number.parseInt(data, 10));
            const free = performance.now() + busy;
            while (performance.now() < free);
            if (free < end) return;
            end = Infinity;
            pusher.disconnect();
            setTimeout(() => {
                pusher.connect();
                giveUpAgain();
            }, 200);
        });
    })));
"""


class SlowPage:
    """A page that has missed events on its channels, and is busy with each."""

    def __init__(self, page, site, broker, lifetime=None):
        self._page = page
        page.open(site.rsplit("/", 1)[0] + "/")
        page.run(CONNECT, site, broker.port, broker.key, make_token(), CHANNELS, BUSY, lifetime)
        backend = pusher.Pusher(broker.app_id, broker.key, broker.secret, host="127.0.0.1", port=broker.port, ssl=False)
        self._publish(backend, [0])
        await_true(lambda: set(self.lasts) == {0}, "the first events")
        # It has confirmed them.
        time.sleep(1.5)
        page.run("pusher.disconnect()")
        self._publish(backend, range(1, MISSED + 1))

    @staticmethod
    def _publish(backend, numbers):
        events = [
            {"channel": name, "name": "e", "data": f"{number} {'x' * LENGTH}"} for number in numbers for name in CHANNELS
        ]
        for start in range(0, len(events), 10):
            backend.trigger_batch(events[start : start + 10])

    @property
    def lasts(self):
        return self._page.run("return Object.values(got).map((all) => Math.max(-1, ...all))")

    def catch_up(self, seconds, gives_up):
        self._page.run("if (given[0]) giveUpAgain(); pusher.connect()", gives_up)
        await_true(
            lambda: set(self.lasts) == {MISSED}, "all that was missed", seconds, told=lambda: (self.lasts, self.opened)
        )
        assert self._page.run("return gaps") == []
        for all_of_one in self._page.run("return Object.values(got)"):
            assert in_order(all_of_one) == list(range(MISSED + 1))

    @property
    def opened(self):
        """The number of connections."""
        return self._page.run("return opened")


@pytest.fixture
def broker(tmp_path):
    recovery = {"messages_max": 10_000, "bytes_max": "64 MiB"}
    app = {"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret, "recovery": recovery}
    clients = {"activity_timeout": 3, "pong_timeout": 2}
    file = tmp_path / "fanfare.json"  # JSON is YAML as well.
    file.write_text(json.dumps({"apps": [app], "clients": clients, "loops": 1}))
    with Broker(configuration=file) as broker:
        # By the tokens' clock it has been running for two minutes.
        time.sleep(1.5)
        yield broker


def test_a_page_whose_replay_takes_longer_than_the_timeouts_catches_up(browsers, broker, bundle):  # noqa: F811
    page = SlowPage(browsers[0], bundle, broker)
    page.catch_up(180, gives_up=False)


def test_a_page_that_gives_up_again_and_again_catches_up(browsers, broker, bundle):  # noqa: F811
    page = SlowPage(browsers[0], bundle, broker, lifetime=5)
    page.catch_up(180, gives_up=True)
    assert page.opened > 3
