"""The room in several browsers: who is here, who is typing, pointers, and messages that the broker cannot read."""

import json
import os
import urllib.request
from pathlib import Path

import pytest

from contrast import faint_texts
from programs import Broker, Demos, Program, await_true
from room_page import RoomPage
from static_site import StaticSite


@pytest.fixture
def demos(broker):
    with Demos(broker.port) as demos:
        yield demos


@pytest.fixture
def pages(browsers, demos):
    """Ada's page and Grace's."""
    pages = [RoomPage(browser) for browser in browsers[:2]]
    for page, name in zip(pages, ("Ada", "Grace")):
        page.script_errors()
        page.enter(demos, name)
    for page in pages:
        await_true(lambda: len(page.people) == 2, "two people")
    yield pages
    for page in pages:
        assert page.script_errors() == []


def stored(demos):
    messages = json.load(urllib.request.urlopen(demos.url + "/room/messages", timeout=10))
    return [(message["name"], message["text"]) for message in messages]


def await_messages(demos, pages, *messages):
    def agree():
        return all(page.messages == list(messages) for page in pages) and stored(demos) == list(messages)

    await_true(agree, f"the messages {messages}", told=lambda: [page.messages for page in pages])


def test_each_sees_who_is_here_and_who_leaves(pages, browsers, demos):
    ada, grace = pages
    assert ada.people == ["Ada (you)", "Grace"]
    assert grace.people == ["Grace (you)", "Ada"]
    mary = RoomPage(browsers[2])
    mary.enter(demos, "Mary")
    for page in pages:
        await_true(lambda: set(page.people[1:]) >= {"Mary"}, "Mary")
    mary.open("about:blank")
    for page in pages:
        await_true(lambda: len(page.people) == 2, "that Mary has left")


