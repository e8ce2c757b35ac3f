"""pusher-js with the broker's add-on: what a page misses behind a cut arrives, or it is told of a gap.

With the stand-in for pusher-js always; with the unmodified bundle where PUSHER_JS is its path, and with Laravel Echo where
LARAVEL_ECHO is its.
"""

import json
import os
import re
from pathlib import Path

import pusher
import pytest

from declarations import events_of, members_of, read
from frame_line import FrameLine
from programs import Broker, await_true, broker_with_recovery, run
from pusher_page import PusherPage
from static_site import StaticSite

BUNDLE = os.environ.get("PUSHER_JS")
# A script that defines Echo, as the package's echo.iife.js does.
ECHO = os.environ.get("LARAVEL_ECHO")
SCRIPTS = {"stand-in": Path(__file__).parent / "pusher_stand_in.js", "pusher-js": BUNDLE and Path(BUNDLE)}


@pytest.fixture(scope="module", params=SCRIPTS)
def script(request):
    """The URL of pusher-js."""
    if SCRIPTS[request.param] is None:
        pytest.skip("PUSHER_JS names no bundle of pusher-js")
    with StaticSite({"/pusher.js": SCRIPTS[request.param].read_text()}) as site:
        yield f"{site.url}/pusher.js"


@pytest.fixture
def line(broker):
    with FrameLine(broker.port) as line:
        yield line


@pytest.fixture
def page(browsers, site, script, broker, line):
    return PusherPage(browsers[0], site, script, broker, line.port)


@pytest.fixture
def backend(broker):
    return backend_of(broker)


def backend_of(broker):
    return pusher.Pusher(broker.app_id, broker.key, broker.secret, host="127.0.0.1", port=broker.port, ssl=False)


def test_signatures_of_a_former_connection_are_not_sent(page, line):
    rows = [f"private-row-{number}" for number in range(20)]
    page.run("hold()")
    for row in rows:
        page.run("follow(...given)", row, {}, "pusher:subscription_error")
    former = page.socket_id
    line.cut()
    page.await_connection(former)
    page.run("release()")
    for row in rows:
        page.await_subscribed(row)
    assert page.heard_of("pusher:subscription_error") == []


@pytest.mark.parametrize("name", ["news", "private-news", "presence-news"])
def test_each_event_arrives_once_over_several_cuts(page, line, backend, name):
    page.follow(name, "new", "pusher:gap", "pusher:continuity")
    for cut in range(3):
        backend.trigger(name, "new", 10 * cut)
        page.await_new(list(range(10 * cut + 1)))
        line.cut()
        for number in range(1, 10):
            backend.trigger(name, "new", 10 * cut + number)
        page.await_new(list(range(10 * cut + 10)))
    assert page.heard_of("pusher:gap") == []
    replayed = [data.get("replayed") for data in page.heard_of("pusher:continuity")]
    assert replayed == [None, 9, 9, 9]


def test_an_acknowledgement_says_what_was_recovered(page, line, backend):
    page.follow("news", "new", "pusher:subscription_succeeded")
    line.cut()
    backend.trigger("news", "new", 1)
    page.await_new([1])
    first, second = page.heard_of("pusher:subscription_succeeded")
    assert "recovered" not in first
    assert second["recovered"] is True and second["replay"] == 1


def test_a_page_that_disconnects_goes_on_when_it_connects(page, backend):
    page.follow("news", "new")
    page.run("pusher.disconnect()")
    for number in range(3):
        backend.trigger("news", "new", number)
    page.run("pusher.connect()")
    page.await_new([0, 1, 2])


