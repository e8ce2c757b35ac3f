"""The official HTTP library of Python, `pusher`, unchanged."""

import pusher
import pusher.errors
import pytest

from programs import await_true
from pysher_client import Subscriber

RUNS_AT_TWO_NODES = True


def test_trigger_is_accepted(publisher):
    assert publisher.trigger("news", "greeting", {"text": "hello"}) == {}


def test_trigger_reaches_a_subscriber(publisher, broker):
    with Subscriber(broker, "news") as subscriber:
        publisher.trigger("news", "greeting", {"text": "grüße 🎺"})
        channel, event, data = subscriber.next()
    assert (channel, event) == ("news", "greeting")
    assert data == '{"text": "grüße 🎺"}' or data == r'{"text": "gr\u00fc\u00dfe \ud83c\udfba"}'


def test_trigger_on_several_channels(publisher, broker):
    with Subscriber(broker, "one", "two") as subscriber:
        publisher.trigger(["one", "two"], "greeting", "hello")
        assert {subscriber.next()[0] for _ in range(2)} == {"one", "two"}


def test_trigger_leaves_out_the_socket_that_caused_it(publisher, broker):
    with Subscriber(broker, "news") as author, Subscriber(broker, "news") as reader:
        publisher.trigger("news", "greeting", "not for the author", author.socket_id)
        publisher.trigger("news", "farewell", "for all")
        assert reader.next()[1] == "greeting"
        assert author.next()[1] == "farewell"


def test_batch_keeps_its_order(publisher, broker):
    with Subscriber(broker, "news") as subscriber:
        publisher.trigger_batch(
            [{"channel": "news", "name": "greeting", "data": str(n)} for n in range(10)]
        )
        assert [subscriber.next()[2] for _ in range(10)] == [str(n) for n in range(10)]


def test_occupied_channels_are_listed(publisher, broker):
    with Subscriber(broker, "room-1", "room-2", "hall"):
        channels = publisher.channels_info(prefix_filter="room-")["channels"]
        assert set(channels) == {"room-1", "room-2"}


def test_channel_tells_whether_it_is_occupied(publisher, broker):
    with Subscriber(broker, "room-3"):
        assert publisher.channel_info("room-3")["occupied"] is True
    assert publisher.channel_info("never-entered")["occupied"] is False


def test_its_signature_lets_into_a_private_channel(publisher, broker):
    with Subscriber(broker, "private-vault", backend=publisher) as subscriber:
        publisher.trigger("private-vault", "greeting", "psst")
        assert subscriber.next() == ("private-vault", "greeting", "psst")


def test_users_are_counted_and_listed(publisher, broker):
    hall = "presence-hall"
    # The one before the test over another transport may still be leaving.
    await_true(lambda: publisher.users_info(hall) == {"users": []}, "that the hall is empty")
    with Subscriber(broker, hall, user={"user_id": 7}), Subscriber(broker, hall, user={"user_id": 7}):
        assert publisher.users_info(hall) == {"users": [{"id": "7"}]}
        assert publisher.channel_info(hall, ["user_count"]) == {"occupied": True, "user_count": 1}
        channels = publisher.channels_info("presence-h", ["user_count"])["channels"]
        assert channels == {hall: {"user_count": 1}}


def test_wrong_secret_is_refused(broker):
    stranger = pusher.Pusher(
        app_id=broker.app_id, key=broker.key, secret="wrong",
        host="127.0.0.1", port=broker.port, ssl=False,
    )
    with pytest.raises(pusher.errors.PusherBadAuth):
        stranger.trigger("news", "greeting", {})


def test_unknown_app_is_refused(broker):
    stranger = pusher.Pusher(
        app_id="404", key=broker.key, secret=broker.secret,
        host="127.0.0.1", port=broker.port, ssl=False,
    )
    with pytest.raises(pusher.errors.PusherError):
        stranger.trigger("news", "greeting", {})
