"""The browser client without a page: in Node, as under server-side rendering, and in a worker; and what stays behind it."""

import base64

import pusher
import pusher.crypto
import pytest

from declarations import read
from node import WEB_SOCKET, Node
from programs import Broker, await_true, broker_with_recovery
from static_site import EMPTY_PAGE, StaticSite

MASTER_KEYS = [bytes(range(32)), bytes(range(1, 33))]
CHANNEL = "private-encrypted-news"


@pytest.fixture
def node(tmp_path, broker):
    return Node(tmp_path, broker, "fanfare.js")


@pytest.fixture
def page(browsers, broker, site):
    browsers[0].open(site)
    return browsers[0]


def backend(broker, **options):
    return pusher.Pusher(
        Broker.app_id, Broker.key, Broker.secret, host="127.0.0.1", port=broker.port, ssl=False, **options
    )


def test_a_rendering_server_makes_a_client_that_does_nothing(node):
    assert node.run(
        """
        import { Fanfare } from "./fanfare.js";
        const fanfare = new Fanfare("app-key");
        const news = fanfare.subscribe("news").bind("new", () => {});
        let problem;
        try { fanfare.connect(); } catch ({ message }) { problem = message; }
        answer([fanfare.connection, news.isSubscribed, problem]);
        """
    ) == [{"state": "initialized"}, False, "`host` is not set"]


def test_node_receives_events_and_ends_when_the_client_is_destroyed(node):
    assert node.run(
        WEB_SOCKET
        + """
        const { Fanfare } = await import("./fanfare.js");
        const client = () => new Fanfare("app-key", {
            host: "127.0.0.1", port, WebSocket,
            authorize: ({ socketID, channel }) => sign(`${socketID}:${channel}`),
        });
        const { createHmac } = await import("node:crypto");
        const sign = async (text) => ({
            auth: `app-key:${createHmac("sha256", "app-secret").update(text).digest("hex")}`,
        });
        const [ann, bob] = [client(), client()];
        const subscribed = (fanfare) => new Promise((resolve) => {
            fanfare.subscribe("private-room").bind("pusher:subscription_succeeded", resolve);
            fanfare.connect();
        });
        await Promise.all([subscribed(ann), subscribed(bob)]);
        const received = new Promise((resolve) => ann.subscribe("private-room").bind("client-hello", resolve));
        // One listener fails, and the others get the event all the same.
        ann.subscribe("private-room").bind("client-hello", () => { throw new Error("a fault of this listener"); });
        bob.subscribe("private-room").trigger("client-hello", { from: "bob" });
        answer(await received);
        ann.destroy();
        bob.destroy();
        """,
        # Less than the timer of an event that has no receipt.
        seconds=9,
    ) == {"from": "bob"}


def test_a_broker_that_is_away_ends_no_process_of_node(node):
    assert node.run(
        WEB_SOCKET
        + """
        const { Fanfare } = await import("./fanfare.js");
        const fanfare = new Fanfare("app-key", { host: "127.0.0.1", port: 1, WebSocket });
        fanfare.bind("fanfare:state", ({ state }) => {
            if (state !== "waiting") return;
            answer(state);
            fanfare.destroy();
        });
        fanfare.connect();
        """
    ) == "waiting"


def test_a_worker_receives_events(page, broker):
    script = """
        import { Fanfare } from "%s/fanfare.js";
        const fanfare = new Fanfare("app-key");
        fanfare.subscribe("news").bind("new", (data) => postMessage(data));
        fanfare.connect();
    """ % broker.url
    with StaticSite({"/": EMPTY_PAGE, "/worker.js": script}) as site:
        page.open(site.url)
        page.run(
            """
            window.told = [];
            window.worker = new Worker("/worker.js", { type: "module" });
            worker.onmessage = ({ data }) => told.push(data);
            """
        )

        def is_told():
            backend(broker).trigger("news", "new", "event")
            return page.run("return told")

        await_true(is_told, "the event")


