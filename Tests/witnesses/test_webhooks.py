"""Webhooks of the built broker, judged by the official `pusher` library."""

import json

import pusher
import pytest

from programs import Broker
from pysher_client import Subscriber
from webhook_receiver import Receiver


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def telling_broker(receiver, tmp_path):
    """A broker whose app tells the receiver."""
    configuration = tmp_path / "fanfare.json"  # JSON is YAML as well.
    app = {
        "id": Broker.app_id,
        "key": Broker.key,
        "secret": Broker.secret,
        "features": {"client_events": True},
        "webhooks": [{"url": receiver.url}],
    }
    database = str(tmp_path / "webhooks.sqlite")
    configuration.write_text(json.dumps({"apps": [app], "webhooks": {"database": database}}))
    with Broker(configuration=configuration) as broker:
        yield broker


@pytest.fixture
def backend(telling_broker):
    return pusher.Pusher(
        app_id=telling_broker.app_id,
        key=telling_broker.key,
        secret=telling_broker.secret,
        host="127.0.0.1",
        port=telling_broker.port,
        ssl=False,
    )


def validated(backend, webhook):
    """The events of a webhook that the library has found to be genuine and fresh."""
    fields, body = webhook
    # By their exact names, as the library's documentation looks them up.
    payload = backend.validate_webhook(fields["X-Pusher-Key"], fields["X-Pusher-Signature"], body)
    assert payload, f"the library refuses {fields} {body}"
    assert fields["Content-Type"] == "application/json"
    return payload["events"]


def test_webhooks_are_genuine(telling_broker, receiver, backend):
    room = "presence-room"
    with Subscriber(telling_broker, room, user={"user_id": "żółć 🎺"}) as subscriber:
        assert validated(backend, receiver.next()) == [
            {"name": "channel_occupied", "channel": room}
        ]
        assert validated(backend, receiver.next()) == [
            {"name": "member_added", "channel": room, "user_id": "żółć 🎺"}
        ]
        subscriber.trigger(room, "client-greeting", {"text": "grüße 🎺"})
        [event] = validated(backend, receiver.next())
        assert json.loads(event.pop("data")) == {"text": "grüße 🎺"}
        assert event == {
            "name": "client_event",
            "channel": room,
            "event": "client-greeting",
            "socket_id": subscriber.socket_id,
            "user_id": "żółć 🎺",
        }
    # Who has left is told of a little later, unless they are back.
    assert validated(backend, receiver.next())[0]["name"] == "member_removed"
    assert validated(backend, receiver.next())[0]["name"] == "channel_vacated"


def test_a_webhook_that_was_changed_on_the_way_is_not_genuine(telling_broker, receiver, backend):
    with Subscriber(telling_broker, "news"):
        fields, body = receiver.next()
    key, signature = fields["X-Pusher-Key"], fields["X-Pusher-Signature"]
    assert backend.validate_webhook(key, signature, body)
    assert not backend.validate_webhook(key, signature, body.replace(b"news", b"gnus"))
    assert not backend.validate_webhook("another-key", signature, body)
