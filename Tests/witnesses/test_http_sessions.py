"""Clients that cannot use WebSockets: sessions over HTTP, with a client of this test and with pusher-js where PUSHER_JS is its path."""

import http.client
import json
import os
from pathlib import Path

import pusher
import pytest

from http_session import HTTPSession
from programs import Broker, await_true
from pusher_page import PusherPage
from static_site import StaticSite

OPERATIONS = ["xhr_streaming", "xhr"]
BUNDLE = os.environ.get("PUSHER_JS")


@pytest.fixture(scope="module")
def broker():
    with Broker() as broker:
        yield broker


@pytest.fixture
def backend(broker):
    return pusher.Pusher(broker.app_id, broker.key, broker.secret, host="127.0.0.1", port=broker.port, ssl=False)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_events_arrive_in_order(broker, backend, operation):
    session = HTTPSession(broker.port, operation=operation)
    assert session.lines.get(timeout=5) == "o"
    assert json.loads(session.next()["data"])["socket_id"]
    session.subscribe("news")
    sent = [f"{number} ü€😀" + "x" * (number % 7) for number in range(200)]
    for text in sent:
        backend.trigger("news", "new", text)
    assert [session.next("new")["data"] for _ in sent] == sent
    session.close()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_nothing_is_lost_where_a_client_leaves_a_response(broker, backend, operation):
    session = HTTPSession(broker.port, operation=operation)
    session.subscribe("long")
    sent = [f"{number:05}" + "y" * 9_000 for number in range(200)]
    for text in sent:
        backend.trigger("long", "new", text)
    received = [session.next("new")["data"].strip('"') for _ in sent]
    assert [text[:5] for text in received] == [text[:5] for text in sent]
    assert session.responses > 5
    session.close()


def test_a_client_that_leaves_a_response_for_good_is_gone(broker, backend):
    session = HTTPSession(broker.port)
    session.subscribe("left")
    session.returns = False
    for _ in range(30):
        backend.trigger("left", "new", "z" * 9_500)
    await_true(lambda: not backend.channel_info("left")["occupied"], "the end of the session", seconds=20)
    assert session.responses == 1 and session.messages.qsize() > 25


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_client_with_an_unknown_key_is_told(broker, operation):
    session = HTTPSession(broker.port, key="nobody", operation=operation)
    assert session.next()["data"]["code"] == 4001
    await_true(lambda: session.closure, "a closure")
    assert session.closure[0] == 4001


def test_a_message_for_no_session_is_refused(broker):
    session = HTTPSession(broker.port)
    session.next()
    session.path = session.path[:-1] + ("0" if session.path[-1] != "0" else "1")
    assert session.send({"event": "pusher:ping", "data": {}}) == 404


def test_a_page_of_another_origin_may_ask(broker):
    connection = http.client.HTTPConnection("127.0.0.1", broker.port)
    headers = {"Origin": "http://page.example", "Access-Control-Request-Method": "POST"}
    connection.request("OPTIONS", "/pusher/app/app-key/1/abcdefgh/xhr_send", headers=headers)
    response = connection.getresponse()
    assert response.status == 204
    assert response.headers["Access-Control-Allow-Origin"] == "http://page.example"
    assert "POST" in response.headers["Access-Control-Allow-Methods"]
    assert response.headers["Access-Control-Allow-Credentials"] is None


@pytest.fixture(scope="module")
def script():
    if BUNDLE is None:
        pytest.skip("PUSHER_JS names no bundle of pusher-js")
    with StaticSite({"/pusher.js": Path(BUNDLE).read_text()}) as site:
        yield f"{site.url}/pusher.js"


@pytest.mark.parametrize("transport", ["xhr_streaming", "xhr_polling"])
def test_a_stock_page_gets_every_event(browsers, site, script, broker, backend, transport):
    page = PusherPage(
        browsers[0], site, script, broker, broker.port, has_add_on=False,
        enabledTransports=[transport], httpHost="127.0.0.1", httpPort=broker.port,
    )
    page.follow("private-news", "new")
    for number in range(100):
        backend.trigger("private-news", "new", f"{number:03}" + "z" * 9_000)
    await_true(lambda: len(page.heard_of("new")) == 100, "all events", seconds=60)
    assert [text[:3] for text in page.heard_of("new")] == [f"{number:03}" for number in range(100)]
