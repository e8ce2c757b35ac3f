"""Two pages with stock pusher-js, each at another node of one app: everything is as at one broker.

With the unmodified bundle that PUSHER_JS names; skipped without.
"""

import os
from pathlib import Path

import pusher
import pytest

from programs import await_true
from pusher_page import PusherPage
from static_site import StaticSite
from two_nodes import TwoNodes

BUNDLE = os.environ.get("PUSHER_JS")

pytestmark = pytest.mark.skipif(BUNDLE is None, reason="PUSHER_JS names no bundle of pusher-js")

MEMBERS = "return Object.keys(pusher.channel(given[0]).members.members).sort()"


@pytest.fixture(scope="module")
def nodes():
    with TwoNodes() as both:
        yield both.nodes


@pytest.fixture(scope="module")
def script():
    with StaticSite({"/pusher.js": Path(BUNDLE).read_text()}) as site:
        yield f"{site.url}/pusher.js"


@pytest.fixture
def pages(nodes, browsers, site, script):
    """Ann at the first node, Bob at the second."""
    return [
        PusherPage(browser, site, script, node, node.port, has_add_on=False, userID=user)
        for browser, node, user in zip(browsers, nodes, ("ann", "bob"))
    ]


@pytest.fixture
def backends(nodes):
    return [
        pusher.Pusher(node.app_id, node.key, node.secret, host="127.0.0.1", port=node.port, ssl=False) for node in nodes
    ]


def test_presence_lists_agree(pages, backends):
    ann, bob = pages
    room = "presence-room"
    ann.follow(room, "pusher:member_added", "pusher:member_removed")
    bob.follow(room)
    await_true(lambda: ann.run(MEMBERS, room) == ["ann", "bob"], "both members at the first node")
    assert bob.run(MEMBERS, room) == ["ann", "bob"]
    for backend in backends:
        assert {user["id"] for user in backend.users_info(room)["users"]} == {"ann", "bob"}
    bob.run("pusher.unsubscribe(given[0])", room)
    await_true(lambda: ann.run(MEMBERS, room) == ["ann"], "that Bob has left")
    assert [member["id"] for member in ann.heard_of("pusher:member_added")] == ["bob"]
    assert [member["id"] for member in ann.heard_of("pusher:member_removed")] == ["bob"]


def test_client_events_cross_the_nodes_and_do_not_come_back(pages):
    ann, bob = pages
    for page in pages:
        page.follow("private-talk", "client-said")
    for number in range(8):
        ann.run("pusher.channel('private-talk').trigger('client-said', given[0])", number)
    await_true(lambda: len(bob.heard) == 8, "the client events", told=lambda: bob.heard)
    assert bob.heard_of("client-said") == list(range(8))
    bob.run("pusher.channel('private-talk').trigger('client-said', 'done')")
    await_true(lambda: ann.heard, "the answer")
    assert ann.heard_of("client-said") == ["done"]


def test_the_excluded_connection_may_be_at_the_other_node(pages, backends):
    ann, bob = pages
    for page in pages:
        page.follow("news", "new")
    backends[1].trigger("news", "new", "from ann", socket_id=ann.socket_id)
    backends[0].trigger("news", "new", "for both")
    bob.await_new(["from ann", "for both"])
    ann.await_new(["for both"])


def test_subscriptions_are_counted_over_both_nodes(pages, backends):
    ann, bob = pages
    ann.follow("hall", "pusher:subscription_count")
    bob.follow("hall")

    def counts():
        return [data["subscription_count"] for data in ann.heard_of("pusher:subscription_count")]

    await_true(lambda: counts()[-1:] == [2], "the count of both", told=counts)
    for backend in backends:
        assert backend.channel_info("hall", ["subscription_count"]) == {"occupied": True, "subscription_count": 2}


def test_a_user_is_reached_and_sent_away_from_any_node(pages, backends):
    ann, bob = pages
    for page in pages:
        page.run("pusher.user.bind('greeting', (data) => heard.push(['greeting', data])); pusher.signin()")
        await_true(lambda: page.run("return pusher.user.user_data?.id"), "that the user has signed in")
    former = bob.socket_id
    backends[0].send_to_user("bob", "greeting", "hello")
    await_true(lambda: bob.heard_of("greeting") == ["hello"], "the event for Bob")
    backends[0].terminate_user_connections("bob")
    # The client library does not come back by itself behind 4009.
    await_true(lambda: bob.socket_id != former or bob.state != "connected", "that Bob's connection has ended")
    assert ann.state == "connected" and ann.heard_of("greeting") == []
