"""The browser client in three browsers, loaded from the broker as any page would."""

import base64
import hashlib
import json
import re
import time

import pusher
import pytest

from declarations import events_of, members_of, read
from frame_line import FrameLine
from programs import Broker, await_true, broker_with_recovery
from static_site import EMPTY_PAGE, StaticSite

# Signs in the page itself, as no app may: the secret of the development app is known to everyone.
CONNECT = """
    const [port, user, secret, options] = given;
    const { Fanfare, NotAuthorized } = await import(`http://127.0.0.1:${port}/fanfare.js`);
    const text = new TextEncoder();
    const key = await crypto.subtle.importKey(
        "raw", text.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    async function sign(message) {
        const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, text.encode(message)));
        return "app-key:" + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    }
    window.requests = 0;
    window.obsolete = 0;
    window.hold = () => { window.held = new Promise((resolve) => { window.release = resolve; }); };
    async function authorize({ socketID, channel, signal }) {
        requests += 1;
        signal.addEventListener("abort", () => { obsolete += window.held ? 1 : 0; });
        await window.held;
        if (window.failures > 0) {
            failures -= 1;
            throw new Error("away for a moment");
        }
        if (channel?.endsWith("-closed")) throw new NotAuthorized("not for you");
        if (!channel) {
            const user_data = JSON.stringify({ id: user });
            return { auth: await sign(`${socketID}::user::${user_data}`), user_data };
        }
        if (!channel.startsWith("presence-")) return { auth: await sign(`${socketID}:${channel}`) };
        const channel_data = JSON.stringify({ user_id: user, user_info: { name: user.toUpperCase() } });
        return { auth: await sign(`${socketID}:${channel}:${channel_data}`), channel_data };
    }
    window.heard = [];
    window.fanfare = new Fanfare("app-key", { authorize, ...options });
    fanfare.onerror = (error) => heard.push(["error", error]);
    window.room = (name, options, ...events) => {
        const channel = fanfare.subscribe(name, options);
        for (const event of ["pusher:subscription_error", ...events]) {
            channel.bind(event, (data, { userID }) => heard.push([event, data, userID ?? null]));
        }
        return channel;
    };
    window.loads = [];
    // A state that loads until finish() is called, and fails as often as told.
    window.load = (name, times = 0) => fanfare.subscribe(name).state(async ({ kind }) => {
        loads.push(kind);
        if (times > 0) { times -= 1; throw new Error("away for a moment"); }
        await new Promise((resolve) => { window.finish = resolve; });
        heard.push(["loaded", null, null]);
        return window.statePosition;
    });
    await new Promise((resolve) => {
        fanfare.onstate = (state) => state === "connected" && resolve();
        fanfare.connect();
    });
"""


class Client:
    """The client of one page."""

    def __init__(self, page, broker, site, user, **options):
        self._page = page
        page.open(site)
        page.run(CONNECT, broker.port, user, broker.secret, options)

    def run(self, script, *arguments):
        return self._page.run(script, *arguments)

    def room(self, name, *events, **options):
        self.run("room(...given)", name, options, *events)
        self.await_subscribed(name)

    def await_subscribed(self, name):
        await_true(
            lambda: self.run("return fanfare.subscribe(given[0]).isSubscribed", name),
            f"a subscription to {name}",
            seconds=40,
        )

    def new(self, name="new"):
        """The data of the events of a name."""
        return [data for event, data, *_ in self.heard if event == name]

    def await_new(self, *expected):
        await_true(lambda: len(self.new()) >= len(expected), "the events", seconds=40, told=lambda: self.heard)
        assert self.new() == list(expected)

    def position(self, name):
        return self.run("return fanfare.subscribe(given[0]).position", name)

    @property
    def errors(self):
        return [error["message"] for kind, error, *_ in self.heard if kind == "error"]

    def members(self, name):
        return self.run("return Object.fromEntries(fanfare.subscribe(given[0]).members)", name)

    def trigger(self, name, event, data):
        return self.run("return fanfare.subscribe(given[0]).trigger(given[1], given[2])", name, event, data)

    @property
    def heard(self):
        return self.run("return heard")


@pytest.fixture
def clients(browsers, broker, site):
    return [Client(page, broker, site, user) for page, user in zip(browsers, ("ann", "bob", "cleo"))]


ROOM = "presence-room"