def test_nothing_of_a_destroyed_client_stays_with_the_page(page, broker):
    assert page.run(
        """
        const added = [];
        for (const target of [window, document]) {
            const add = target.addEventListener;
            target.addEventListener = function (name, action, options) {
                added.push(options?.signal);
                add.call(target, name, action, options);
            };
        }
        const { Fanfare } = await import(given[0]);
        const fanfare = new Fanfare("app-key");
        const before = added.length;
        const states = [], channel = fanfare.subscribe("news");
        fanfare.bind_global((event) => states.push(event));
        await new Promise((resolve) => {
            channel.bind("pusher:subscription_succeeded", resolve);
            fanfare.connect();
            fanfare.connect();
        });
        const open = added.length;
        fanfare.destroy();
        const count = states.length;
        fanfare.connect();
        fanfare.destroy();
        return [before, open, added.every(({ aborted }) => aborted), fanfare.connection.state, states.length - count,
            fanfare.socketID, fanfare.channel("news") ?? null];
        """,
        broker.url + "/fanfare.js",
    ) == [0, 4, True, "stopped", 0, None, None]


def test_functions_are_bound_to_all_events_of_a_channel_and_of_all_channels(page, broker):
    page.run(
        """
        const { Fanfare } = await import(given[0]);
        window.told = [];
        window.fanfare = new Fanfare("app-key");
        window.news = fanfare.subscribe("news");
        window.onNews = (event, data) => event === "new" && told.push(["news", data]);
        news.bind_global(onNews);
        news.bind("new", () => { throw new Error("unbound"); }).unbind("new");
        fanfare.bind("new", (data, { channel, isMissed }) => told.push([channel, data, isMissed]));
        fanfare.bind_global((event, data) => event === "new" && told.push(["all", data]));
        fanfare.subscribe("sport");
        await new Promise((resolve) => {
            fanfare.subscribe("sport").bind("pusher:subscription_succeeded", resolve);
            fanfare.connect();
        });
        """,
        broker.url + "/fanfare.js",
    )
    backend(broker).trigger("news", "new", 1)
    backend(broker).trigger("sport", "new", 2)
    expected = [["news", 1], ["news", 1, False], ["all", 1], ["sport", 2, False], ["all", 2]]
    await_true(lambda: page.run("return told") == expected, "the events", told=lambda: page.run("return told"))
    page.run("news.unbind_global(onNews); fanfare.unbind_all(); news.bind('new', (data) => told.push(data));")
    backend(broker).trigger("news", "new", 3)
    await_true(lambda: page.run("return told")[5:] == [3], "one event", told=lambda: page.run("return told"))
    page.run("news.unbind_all(); fanfare.bind('new', (data) => told.push(data));")
    backend(broker).trigger("news", "new", 4)
    await_true(lambda: page.run("return told")[5:] == [3, 4], "one event", told=lambda: page.run("return told"))
    page.run("fanfare.destroy()")


@pytest.fixture
def reader(page, broker):
    """A page that decrypts with the key of `secret`, which its backend has; each is asked for once."""
    page.run(
        """
        const [url, secret, appSecret] = given;
        const { Fanfare } = await import(`${url}/fanfare.js`);
        const { decrypt } = await import(`${url}/fanfare-encrypted.js`);
        const text = new TextEncoder();
        const key = await crypto.subtle.importKey(
            "raw", text.encode(appSecret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
        Object.assign(window, { secret, told: [], problems: [], requests: 0 });
        window.fanfare = new Fanfare("app-key", {
            decrypt,
            authorize: async ({ socketID, channel }) => {
                requests += 1;
                const signed = new Uint8Array(await crypto.subtle.sign("HMAC", key, text.encode(`${socketID}:${channel}`)));
                const auth = "app-key:" + [...signed].map((byte) => byte.toString(16).padStart(2, "0")).join("");
                return { auth, shared_secret: window.secret };
            },
        });
        fanfare.onerror = ({ message }) => problems.push(message);
        const channel = fanfare.subscribe(given[3]);
        channel.bind("new", (data) => told.push(data));
        await new Promise((resolve) => {
            channel.bind("pusher:subscription_succeeded", resolve);
            fanfare.connect();
        });
        """,
        broker.url, shared_secret(MASTER_KEYS[0]), Broker.secret, CHANNEL,
    )
    yield page
    page.run("fanfare.destroy()")