@pytest.mark.parametrize("name", ["news", "private-news", "presence-news"])
def test_a_channel_that_was_left_goes_on_where_it_was(page, line, backend, name):
    page.follow(name, "new", "pusher:continuity")
    backend.trigger(name, "new", 1)
    page.await_new([1])
    page.run("pusher.unsubscribe(given[0])", name)
    for number in (2, 3):
        backend.trigger(name, "new", number)
    page.follow(name, "new", "pusher:continuity")
    page.await_new([1, 2, 3])
    # As pages do with hooks: in one turn, with events on their way.
    for number in range(4, 20):
        backend.trigger(name, "new", number)
        page.run("pusher.channel(given[0]).unbind('new'); pusher.unsubscribe(given[0]); follow(...given)", name, {}, "new")
    page.await_new(list(range(1, 20)))
    assert page.run("return signatures") == (0 if name == "news" else 1)
    assert page.heard_of("pusher:continuity")[:2] == [{"kind": "began"}, {"kind": "resumed", "replayed": 2}]
    former = page.socket_id
    page.run("pusher.unsubscribe(given[0])", name)
    line.cut()
    page.await_connection(former)
    backend.trigger(name, "new", 20)
    page.follow(name, "new")
    page.await_new(list(range(1, 21)))


def test_a_part_of_a_page_with_an_earlier_position_is_told_a_gap(page, backend):
    start = channel_position(backend, "news")
    page.follow("news", "new", "pusher:continuity", "pusher:gap", position=start)
    for number in (1, 2, 3):
        backend.trigger("news", "new", number)
    page.await_new([1, 2, 3])
    page.run("heard.length = 0; follow(...given)", "news", {"position": {**start, "serial": start["serial"] + 1}})
    gap = {"reason": "behind", "missed": 2}
    assert page.heard == [["pusher:continuity", {"kind": "gap", **gap}], ["pusher:gap", gap]]


def test_a_page_that_left_a_channel_begins_anew_if_it_says_so(page, line, backend):
    page.follow("news", "new", "pusher:continuity")
    page.run("pusher.unsubscribe('news')")
    backend.trigger("news", "new", "missed")
    page.follow("news", "new", "pusher:continuity", fresh=True)
    backend.trigger("news", "new", "seen")
    page.await_new(["seen"])
    assert page.heard_of("pusher:continuity") == [{"kind": "began"}] * 2


@pytest.mark.parametrize("ends", [Broker.stop, Broker.kill])
def test_a_page_is_back_soon_after_a_restart(browsers, site, script, ends):
    broker = Broker()
    page = PusherPage(browsers[0], site, script, broker, broker.port)
    page.run("window.states = []; pusher.connection.bind('state_change', ({ current }) => states.push([current, performance.now()]))")
    ends(broker)
    page.await_cut()
    # What a restart takes; the first attempts are refused meanwhile.
    page.run("await new Promise((resume) => setTimeout(resume, 2000))")
    with Broker(port=broker.port):
        back = page.run("return performance.now()")
        await_true(lambda: page.state == "connected", "a connection", seconds=30)
        connected = page.run("return states.at(-1)[1]")
    assert connected - back < 3000, page.run("return states")


def test_a_page_connects_again_however_many_connections_end_without_a_close_frame(browsers, site, script, broker, line, backend):
    page = PusherPage(browsers[0], site, script, broker, line.port, lives=2)
    page.follow("news", "new", "pusher:gap")
    for number in range(5):
        former = page.socket_id
        line.cut()
        backend.trigger("news", "new", number)
        page.await_connection(former)
        page.await_new(list(range(number + 1)))
    assert page.heard_of("pusher:gap") == []


def test_a_blocked_page_loses_nothing_at_a_cut(page, line, backend):
    page.follow("news", "new")
    page.run("setTimeout(() => { for (const end = Date.now() + 2000; Date.now() < end; ); })")
    for number in range(4):
        backend.trigger("news", "new", number)
    line.cut()
    backend.trigger("news", "new", 4)
    page.await_new(list(range(5)))


