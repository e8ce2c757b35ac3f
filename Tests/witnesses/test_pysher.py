"""The WebSocket library of Python, Pysher, unchanged: it receives over ws and wss."""

import json

import pusher
import pytest

from programs import Broker, await_true
from pysher_client import MEMBER_ADDED, MEMBER_REMOVED, Subscriber

RUNS_AT_TWO_NODES = True


@pytest.mark.parametrize("secure", [False, True], ids=["ws", "wss"])
def test_receives_every_event_in_order(broker, publisher, trusting, secure):
    with Subscriber(broker, "orders", secure=secure) as subscriber:
        for number in range(50):
            publisher.trigger("orders", "greeting", str(number))
        received = [subscriber.next() for _ in range(50)]
    assert received == [("orders", "greeting", str(number)) for number in range(50)]


@pytest.mark.parametrize("secure", [False, True], ids=["ws", "wss"])
def test_receives_what_a_subscription_names_and_nothing_else(broker, publisher, trusting, secure):
    with Subscriber(broker, "mine", secure=secure) as subscriber:
        publisher.trigger("yours", "greeting", "no")
        publisher.trigger("mine", "greeting", "yes")
        assert subscriber.next() == ("mine", "greeting", "yes")


def test_joins_a_private_channel_that_it_signs_for_itself(broker, publisher):
    with Subscriber(broker, "private-room") as subscriber:
        publisher.trigger("private-room", "greeting", "psst")
        assert subscriber.next() == ("private-room", "greeting", "psst")


def test_sees_who_comes_and_goes(broker):
    room = "presence-room"
    ann = {"user_id": 10, "user_info": {"name": "Ann"}}
    bob = {"user_id": "bob", "user_info": {"name": "Żółć"}}
    with Subscriber(broker, room, user=ann) as first:
        # Another device of the same user is no news.
        with Subscriber(broker, room, user=ann), Subscriber(broker, room, user=bob) as second:
            presence = second.acknowledgements[0]["presence"]
            assert set(presence["ids"]) == {"10", "bob"} and presence["count"] == 2
            assert presence["hash"] == {"10": {"name": "Ann"}, "bob": {"name": "Żółć"}}
            channel, event, data = first.next()
            assert (channel, event, json.loads(data)) == (room, MEMBER_ADDED, bob)
        channel, event, data = first.next()
        assert (channel, event, json.loads(data)) == (room, MEMBER_REMOVED, {"user_id": "bob"})


def test_comes_back_when_the_broker_does():
    first = Broker()
    with Subscriber(first, "news") as subscriber:
        assert first.stop() == 0
        with Broker(port=first.port) as second:
            publisher = pusher.Pusher(
                app_id=second.app_id, key=second.key, secret=second.secret,
                host="127.0.0.1", port=second.port, ssl=False,
            )

            def occupied():
                return "news" in publisher.channels_info()["channels"]

            await_true(occupied, "that Pysher subscribes again")
            publisher.trigger("news", "greeting", "back")
            assert subscriber.next() == ("news", "greeting", "back")