def test_members_see_each_other_come_and_go(clients):
    ann, bob, cleo = clients
    ann.room(ROOM, "pusher:member_added", "pusher:member_removed")
    bob.room(ROOM)
    cleo.room(ROOM)
    everybody = {"ann": {"name": "ANN"}, "bob": {"name": "BOB"}, "cleo": {"name": "CLEO"}}
    for client in clients:
        await_true(lambda: client.members(ROOM) == everybody, "three members")
        assert client.run("return fanfare.subscribe(given[0]).me", ROOM) in everybody
    bob.run("fanfare.unsubscribe(given[0])", ROOM)
    cleo.run("fanfare.disconnect()")
    for client in (ann,):
        await_true(lambda: client.members(ROOM) == {"ann": {"name": "ANN"}}, "one member")
    events = [(event, data["id"]) for event, data, _ in ann.heard]
    assert events[:2] == [("pusher:member_added", "bob"), ("pusher:member_added", "cleo")]
    assert sorted(events[2:]) == [("pusher:member_removed", "bob"), ("pusher:member_removed", "cleo")]


def test_a_frozen_page_leaves_and_returns(browsers, site, tmp_path):
    file = tmp_path / "broker.json"
    app = {"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret, "presence_activity_timeout": 1, "presence_grace": 0}
    # A busy machine needs time to answer; the browser answers ping frames for the frozen page in no time.
    file.write_text(json.dumps({"apps": [app], "clients": {"activity_timeout": 6, "pong_timeout": 6}}))
    with Broker(configuration=file) as broker, FrameLine(broker.port) as line:
        ann = Client(browsers[0], broker, site, "ann", host="127.0.0.1", port=line.port)
        bob = Client(browsers[1], broker, site, "bob")
        bob.room("presence-room", "pusher:member_added", "pusher:member_removed")
        ann.room("presence-room")
        await_true(lambda: bob.new("pusher:member_added"), "ann")
        assert bob.new("pusher:member_removed") == []
        former = ann.run("return fanfare.socketID")
        # By the second ping it has answered the first.
        await_true(lambda: sum("pusher:ping" in text for text in line.texts) > 1, "two pings", seconds=40)
        browsers[0].freeze()
        try:
            await_true(lambda: bob.new("pusher:member_removed"), "that ann has left", seconds=40)
            browsers[0].thaw()
            await_true(lambda: len(bob.new("pusher:member_added")) == 2, "that ann has returned", seconds=40)
            assert ann.run("return fanfare.socketID") != former
            assert len(bob.new("pusher:member_removed")) == 1
        finally:
            browsers[0].open_in_new_tab(site)


def test_what_is_asked_for_when_the_connection_is_told_is_asked_for_once(clients, publisher):
    ann = clients[0]
    ann.run(
        """
        fanfare.disconnect();
        requests = 0;
        fanfare.onstate = (state) => {
            if (state !== "connected") return;
            room("news", {}, "new");
            room("private-notes", {}, "new");
            fanfare.signIn();
        };
        fanfare.connect();
        """
    )
    for name in ("news", "private-notes"):
        ann.await_subscribed(name)
        publisher.trigger(name, "new", name)
    await_true(lambda: sorted(ann.new()) == ["news", "private-notes"], "both events", told=lambda: ann.heard)
    assert ann.errors == []
    assert ann.run("return requests") == 2


def test_a_ping_tells_the_round_trip_and_the_end_of_the_connection(clients):
    ann = clients[0]
    ann.room(ROOM)
    times = ann.run("return await Promise.all([fanfare.ping(), fanfare.ping()])")
    assert all(0 < time < 10_000 for time in times)
    assert ann.run("const answer = fanfare.ping(); fanfare.suspend(); return [await answer, await fanfare.ping()]") == [None, None]


def test_client_events_reach_the_others_and_say_who_sent_them(clients):
    for client in clients:
        client.room(ROOM, "client-typing")
    assert clients[0].trigger(ROOM, "client-typing", {"text": "żółć"}) is True
    for client in clients[1:]:
        await_true(lambda: client.heard == [["client-typing", {"text": "żółć"}, "ann"]], "the event")
    assert clients[0].heard == []


def test_client_events_work_on_private_channels_too(clients):
    ann, bob, _ = clients
    for client in (ann, bob):
        client.room("private-notes", "client-note")
    assert ann.trigger("private-notes", "client-note", [1]) is True
    await_true(lambda: bob.heard == [["client-note", [1], None]], "the event")


def test_text_that_was_cut_inside_an_emoji_arrives_and_joins(clients, publisher):
    ann, bob, _ = clients
    ann.room("private-notes")
    bob.room("private-notes", "client-token", "token")
    for token in (r"'\ud83d'", r"'\ude00'", r"{ text: '\ud83d' }", r"{ text: '\ude00' }"):
        ann.run(f"fanfare.subscribe('private-notes').trigger('client-token', {token})")
    for token in ("\ud83d", "\ude00"):
        publisher.trigger("private-notes", "token", token)
    text = """["client-token", "token"].map((name) =>
        heard.filter(([event]) => event === name).map(([, data]) => data.text ?? data).join("")).join(" ")"""
    await_true(
        lambda: bob.run(f"return {text} === '😀😀 😀'"),
        "three emoji",
        told=lambda: bob.run(f"return escape({text})"),
    )
    assert ann.errors == []


def test_too_many_client_events_are_an_error_and_no_end(clients):
    ann, bob, _ = clients
    for client in (ann, bob):
        client.room("private-notes", "client-note")
    ann.run("for (let i = 0; i < 15; i += 1) fanfare.subscribe('private-notes').trigger('client-note', i, { transient: true })")
    await_true(lambda: [error["code"] for kind, error, *_ in ann.heard if kind == "error"][:1] == [4301], "4301")
    await_true(lambda: [data for _, data, *_ in bob.heard] == list(range(10)), "the first ten")


def test_a_refusal_is_told_and_not_repeated(clients):
    ann = clients[0]
    ann.run("room('private-closed', {})")
    error = ["pusher:subscription_error", {"type": "AuthError", "error": "not for you"}, None]
    await_true(lambda: ann.heard == [error], "the refusal")
    assert ann.run("return requests") == 1


def test_a_failure_is_tried_again(clients):
    ann = clients[0]
    ann.run("window.failures = 2")
    ann.room("private-notes")
    assert ann.run("return requests") == 3
    assert ann.errors == ["private-notes is not authorized yet: away for a moment; asking again"] * 2


def test_an_endpoint_that_does_not_answer_pages_is_told(browsers, broker):
    """Of another origin, without CORS: browsers do not say why."""
    with StaticSite({"/": EMPTY_PAGE}, posts={"/auth": lambda form: (500, {})}) as site, StaticSite({}, posts={"/auth": lambda form: (200, {})}) as other:
        for url, reason in ((f"{other.url}/auth", "cannot be reached from "), ("/auth", "answered with status 500")):
            ann = Client(browsers[0], broker, site.url + "/", "ann", authorize=None, authEndpoint=url)
            ann.run("room('private-notes', {})")
            await_true(lambda: len(ann.errors) > 1, "two reports")
            assert all("private-notes is not authorized yet" in text and reason in text for text in ann.errors)


def test_a_wrong_signature_is_told(clients, browsers, broker, site):
    mallory = Client(browsers[0], broker_with(broker, secret="guessed"), site, "mallory")
    mallory.run("room('private-notes', {})")
    await_true(lambda: mallory.heard, "that the broker refuses it")
    assert mallory.run("return fanfare.subscribe('private-notes').isSubscribed") is False


def broker_with(broker, secret):
    class Other:
        port = broker.port

    Other.secret = secret
    return Other


def test_a_user_is_signed_in_and_sent_to(clients, publisher):
    for client in clients[:2]:
        client.run(
            "fanfare.user.bind('greeting', (data) => heard.push(['greeting', data]));"
            "fanfare.user.bind('pusher:signin_success', ({ id }) => heard.push(['signed in', id]));"
            "fanfare.signIn()"
        )
    for client, user in zip(clients, ("ann", "bob")):
        await_true(lambda: client.heard == [["signed in", user]], "that the user is signed in")

    def reaches_ann():
        # The user's channel follows the sign-in.
        publisher.send_to_user("ann", "greeting", json.dumps({"text": "for ann"}))
        return ["greeting", {"text": "for ann"}] in clients[0].heard

    await_true(reaches_ann, "the event for the user")
    assert clients[1].heard == [["signed in", "bob"]]


def test_everything_comes_back_with_the_broker(browsers, site):
    first = Broker()
    clients = [Client(page, first, site, user) for page, user in zip(browsers, ("ann", "bob"))]
    for client in clients:
        client.room(ROOM, "client-typing")
        client.run("fanfare.signIn()")
    await_true(lambda: len(clients[0].members(ROOM)) == 2, "two members")
    assert first.stop() == 0
    await_true(lambda: clients[1].run("return fanfare.socketID") is None, "that the connection is gone")
    clients[1].run("fanfare.disconnect()")
    with Broker(port=first.port):
        clients[0].await_subscribed(ROOM)
        # Who did not come back is not on the roster.
        assert clients[0].members(ROOM) == {"ann": {"name": "ANN"}}
        clients[1].run("fanfare.connect()")
        clients[1].await_subscribed(ROOM)
        await_true(lambda: clients[0].trigger(ROOM, "client-typing", 1), "that it can be sent")
        await_true(lambda: clients[1].heard[-1:] == [["client-typing", 1, "ann"]], "the event")


def test_what_was_missed_arrives_in_order_and_the_state_is_not_loaded_again(clients, publisher):
    ann = clients[0]
    ann.room("news", "new", "pusher:continuity")
    ann.run("window.loads = 0; fanfare.subscribe('news').state(async () => { loads += 1; })")
    await_true(lambda: ann.run("return fanfare.subscribe('news').isLive"), "the state")
    ann.run("fanfare.suspend()")
    for number in range(12):
        publisher.trigger("news", "new", number)
    assert ann.run("return heard.filter(([event]) => event === 'new')") == []
    ann.run("fanfare.connect()")
    resumed = ["pusher:continuity", {"kind": "resumed", "replayed": 12}, None]
    await_true(lambda: ann.heard[-1:] == [resumed], "that it has resumed")
    assert [data for event, data, _ in ann.heard if event == "new"] == list(range(12))
    assert ann.run("return loads") == 1


def test_client_events_over_the_rate_wait_and_all_arrive_in_order(clients):
    ann, bob, _ = clients
    for client in (ann, bob):
        client.room("private-notes", "client-note")
    ann.run("for (let i = 0; i < 15; i += 1) fanfare.subscribe('private-notes').trigger('client-note', i)")
    ann.run("fanfare.suspend(); fanfare.connect()")
    await_true(lambda: [data for _, data, *_ in bob.heard] == list(range(15)), "all of them, once")
    assert ann.heard == []


# Recovery


@pytest.fixture
def line(broker):
    with FrameLine(broker.port) as line:
        yield line


@pytest.fixture
def ann(browsers, broker, site, line):
    """A page behind a line that can be cut."""
    return Client(browsers[0], broker, site, "ann", host="127.0.0.1", port=line.port)


@pytest.fixture
def backend(broker):
    return backend_of(broker)


def backend_of(broker):
    return pusher.Pusher(broker.app_id, broker.key, broker.secret, host="127.0.0.1", port=broker.port, ssl=False)


def test_what_was_asked_for_a_former_connection_is_given_up(ann, line):
    rows = [f"private-row-{number}" for number in range(20)]
    ann.run("hold(); window.requests = 0")
    ann.run("for (const row of given[0]) room(row, {})", rows)
    former = ann.run("return fanfare.socketID")
    line.cut()
    await_true(lambda: ann.run("return fanfare.socketID") not in (None, former), "another connection", seconds=40)
    assert ann.run("return [requests, obsolete]") == [40, 20]
    ann.run("for (const row of given[0]) fanfare.unsubscribe(row)", rows[10:])
    ann.run("release()")
    for row in rows[:10]:
        ann.await_subscribed(row)
    assert ann.run("return [requests, obsolete]") == [40, 30]
    # Neither an error of the broker for what was left before it was asked for, nor a refused signature.
    assert ann.heard == []


def test_an_endpoint_that_is_slow_is_asked_once(browsers, broker):
    forms = []

    def answer(form):
        forms.append(form["channel_name"])
        time.sleep(0.1)
        return 200, backend_of(broker).authenticate(form["channel_name"], form["socket_id"])

    rows = [f"private-row-{number}" for number in range(30)]
    with StaticSite({"/": EMPTY_PAGE}, posts={"/auth": answer}) as site:
        ann = Client(browsers[0], broker, site.url + "/", "ann", authorize=None, authEndpoint="/auth")
        ann.run("for (const row of given[0]) room(row, {})", rows)
        ann.run("for (const row of given[0]) fanfare.unsubscribe(row)", rows[20:])
        for row in rows[:20]:
            ann.await_subscribed(row)
        assert ann.heard == []
    assert sorted(forms) == sorted(rows[:20])


@pytest.mark.parametrize("name", ["news", "private-news", "presence-news"])
def test_a_hole_is_found_and_filled_on_the_same_connection(ann, line, backend, name):
    ann.room(name, "new", "pusher:continuity")
    socket_id = ann.run("return fanfare.socketID")
    line.loses = lambda text: '"data":"2"' in text and line.texts.count(text) == 1
    for number in range(1, 6):
        backend.trigger(name, "new", number)
    ann.await_new(1, 2, 3, 4, 5)
    backend.trigger(name, "new", 6)
    ann.await_new(1, 2, 3, 4, 5, 6)
    assert len(ann.errors) == 1 and "did not arrive; asking for them again" in ann.errors[0]
    assert [continuity["kind"] for continuity in ann.new("pusher:continuity")] == ["began", "resumed"]
    assert ann.run("return fanfare.socketID") == socket_id


def test_an_event_that_leaves_the_page_out_is_no_hole(ann, line, backend):
    ann.room("news", "new")
    socket_id = ann.run("return fanfare.socketID")
    backend.trigger("news", "new", 1)
    backend.trigger("news", "new", "own", socket_id)
    backend.trigger("news", "new", 2)
    ann.await_new(1, 2)
    line.cut()
    backend.trigger("news", "new", "own", socket_id)
    backend.trigger("news", "new", 3)
    ann.await_new(1, 2, 3)
    assert ann.errors == []


def test_a_page_pings_earlier_after_a_proxy_has_cut_a_silent_connection(ann, line):
    # The silence passes in the page's time only.
    ann.run("""
        let ahead = 0;
        const [now, after] = [performance.now.bind(performance), setTimeout];
        performance.now = () => now() + ahead;
        window.delays = [];
        window.setTimeout = (step, time) => { delays.push(time); return after(step, time); };
        window.pass = (time) => { ahead += time; };
    """)
    for silence, expected in [(5_000, 120_000), (60_000, 45_000), (30_000, 22_500), (11_000, 10_000)]:
        former = ann.run("return fanfare.socketID")
        ann.run("pass(given[0])", silence)
        line.cut()
        await_true(lambda: ann.run("return fanfare.socketID") not in (None, former), "another connection", seconds=40)
        [delay] = ann.run("return delays.filter((time) => time > 9000 && time <= 120000).slice(-1)")
        assert abs(delay - expected) < 1500, (silence, delay)


def test_what_is_no_longer_kept_is_told_as_a_gap_and_counted(browsers, site, tmp_path):
    with broker_with_recovery(tmp_path, messages_max=5) as broker, FrameLine(broker.port) as line:
        ann = Client(browsers[0], broker, site, "ann", host="127.0.0.1", port=line.port)
        ann.room("news", "new", "pusher:continuity")
        ann.run("load('news'); finish()")
        await_true(lambda: ann.run("return fanfare.subscribe('news').isLive"), "the state")
        ann.run("fanfare.suspend()")
        for number in range(8):
            backend_of(broker).trigger("news", "new", number)
        ann.run("fanfare.connect()")
        await_true(lambda: ann.run("return loads") == ["began", "gap"], "that the state is loaded anew")
        assert ann.new("pusher:continuity")[-1] == {"kind": "gap", "reason": "truncated", "missed": 8}
        assert ann.run("return fanfare.subscribe('news').isLive") is False
        backend_of(broker).trigger("news", "new", "behind it")
        ann.run("finish()")
        ann.await_new("behind it")


def test_a_broker_that_begins_anew_is_a_gap_and_one_without_recovery_unknown(browsers, site, tmp_path):
    broker = Broker()
    ann = Client(browsers[0], broker, site, "ann")
    ann.room("news", "new", "pusher:continuity")
    backend_of(broker).trigger("news", "new", 1)
    ann.await_new(1)
    broker.stop()

    def kinds():
        return [continuity["kind"] for continuity in ann.new("pusher:continuity")]

    with Broker(port=broker.port) as broker:
        await_true(lambda: kinds() == ["began", "gap"], "the gap", seconds=40)
        assert ann.new("pusher:continuity")[-1]["reason"] == "unknown_stream"
    with broker_with_recovery(tmp_path, port=broker.port, enabled=False) as broker:
        await_true(lambda: kinds() == ["began", "gap", "unknown"], "an honest answer", seconds=40)
        backend_of(broker).trigger("news", "new", 2)
        ann.await_new(1, 2)
        assert ann.position("news") is None
        # Nobody can know: the state is loaded behind each connection.
        ann.run("load('news'); finish(); fanfare.suspend(); fanfare.connect()")
        await_true(lambda: ann.run("return loads") == ["began", "unknown"], "that it is loaded again")


def test_a_new_page_begins_with_earlier_events_where_a_rule_allows_it(browsers, site, tmp_path):
    rule = {"channel_prefix": "news", "keep": "always", "rewind": True}
    with broker_with_recovery(tmp_path, rules=[rule]) as broker:
        for number in range(5):
            backend_of(broker).trigger("news", "new", number)
            backend_of(broker).trigger("other", "new", number)
        ann = Client(browsers[0], broker, site, "ann")
        ann.room("news", "new", rewind={"count": 3})
        ann.room("other", "other", rewind={"count": 3})
        ann.await_new(2, 3, 4)
        backend_of(broker).trigger("news", "new", 5)
        ann.await_new(2, 3, 4, 5)
        assert ann.new("other") == []


def test_a_page_goes_on_where_the_last_one_was(ann, backend):
    ann.room("news", "new")
    backend.trigger("news", "new", 1)
    ann.await_new(1)
    position = ann.position("news")
    ann.run("fanfare.unsubscribe('news')")
    for number in (2, 3):
        backend.trigger("news", "new", number)
    ann.room("news", "new", "pusher:continuity", position=position)
    ann.await_new(1, 2, 3)
    assert ann.new("pusher:continuity") == [{"kind": "resumed", "replayed": 2}]


def test_a_position_that_is_none_is_refused_and_forgotten(ann, backend):
    ann.run("room('news', { position: { stream: 'a b', serial: -1 } }, 'new')")
    await_true(lambda: ann.new("pusher:subscription_error"), "the refusal")
    assert ann.new("pusher:subscription_error")[0]["type"] == "InvalidPosition"
    ann.run("fanfare.suspend(); fanfare.connect()")
    ann.await_subscribed("news")
    backend.trigger("news", "new", 1)
    ann.await_new(1)


def await_passed(line, data):
    """Waits until an event with these data was sent to the page."""
    await_true(lambda: any(f'"data":"{data}"' in text for text in line.texts), f"event {data}", seconds=40)


@pytest.mark.parametrize("name", ["news", "private-news", "presence-news"])
def test_a_channel_that_was_left_goes_on_where_it_was(ann, backend, name):
    ann.run("window.requests = 0")
    ann.room(name, "new", "pusher:continuity")
    backend.trigger(name, "new", 1)
    ann.await_new(1)
    ann.run("fanfare.unsubscribe(given[0])", name)
    for number in (2, 3):
        backend.trigger(name, "new", number)
    ann.room(name, "new", "pusher:continuity")
    ann.await_new(1, 2, 3)
    # As components do: in one turn, with events and acknowledgements on their way.
    for number in range(4, 20):
        backend.trigger(name, "new", number)
        ann.run("fanfare.unsubscribe(given[0]); room(...given)", name, {}, "new")
    ann.await_new(*range(1, 20))
    signatures = 0 if name == "news" else 1
    assert ann.run("return requests") == signatures
    # On another connection as well, whose signature is another one.
    ann.run("fanfare.unsubscribe(given[0]); fanfare.suspend()", name)
    backend.trigger(name, "new", 20)
    ann.run("fanfare.connect()")
    ann.room(name, "new", "pusher:continuity")
    ann.await_new(*range(1, 21))
    assert ann.run("return requests") == 2 * signatures
    assert [each["kind"] for each in ann.new("pusher:continuity")] == ["began", "resumed", "resumed"]


def test_a_channel_that_was_left_begins_anew_if_the_app_says_so_or_later(ann, backend, browsers, site, broker):
    for client, options in (ann, {"fresh": True}), (Client(browsers[1], broker, site, "bob", resubscribeGrace=1), {}):
        client.room("news", "new", "pusher:continuity")
        client.run("fanfare.unsubscribe('news'); await new Promise((resume) => setTimeout(resume, 10))")
        backend.trigger("news", "new", "missed")
        client.room("news", "new", "pusher:continuity", **options)
        backend.trigger("news", "new", "seen")
        client.await_new("seen")
        assert client.new("pusher:continuity") == [{"kind": "began"}] * 2


def test_a_part_of_a_page_that_is_drawn_anew_loads_its_state(ann, line, backend):
    ann.room("news", "new")
    ann.run("load('news'); finish()")
    backend.trigger("news", "new", 1)
    ann.await_new(1)
    ann.run("fanfare.unsubscribe('news')")
    backend.trigger("news", "new", 2)
    ann.run("room('news', {}, 'new'); load('news')")
    await_true(lambda: ann.run("return loads.length") == 2, "that it loads")
    await_passed(line, 2)
    # The page shows what it has: an older state. Nothing is shown that was delivered to what was left.
    assert ann.new() == [1]
    ann.run("finish()")
    ann.await_new(1, 2)


def test_the_position_is_that_of_what_the_page_shows(ann, line, backend):
    start = backend.channel_info("news", ["position"])["position"]
    ann.room("news", "new", position=start)
    assert ann.position("news") == start
    ann.run("load('news')")
    backend.trigger("news", "new", 1)
    await_passed(line, 1)
    # The second state is not there yet: a page that is left now begins anew.
    assert ann.position("news") is None
    ann.run("finish()")
    ann.await_new(1)
    assert ann.position("news") == {**start, "serial": start["serial"] + 1}
    ann.run("load('news'); statePosition = given[0]; finish()", {**start, "serial": start["serial"] + 5})
    await_true(lambda: ann.run("return fanfare.subscribe('news').isLive"), "the state")
    assert ann.position("news")["serial"] == start["serial"] + 5


def test_a_part_of_a_page_with_another_position_gets_what_it_lacks_or_a_gap(ann, backend):
    start = backend.channel_info("news", ["position"])["position"]
    ann.room("news", "new", "pusher:continuity", position=start)
    for number in (1, 2, 3):
        backend.trigger("news", "new", number)
    ann.await_new(1, 2, 3)
    for position, gap in (
        (ann.position("news"), None),
        ({**start, "serial": start["serial"] + 9}, None),
        ({**start, "serial": start["serial"] + 1}, {"kind": "gap", "reason": "behind", "missed": 2}),
        ({"stream": "other", "serial": 3}, {"kind": "gap", "reason": "unknown_stream", "missed": None}),
    ):
        ann.run("heard.length = 0; room(...given)", "news", {"position": position}, "later")
        assert ann.new("pusher:continuity") == ([gap] if gap else [])
    backend.trigger("news", "new", 4)
    ann.await_new(4)
    # While it reconnects as well: the place of the first part is not moved.
    ann.run("heard.length = 0; fanfare.suspend(); room(...given)", "news", {"position": {**start, "serial": 99}}, "later")
    for number in (5, 6):
        backend.trigger("news", "new", number)
    ann.run("fanfare.connect()")
    ann.await_new(5, 6)


def test_a_handler_that_leaves_gets_nothing_more(ann, backend):
    ann.run("""
        const channel = room("news", {}, "new");
        channel.bind("new", () => fanfare.unsubscribe("news"));
        channel.bind("new", () => heard.push(["late", null, null]));
    """)
    ann.await_subscribed("news")
    backend.trigger("news", "new", 1)
    backend.trigger("news", "new", 2)
    backend.trigger("other", "new", 2)
    ann.room("other", "other")
    assert ann.new() == [1] and ann.new("late") == []


def test_events_wait_for_the_state_also_over_a_cut(ann, line, backend):
    ann.room("news", "new")
    ann.run("load('news')")
    backend.trigger("news", "new", 1)
    await_passed(line, 1)
    line.cut()
    backend.trigger("news", "new", 2)
    await_passed(line, 2)
    assert ann.new() == []
    assert ann.position("news") is None
    ann.run("finish()")
    ann.await_new(1, 2)
    assert [event for event, *_ in ann.heard] == ["loaded", "new", "new"]
    assert ann.run("return loads") == ["began"]


def test_the_position_of_a_state_says_which_events_follow(ann, line, backend):
    """Older than the subscription: those between come from the broker. Newer: what is in the state does not come again."""
    before = backend.channel_info("news", ["position"])["position"]
    for number in (1, 2):
        backend.trigger("news", "new", number)
    ann.room("news", "new")
    ann.run("load('news'); window.statePosition = given[0]; finish()", before)
    ann.await_new(1, 2)
    assert ann.run("return loads") == ["began"]
    ann.run("load('news')")
    for number in (3, 4, 5):
        backend.trigger("news", "new", number)
    await_passed(line, 5)
    ann.run("statePosition = given[0]; finish()", {**before, "serial": before["serial"] + 4})
    ann.await_new(1, 2, 5)


def test_the_backend_signs_at_its_own_address(browsers, broker, line):
    """`authEndpoint` gets the form of pusher-js; 403 is final, 500 is tried again."""
    forms = []
    answers = {"private-notes": [500, 200], "private-closed": [403]}

    def answer(form):
        forms.append(form)
        status = answers[form["channel_name"]].pop(0)
        return status, backend_of(broker).authenticate(form["channel_name"], form["socket_id"])

    with StaticSite({"/": EMPTY_PAGE}, posts={"/auth": answer}) as site:
        options = {"authorize": None, "authEndpoint": "/auth", "authHeaders": {"X-Token": "t"}}
        ann = Client(browsers[0], broker, site.url + "/", "ann", **options)
        ann.room("private-notes", "new")
        backend_of(broker).trigger("private-notes", "new", 1)
        ann.await_new(1)
        ann.run("room('private-closed', {})")
        await_true(lambda: ann.new("pusher:subscription_error"), "the refusal")
        assert ann.new("pusher:subscription_error") == [
            {"type": "AuthError", "error": "/auth answered with status 403"}
        ]
    socket_id = ann.run("return fanfare.socketID")
    assert [form["channel_name"] for form in forms] == ["private-notes"] * 2 + ["private-closed"]
    assert {form["socket_id"] for form in forms} == {socket_id}
    assert {form["x-token"] for form in forms} == {"t"}


@pytest.mark.parametrize("name, kind", [("fanfare.js", "module"), ("fanfare-pusher.js", "text/javascript")])
def test_a_page_may_name_the_digest_of_a_script(browsers, site, broker, name, kind):
    page = browsers[0]
    page.open(site)
    script = read(broker, name)
    load = """
        const [src, type, integrity] = given;
        return new Promise((resolve) => {
            document.head.append(Object.assign(document.createElement("script"), {
                src, type, integrity, crossOrigin: "anonymous",
                onload: () => resolve(true), onerror: () => resolve(false),
            }));
        });
    """
    for text, is_loaded in [(script, True), (script + " ", False)]:
        digest = base64.b64encode(hashlib.sha384(text.encode()).digest()).decode()
        url = f"{broker.url}/{name}?{len(text)}"
        assert page.run(load, url, kind, f"sha384-{digest}") is is_loaded


def test_the_scripts_work_under_a_strict_policy(browsers, broker):
    page = browsers[0]
    at = f"127.0.0.1:{broker.port}"
    policy = f"default-src 'none'; script-src 'self' http://{at}; connect-src ws://{at}"
    html = (
        f"""<!doctype html><meta http-equiv="Content-Security-Policy" content="{policy}"><body>"""
        f"""<script src="http://{at}/fanfare-pusher.js"></script><script type="module" src="/page.js"></script>"""
    )
    code = f"""
        import {{ Fanfare }} from "http://{at}/fanfare.js";
        const fanfare = new Fanfare("app-key");
        fanfare.subscribe("news").bind("new", (data) => document.body.append(data));
        fanfare.connect();
        if (typeof fanfareRecovery === "function") document.body.append("add-on ");
    """
    with StaticSite({"/": html, "/page.js": code}) as site:
        page.open(site.url)

        def shows_event():
            backend_of(broker).trigger("news", "new", "event")
            return "event" in page.text("body")

        await_true(shows_event, "the event")
        assert page.text("body").startswith("add-on")


def test_the_types_name_what_there_is_and_nothing_else(ann, broker):
    types, script = read(broker, "fanfare.d.ts"), read(broker, "fanfare.js")
    # What a page can reach: the exports, and what instances of the two classes have.
    reached = ann.run(
        """
        const module = await import(given[0]);
        const names = (object, found = Object.keys(object)) => {
            const prototype = Object.getPrototypeOf(object);
            return prototype === Object.prototype ? found : names(prototype, [...found, ...Object.getOwnPropertyNames(prototype)]);
        };
        return {
            module: Object.keys(module),
            Fanfare: names(new module.Fanfare("app-key")),
            Channel: names(new module.Fanfare("app-key").subscribe("news")),
        };
        """,
        f"{broker.url}/fanfare.js",
    )
    assert set(re.findall(r"^export (?:class|const) (\w+)", types, re.M)) == set(reached["module"])
    for name in ("Fanfare", "Channel"):
        # What binds functions is declared once, for both.
        declared = members_of("class " + name, types) | members_of("interface Bindings", types)
        assert declared == set(reached[name]) - {"constructor", "emit"}, name
    for option in members_of("interface Options", types) | members_of("interface SubscribeOptions", types):
        assert re.search(rf"\b{option}\b", script), f"fanfare.js has no option {option}"
    for event in events_of(types):
        assert event in script or event == "pusher:cache_miss", f"fanfare.js has no event {event}"
    for state in members_of("interface StateDetails", types):
        # Without space, and by a method whose name is private.
        assert re.search(rf'state:"{state}"|this\.#_\w+\("{state}"', script), f"fanfare.js has no state {state}"
