"""The browser client in three browsers, loaded from the broker as any page would."""

import json

import pytest

from programs import Broker, await_true

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
    async function authorize({ socketID, channel }) {
        requests += 1;
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


def test_what_cannot_be_sent_says_so(clients):
    ann = clients[0]
    ann.room("news")
    assert ann.trigger("news", "client-note", 1) is False
    assert ann.run("return fanfare.subscribe('private-later').trigger('client-note', 1)") is False


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
    assert ann.heard == []


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