def shared_secret(master_key):
    return base64.b64encode(pusher.crypto.generate_shared_secret(CHANNEL.encode(), master_key)).decode()


def encrypting(broker, master_key):
    return backend(broker, encryption_master_key_base64=base64.b64encode(master_key).decode())


def await_told(page, *expected):
    await_true(lambda: page.run("return told") == list(expected), "the events",
               told=lambda: page.run("return [told, problems]"))


def test_encrypted_events_are_decrypted_over_a_change_of_the_key(reader, broker):
    first, second = (encrypting(broker, key) for key in MASTER_KEYS)
    first.trigger(CHANNEL, "new", {"text": "Grüße"})
    await_told(reader, {"text": "Grüße"})
    reader.run("secret = given[0]", shared_secret(MASTER_KEYS[1]))
    for number in range(3):
        second.trigger(CHANNEL, "new", number)
    # The first is replayed, with the others, when the new key is there.
    await_told(reader, {"text": "Grüße"}, 0, 1, 2)
    assert reader.run("return [requests, problems]") == [2, []]


def test_an_event_with_a_foreign_key_is_reported_and_the_others_arrive(reader, broker):
    first, second = (encrypting(broker, key) for key in MASTER_KEYS)
    second.trigger(CHANNEL, "new", "foreign")
    await_true(lambda: reader.run("return problems"), "the report")

    def arrives():
        first.trigger(CHANNEL, "new", "own")
        return "own" in reader.run("return told")

    await_true(arrives, "an event with the channel's key")
    assert "foreign" not in reader.run("return told")
    assert reader.run("return [requests, problems]") == [
        2, [f"an event of {CHANNEL} is lost: the event was not encrypted with the present key"],
    ]


@pytest.fixture(scope="module")
def rewinding(tmp_path_factory):
    """A broker with a channel whose rule has `rewind`, and two events on it."""
    rule = {"channel_prefix": "news", "keep": "always", "rewind": True}
    with broker_with_recovery(tmp_path_factory.mktemp("rewind"), rules=[rule]) as broker:
        for channel in ("news", "other"):
            for number in range(3):
                backend(broker).trigger(channel, "new", number)
        yield broker


HISTORY = """
    const { Fanfare } = await import(`${given[0]}/fanfare.js`);
    const { history } = await import(`${given[0]}/fanfare-history.js`);
    const fanfare = new Fanfare("app-key", given[3] ?? {});
    return history(fanfare, given[1], given[2]).then(
        ({ events, isComplete }) => [events.map(({ event, data, serial }) => [event, data, serial]), isComplete],
        ({ message }) => message);
"""


def test_a_page_asks_for_the_earlier_events_of_a_channel(page, rewinding):
    news = [["new", number, number + 1] for number in range(3)]
    assert page.run(HISTORY, rewinding.url, "news", {"count": 2}) == [news[1:], True]
    assert page.run(HISTORY, rewinding.url, "news", {"seconds": 600}) == [news, True]
    assert page.run(HISTORY, rewinding.url, "news-none", {"count": 2}) == [[], True]


def test_a_page_is_told_why_it_gets_no_earlier_events(page, rewinding):
    assert page.run(HISTORY, rewinding.url, "other", {"count": 2}) == "the broker's rule for other has no rewind"
    assert "set `authorize`" in page.run(HISTORY, rewinding.url, "private-news", {"count": 2})
    script = HISTORY.replace("given[2])", "{ count: 2, signal: AbortSignal.timeout(200) })")
    away = {"host": "127.0.0.1", "port": 1}
    assert "timed out" in page.run(script, rewinding.url, "news", None, away)