def test_what_is_no_longer_kept_is_told_as_a_gap(browsers, site, script, tmp_path):
    with broker_with_recovery(tmp_path, messages_max=5) as broker, FrameLine(broker.port) as line:
        page = PusherPage(browsers[0], site, script, broker, line.port)
        page.follow("news", "new", "pusher:gap", "pusher:continuity")
        backend = backend_of(broker)
        backend.trigger("news", "new", "first")
        page.await_new(["first"])
        line.close()
        page.await_cut()
        for number in range(8):
            backend.trigger("news", "new", number)
        line.open()
        await_true(lambda: page.heard_of("pusher:gap"), "the gap", seconds=40)
        assert page.heard_of("pusher:gap") == [{"reason": "truncated", "missed": 8}]
        assert page.heard_of("pusher:continuity")[-1] == {"kind": "gap", "reason": "truncated", "missed": 8}
        backend.trigger("news", "new", "last")
        page.await_new(["first", "last"])


def test_a_broker_that_begins_anew_is_a_gap_and_one_without_recovery_unknown(browsers, site, script, tmp_path):
    broker = Broker()
    page = PusherPage(browsers[0], site, script, broker, broker.port)
    page.follow("news", "new", "pusher:gap", "pusher:continuity")
    # Without a number there is nothing to lose.
    backend_of(broker).trigger("news", "new", 1)
    page.await_new([1])
    broker.stop()
    with Broker(port=broker.port) as broker:
        await_true(lambda: page.heard_of("pusher:gap"), "the gap", seconds=40)
        assert page.heard_of("pusher:gap")[0]["reason"] == "unknown_stream"
    with broker_with_recovery(tmp_path, port=broker.port, enabled=False) as broker:
        await_true(lambda: page.heard_of("pusher:continuity")[-1]["kind"] == "unknown", "an honest answer", seconds=40)
        backend_of(broker).trigger("news", "new", 2)
        page.await_new([1, 2])
        assert len(page.heard_of("pusher:gap")) == 1


def test_a_hole_is_found_and_filled(page, line, backend):
    page.follow("private-news", "new", "pusher:gap")
    line.loses = lambda text: '"data":"2"' in text and line.texts.count(text) == 1
    for number in range(1, 6):
        backend.trigger("private-news", "new", number)
    page.await_new([1, 2, 3, 4, 5])
    errors = page.run("return errors")
    assert len(errors) == 1 and "did not arrive" in errors[0]
    assert page.heard_of("pusher:gap") == []
    # It is the same connection, on which later events are live.
    backend.trigger("private-news", "new", 6)
    page.await_new([1, 2, 3, 4, 5, 6])


def test_an_event_that_leaves_the_page_out_is_no_hole(page, line, backend):
    page.follow("news", "new", "pusher:gap")
    socket_id = page.socket_id
    backend.trigger("news", "new", 1)
    backend.trigger("news", "new", "own", socket_id)
    backend.trigger("news", "new", 2)
    page.await_new([1, 2])
    line.cut()
    # Left out of a replay as well.
    backend.trigger("news", "new", "own", socket_id)
    backend.trigger("news", "new", 3)
    page.await_new([1, 2, 3])
    assert page.run("return errors") == []


def test_a_cached_event_that_was_lost_comes_with_the_next_connection(page, line, backend):
    backend.trigger("cache-news", "new", "cached")
    line.loses = lambda text: '"cached' in text
    page.follow("cache-news", "new")
    assert page.new == []
    line.loses = lambda text: False
    line.cut()
    page.await_new(["cached"])
    before = page.socket_id
    line.cut()
    page.await_connection(after=before)
    page.await_subscribed("cache-news")
    backend.trigger("cache-news", "new", "next")
    page.await_new(["cached", "next"])


def test_an_unasked_acknowledgement_moves_the_page_to_another_stream(page, line, backend):
    page.follow("news", "new", "pusher:gap")
    backend.trigger("news", "new", 1)
    page.await_new([1])

    def send(event, data=None, **more):
        line.inject(json.dumps({"event": event, "channel": "news", "data": json.dumps(data), **more}))

    gap = {"reason": "unknown_stream"}
    answer = {"position": {"stream": "another", "serial": 7}, "recovered": False, "gap": gap}
    send("pusher_internal:subscription_succeeded", answer)
    send("new", "of another life", serial=8)
    page.await_new([1, "of another life"])
    assert page.heard_of("pusher:gap")[0]["reason"] == "unknown_stream"
    assert page.position("news") == {"stream": "another", "serial": 8}


