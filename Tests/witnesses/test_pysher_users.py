"""Users, by the official HTTP library of Python: signed in, sent to, and sent away."""

import json

from programs import await_true
from pysher_session import Session

RUNS_AT_TWO_NODES = True


def test_its_signature_signs_a_user_in(publisher, broker):
    user = {"id": "ann", "user_info": {"name": "Żółć"}}
    with Session(broker) as session:
        answer = session.sign_in(publisher, user)
        assert json.loads(answer["user_data"]) == user


def test_another_s_signature_signs_nobody_in_and_leaves_the_connection_open(publisher, broker):
    with Session(broker, "news") as thief, Session(broker) as owner:
        stolen = publisher.authenticate_user(owner.socket_id, {"id": "ann"})
        event, data = thief.say("pusher:signin", stolen)
        assert event == "pusher:error"
        assert isinstance(data["message"], str)


def test_events_reach_a_user_on_every_device_and_nobody_else(publisher, broker):
    channel = "#server-to-user-ann"
    with Session(broker) as phone, Session(broker) as laptop, Session(broker, "news") as stranger:
        for device in (phone, laptop):
            device.sign_in(publisher, {"id": "ann"})
            device.join(channel)
        stranger.sign_in(publisher, {"id": "bob"})
        publisher.send_to_user("ann", "greeting", "for ann")
        for device in (phone, laptop):
            assert device.next() == (channel, "greeting", "for ann")
        publisher.trigger("news", "greeting", "for all")
        assert stranger.next() == ("news", "greeting", "for all")


def test_the_connections_of_a_user_are_terminated_and_no_others(publisher, broker):
    with Session(broker, "news") as ann, Session(broker, "news") as bob:
        ann.sign_in(publisher, {"id": "ann"})
        bob.sign_in(publisher, {"id": "bob"})
        assert publisher.terminate_user_connections("ann") == {}
        event, data = ann.answers.get(timeout=10)
        assert (event, data["code"]) == ("pusher:error", 4009)
        await_true(lambda: ann.is_closed, "that the connection is closed")
        publisher.trigger("news", "greeting", "still here")
        assert bob.next() == ("news", "greeting", "still here")


def test_terminating_the_connections_of_nobody_succeeds(publisher):
    assert publisher.terminate_user_connections("nobody") == {}