def test_messages_reach_everyone(pages, demos):
    ada, grace = pages
    ada.say("Hello <b>Grace</b> ✓")
    await_messages(demos, pages, ("Ada", "Hello <b>Grace</b> ✓"))
    grace.say("Hello Ada")
    await_messages(demos, pages, ("Ada", "Hello <b>Grace</b> ✓"), ("Grace", "Hello Ada"))
    ada.reload()
    await_messages(demos, pages, ("Ada", "Hello <b>Grace</b> ✓"), ("Grace", "Hello Ada"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_whoever_has_written_it(pages, demos, scheme):
    ada, grace = pages
    grace.say("Hello")
    await_messages(demos, pages, ("Grace", "Hello"))
    grace.point(0.5, 0.2)
    await_true(lambda: ada.pointers, "Grace's pointer")
    eight = "const { hues } = await import('/people.js'); return [...hues([...'12345678']).values()]"
    with ada.colour_scheme(scheme):
        for hue in ada.run(eight):
            assert faint_texts(ada, hue) == [], hue


def test_the_broker_sees_no_message(pages, demos, broker):
    ada, grace = pages
    channel = "private-encrypted-room"
    with Program("fanfare", "listen", channel, "--json", "--url", broker.url) as listener:
        listener.await_line(f"subscribed to {channel}")
        ada.say("between us")
        event = json.loads(listener.await_line('"message"').string)
    await_true(lambda: ("Ada", "between us") in grace.messages, "the message")
    sealed = json.loads(event["data"])
    assert set(sealed) == {"nonce", "ciphertext"}
    # The page shows what the broker saw.
    await_true(lambda: json.loads(grace.content("#sealed")) == sealed, "the same data in the details")


def test_who_is_typing_is_seen_until_it_is_sent(pages, demos):
    ada, grace = pages
    ada.write("Hel")
    await_true(lambda: grace.text("#typing") == "Ada is typing …", "that Ada is typing")
    assert ada.text("#typing") == ""
    ada.say("lo")
    await_true(lambda: grace.text("#typing") == "", "that Ada is not typing any more")
    await_messages(demos, pages, ("Ada", "Hello"))


def test_pointers_are_where_they_are_and_go_with_their_owner(pages):
    ada, grace = pages
    for place in ((0.25, 0.5), (0.8, 0.3)):
        ada.point(*place)

        def is_there():
            x, y = grace.pointers.get("Ada", (-1, -1))
            return abs(x - place[0]) < 0.02 and abs(y - place[1]) < 0.02

        await_true(is_there, f"Ada's pointer at {place}", told=lambda: grace.pointers)
    assert "Ada" not in ada.pointers
    ada.open("about:blank")
    await_true(lambda: grace.pointers == {}, "that the pointer has gone")


def test_a_page_goes_offline_by_its_button_and_gets_what_came_meanwhile(pages, demos):
    ada, grace = pages
    grace.go_offline()
    await_true(lambda: ada.people == ["Ada (you)"], "that Grace is not here")
    for number in range(12):
        ada.say(f"Number {number}")
    await_true(lambda: len(stored(demos)) == 12, "twelve messages")
    grace.say("Mine")
    await_true(lambda: "This page is offline." in grace.problems, "that the page says so")
    assert grace.messages == [("Grace", "Mine")]
    grace.go_online()
    await_true(lambda: "12 changes while you were away." in grace.notices, "what came", told=lambda: grace.notices)
    await_true(lambda: {text for _, text in grace.messages} == {text for _, text in stored(demos)}, "all messages")
    assert len(stored(demos)) == 13
    await_true(lambda: grace.problems == "", "that nothing is wrong any more")


def test_a_backend_with_another_key_is_believed(browsers, broker):
    """Its database was in memory only: with it the key has gone, and open pages have the old one."""
    page = RoomPage(browsers[0])
    first = Demos(broker.port)
    page.enter(first, "Ada")
    page.say("Lost")
    await_messages(first, [page], ("Ada", "Lost"))
    assert first.stop() == 0
    with Demos(broker.port, port=first.port) as second:
        page.say("Hello")
        page.say("again")
        await_messages(second, [page], ("Ada", "Hello"), ("Ada", "again"))
        await_true(lambda: "not be decrypted" not in page.notices, "no complaint")


EVE = """
    const { key, host = location.hostname, port } = await (await fetch("/config.json")).json();
    const { Fanfare } = await import(`http://${host}:${port}/fanfare.js`);
    const eve = new Fanfare(key, { authorize: async ({ socketID, channel }) => (await fetch("/auth", {
        method: "POST", headers: { "content-type": "application/json" },
        body: JSON.stringify({ socket_id: socketID, channel_name: channel, user_id: "eve", user_name: "Eve" }),
    })).json() });
    const room = eve.subscribe("presence-room");
    await new Promise((resume) => { room.bind("pusher:subscription_succeeded", resume); eve.connect(); });
    for (const [event, data] of given[0]) room.trigger(event, data);
"""


def test_what_any_member_can_send_does_no_harm(pages):
    ada, grace = pages
    odd = [None, 7, {"page": 5}, {"page": "eve", "x": "0.5", "y": 0.5}, {"page": "eve", "x": 7, "y": 0.5}, {"page": "eve"}]
    events = [("client-pointer", data) for data in odd] + [("client-typing", None)]
    ada.run(EVE, [*events, ("client-pointer", {"page": "eve", "x": 0.5, "y": 0.25})])
    await_true(lambda: "Eve" in grace.pointers, "the one that is a place")
    assert list(grace.pointers) == ["Eve"]
    assert grace.text("#typing") == ""


@pytest.mark.parametrize("variable, is_opened", [("PUSHER_JS_WITH_ENCRYPTION", True), ("PUSHER_JS", False)])
def test_pusher_js_needs_its_build_with_encryption(browsers, broker, variable, is_opened):
    if not (path := os.environ.get(variable)):
        pytest.skip(f"{variable} names no bundle of pusher-js")
    ada, grace = [RoomPage(browser) for browser in browsers[:2]]
    with StaticSite({"/pusher.js": Path(path).read_text()}) as site, Demos(
        broker.port, pusher_js=f"{site.url}/pusher.js"
    ) as demos:
        ada.enter(demos, "Ada", "?client=pusher-js")
        grace.enter(demos, "Grace")
        grace.say("Hello")
        await_true(lambda: ("Grace", "Hello") in grace.messages, "the message")
        if is_opened:
            await_true(lambda: ("Grace", "Hello") in ada.messages, "the message")
        else:
            told = "New messages cannot be decrypted. This build of pusher-js has no encryption"
            await_true(lambda: told in ada.problems.replace("\n", " "), "why", told=lambda: ada.problems)
        # What is not encrypted works with either.
        ada.point(0.5, 0.5)
        await_true(lambda: "Ada" in grace.pointers, "Ada's pointer")