def test_a_purge_of_a_presence_channel_leaves_members_right(page, browsers, site, script, broker, line, backend):
    """The broker acknowledges the subscription again, unasked, with the members."""
    if not page.run("return 'signin' in pusher"):
        pytest.skip("the stand-in tells of no members")
    name = "presence-purged"
    page.follow(name, "new", "pusher:gap", "pusher:subscription_succeeded", "pusher:member_added", "pusher:member_removed")
    bob = PusherPage(browsers[1], site, script, broker, broker.port, userID="bob")
    bob.follow(name, "new", "pusher:gap")

    def await_members(*ids):
        def members():
            return page.run("return Object.keys(pusher.channel(given[0]).members.members)", name)

        await_true(lambda: sorted(members()) == sorted(ids), f"the members {ids}", told=members)

    def count_of(event):
        return len(page.heard_of(event))

    await_true(lambda: count_of("pusher:member_added") == 1, "that bob has come")
    backend.trigger(name, "new", 1)
    page.await_new([1])
    former = page.position(name)
    purged = run("fanfare", "history", name, "--purge", "--url", broker.url)
    assert purged.returncode == 0, purged.stderr
    backend.trigger(name, "new", 2)
    for each in (page, bob):
        each.await_new([1, 2])
        assert [gap["reason"] for gap in each.heard_of("pusher:gap")] == ["unknown_stream"]
    assert count_of("pusher:subscription_succeeded") == 2
    await_members("ann", "bob")
    assert page.run("const { count, me } = pusher.channel(given[0]).members; return [count, me.id]", name) == [2, "ann"]
    position = page.position(name)
    assert position["stream"] != former["stream"] and position["serial"] == 1
    # Comings and goings are told as before, each once.
    bob.run("pusher.unsubscribe(given[0])", name)
    await_true(lambda: count_of("pusher:member_removed") == 1, "that bob has left")
    bob.follow(name, "new")
    await_true(lambda: count_of("pusher:member_added") == 2, "that bob has come back")
    # The other stream is resumed as the first one was.
    line.cut()
    backend.trigger(name, "new", 3)
    page.await_new([1, 2, 3])
    assert count_of("pusher:gap") == 1 and page.run("return errors") == []
    await_members("ann", "bob")


def test_two_clients_on_a_page_have_positions_of_their_own(page, line, backend):
    page.follow("news", "new")
    page.run(
        """
        window.second = connect();
        window.heardBySecond = [];
        second.subscribe("news").bind("new", (data) => heardBySecond.push(data));
        """
    )
    await_true(lambda: page.run("return second.channel('news').subscribed"), "the second subscription")
    backend.trigger("news", "new", 1)
    page.await_new([1])
    line.cut()
    backend.trigger("news", "new", 2)
    page.await_new([1, 2])
    await_true(lambda: page.run("return heardBySecond") == [1, 2], "the same in the second client")


def test_the_users_own_channel_is_recovered(page, line, backend):
    if not page.run("return 'signin' in pusher"):
        pytest.skip("the stand-in signs in no user")
    page.run("pusher.user.bind('new', (data) => heard.push(['new', data])); pusher.signin()")

    def reaches_ann():
        backend.send_to_user("ann", "new", "hello")
        return page.new

    await_true(reaches_ann, "that the user is signed in")
    count = len(page.new)
    line.close()
    page.await_cut()
    for number in (1, 2, 3):
        backend.send_to_user("ann", "new", number)
    line.open()
    await_true(lambda: page.new[-1] == 3, "the last event", seconds=40)
    assert page.new == ["hello"] * count + [1, 2, 3]


