"""Users: a client that is signed in, and a backend that has the official HTTP library of Python."""

import pusher.errors
import pytest

from programs import Program


def test_an_event_reaches_a_signed_in_user(publisher, broker):
    with Program("fanfare", "listen", "--user", "ann", "--url", broker.url) as listener:
        listener.await_line("subscribed to #server-to-user-ann")
        assert publisher.send_to_user("ann", "greeting", "hello") == {}
        assert listener.await_line("greeting").string.endswith("#server-to-user-ann greeting hello")


def test_a_user_is_sent_away(publisher, broker):
    with Program("fanfare", "listen", "--user", "bob", "--url", broker.url) as listener:
        listener.await_line("signed in as bob")
        assert publisher.terminate_user_connections("bob") == {}
        listener.await_line("4009")


def test_sending_nobody_away_is_no_error(publisher):
    assert publisher.terminate_user_connections("nobody") == {}


def test_an_id_that_nobody_can_have_is_refused(publisher):
    with pytest.raises((ValueError, pusher.errors.PusherBadRequest)):
        publisher.terminate_user_connections("a b")