def test_laravel_echo_recovers_as_pusher_js_does(page, line, backend):
    if not ECHO or not page.run("return 'signin' in pusher"):
        pytest.skip("LARAVEL_ECHO and PUSHER_JS name no bundles")
    page.run(
        """
        const module = (0, eval)(`${given[0]}\\nEcho`);
        window.echo = new (module.default ?? module)({ broadcaster: "pusher", key: "app-key", ...options, Pusher });
        echo.private("news").listen(".new", (data) => heard.push(["new", data]))
            .subscription.bind("pusher:continuity", (data) => heard.push(["pusher:continuity", data]));
        """,
        Path(ECHO).read_text(),
    )
    await_true(lambda: page.run("return echo.private('news').subscription.subscribed"), "the subscription")
    backend.trigger("private-news", "new", 1)
    page.await_new([1])
    line.cut()
    for number in range(2, 6):
        backend.trigger("private-news", "new", number)
    page.await_new([1, 2, 3, 4, 5])
    assert page.heard_of("pusher:continuity") == [{"kind": "began"}, {"kind": "resumed", "replayed": 4}]


def test_the_types_name_what_the_add_on_adds_and_nothing_else(browsers, site, script, broker):
    types, add_on = read(broker, "fanfare-pusher.d.ts"), read(broker, "fanfare-pusher.js")
    added = browsers[0]
    added.open(site)
    added = added.run(
        """
        const load = (src) => new Promise((resolve, reject) => {
            document.head.append(Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject }));
        });
        const options = { wsHost: "127.0.0.1", wsPort: 9, forceTLS: false, cluster: "" };
        const names = () => Object.getOwnPropertyNames(new Pusher("app-key", options).subscribe("news"));
        await load(given[0]);
        const before = { page: Object.keys(globalThis), channel: names() };
        await load(given[1]);
        const without = (known, found) => found.filter((name) => !known.includes(name));
        return {
            page: without(before.page, Object.keys(globalThis)),
            channel: without(before.channel, names()),
            client: ["subscribe", "channel"].filter((name) => name in Pusher.prototype),
            class: ["Runtime", "instances", "prototype"].filter((name) => name in Pusher),
        };
        """,
        script,
        f"{broker.url}/fanfare-pusher.js",
    )
    assert re.findall(r"^  function (\w+)\(", types, re.M) == added["page"]
    # `bind` is that of pusher-js, with two events more.
    assert members_of("interface ChannelRecovery", types) == {*added["channel"], "bind"}
    assert members_of("interface ClientRecovery", types) == set(added["client"])
    assert members_of("interface PusherClass", types) == set(added["class"])
    assert events_of(types) == {"pusher:gap", "pusher:continuity"}
    for name in events_of(types) | members_of("interface SubscriptionSucceeded", types):
        assert name in add_on, f"fanfare-pusher.js has no {name}"
    shared = re.search(r"^export type {(.*)} from \"./fanfare.js\";", types, re.M)[1].split(",")
    for name in shared:
        assert re.search(rf"^export (?:type|interface) {name.strip()}\b", read(broker, "fanfare.d.ts"), re.M), name


# State that is joined to the stream

LOAD = """
    follow("news", given[0], "pusher:gap");
    window.failures = given[1];
    pusher.channel("news").bind("new", (data) => heard.push(["new", data]));
    pusher.channel("news").state(async ({ kind }) => {
        loads.push(kind);
        heard.push(["loading", kind]);
        if (failures > 0) { failures -= 1; throw new Error("away for a moment"); }
        await new Promise((resolve) => { window.finish = resolve; });
        heard.push(["loaded", null]);
        return window.statePosition;
    });
"""


def test_events_wait_for_the_state_and_a_cut_loads_no_other(page, line, backend):
    page.run(LOAD, {}, 0)
    await_true(lambda: page.run("return loads") == ["began"], "that the state is asked for")
    for number in (1, 2):
        backend.trigger("news", "new", number)
    await_true(lambda: sum('"event":"new"' in text for text in line.texts) == 2, "that they have arrived")
    assert page.new == []
    page.run("finish()")
    page.await_new([1, 2])
    assert [event for event, _ in page.heard] == ["loading", "loaded", "new", "new"]
    line.cut()
    backend.trigger("news", "new", 3)
    page.await_new([1, 2, 3])
    assert page.run("return loads") == ["began"]


def test_a_cut_while_the_state_loads_loses_nothing(page, line, backend):
    page.run(LOAD, {}, 0)
    await_true(lambda: page.run("return loads") == ["began"], "that the state is asked for")
    backend.trigger("news", "new", 1)
    await_true(lambda: any('"event":"new"' in text for text in line.texts), "that it has arrived")
    before = page.socket_id
    line.cut()
    backend.trigger("news", "new", 2)
    page.await_connection(after=before)
    page.await_subscribed("news")
    assert page.new == []
    page.run("finish()")
    page.await_new([1, 2])
    assert page.run("return loads") == ["began"]


def test_a_state_that_fails_to_load_is_loaded_again_and_never_live_before(page, backend):
    page.run(LOAD, {}, 2)
    await_true(lambda: len(page.run("return loads")) == 3, "the third attempt")
    backend.trigger("news", "new", 1)
    assert page.new == [] and len(page.run("return errors")) == 2
    page.run("finish()")
    page.await_new([1])


def test_events_that_are_in_the_state_do_not_come_again(page, line, backend):
    start = channel_position(backend, "news")
    page.run(LOAD, {}, 0)
    await_true(lambda: page.run("return loads") == ["began"], "that the state is asked for")
    for number in (1, 2, 3):
        backend.trigger("news", "new", number)
    await_true(lambda: any('"data":"3"' in text for text in line.texts), "that they have arrived")
    # The page shows nothing yet.
    assert page.position("news") is None
    page.run("statePosition = given[0]; finish()", {**start, "serial": start["serial"] + 2})
    page.await_new([3])


def test_events_between_an_older_state_and_the_subscription_arrive(page, backend):
    position = channel_position(backend, "news")
    for number in (1, 2):
        backend.trigger("news", "new", number)
    page.run(LOAD, {}, 0)
    await_true(lambda: page.run("return loads") == ["began"], "that the state is asked for")
    page.run("window.statePosition = given[0]; finish()", position)
    page.await_new([1, 2])
    assert page.run("return loads") == ["began"]


def test_a_page_goes_on_where_its_state_was(page, backend):
    """With the position that the backend has put into the page: nothing is loaded, nothing is missed."""
    position = channel_position(backend, "news")
    for number in (1, 2):
        backend.trigger("news", "new", number)
    page.run(LOAD, {"position": position}, 0)
    page.await_new([1, 2])
    assert page.run("return loads") == []


def test_behind_a_gap_the_state_is_loaded_anew(browsers, site, script, tmp_path):
    with broker_with_recovery(tmp_path, messages_max=5) as broker, FrameLine(broker.port) as line:
        page = PusherPage(browsers[0], site, script, broker, line.port)
        page.run(LOAD, {}, 0)
        await_true(lambda: page.run("return loads") == ["began"], "that the state is asked for")
        page.run("finish()")
        line.close()
        page.await_cut()
        for number in range(8):
            backend_of(broker).trigger("news", "new", number)
        line.open()
        await_true(lambda: page.run("return loads") == ["began", "gap"], "that it is asked for again", seconds=40)
        backend_of(broker).trigger("news", "new", "behind it")
        page.run("finish()")
        page.await_new(["behind it"])


def test_a_position_that_is_none_is_refused_and_forgotten(page, line, backend):
    page.run("follow('news', { position: { stream: 'a b', serial: -1 } }, 'new', 'pusher:subscription_error')")
    await_true(lambda: page.heard_of("pusher:subscription_error"), "the refusal")
    assert page.heard_of("pusher:subscription_error")[0]["type"] == "InvalidPosition"
    line.cut()
    page.await_subscribed("news")
    backend.trigger("news", "new", 1)
    page.await_new([1])


def channel_position(backend, name):
    """The position of a channel's last message, as a backend puts it into a page."""
    return backend.channel_info(name, ["position"])["position"]
