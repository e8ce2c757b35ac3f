"""Webhooks to the servers that backends stand behind: nginx and Python's own."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import websocket

from programs import START_TIME_MAX, Broker, await_true
from web_server import WebServer
from webhook_receiver import Receiver


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver


def broker_for(url, folder, certificate=None):
    """A broker whose app tells one endpoint of channels that are occupied.

    It sends one webhook at a time: with several in flight, the next needs a second connection whenever an answer is
    still on its way.
    """
    app = {
        "id": Broker.app_id,
        "key": Broker.key,
        "secret": Broker.secret,
        "webhooks": [{"url": url, "events": ["channel_occupied"]}],
    }
    webhooks = {"in_flight_max": 1}
    if certificate:
        webhooks["trust"] = str(certificate.certificate)
    file = folder / "fanfare.json"  # JSON is YAML as well.
    file.write_text(json.dumps({"apps": [app], "webhooks": webhooks}))
    return Broker(configuration=file)


class Occupant:
    """A client that occupies one channel after the other, and leaves before the broker has to wait for it."""

    def __init__(self, broker):
        url = f"ws://127.0.0.1:{broker.port}/app/{broker.key}?protocol=7"
        self._socket = websocket.create_connection(url, timeout=START_TIME_MAX)

    def occupy(self, channel):
        self._socket.send(json.dumps({"event": "pusher:subscribe", "data": {"channel": channel}}))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()


def told_of(receiver, channel):
    """Waits for the webhook that tells of a channel; what is told twice is told the second time."""
    while True:
        [event] = json.loads(receiver.next()[1])["events"]
        if event["channel"] == channel:
            return


def occupy_and_await(broker, receiver, count, pause=0.0):
    with Occupant(broker) as occupant:
        for number in range(count):
            occupant.occupy(f"channel-{number}")
            told_of(receiver, f"channel-{number}")
            time.sleep(pause)


PROXY = "proxy_pass http://127.0.0.1:{port};"


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_nginx_gets_webhooks_over_one_kept_connection(receiver, tmp_path, certificate, secure):
    trusted = certificate if secure else None
    location = PROXY.format(port=receiver.port)
    with (
        WebServer(tmp_path, location, certificate=trusted) as server,
        broker_for(server.url, tmp_path, trusted) as broker,
    ):
        occupy_and_await(broker, receiver, 5)
        await_true(lambda: len(server.requests) == 5, "five requests are logged")
        assert len({connection for connection, *_ in server.requests}) == 1
        assert {(method, status) for _, method, status in server.requests} == {("POST", "200")}


@pytest.mark.parametrize(
    ("settings", "pause"),
    [
        ("keepalive_timeout 0;", 0),
        ("keepalive_requests 2;", 0),
        # The server closes while the connection is idle, and says nothing of it before.
        ("keepalive_timeout 1s;", 1.3),
        # It announces a time that is shorter than the client's.
        ("keepalive_timeout 2s 2s;", 1.3),
        ("lingering_close always;", 0),
    ],
)
def test_nginx_may_close_whenever_it_likes(receiver, tmp_path, settings, pause):
    location = PROXY.format(port=receiver.port)
    with (
        WebServer(tmp_path, location, settings) as server,
        broker_for(server.url, tmp_path) as broker,
    ):
        occupy_and_await(broker, receiver, 4, pause)
        await_true(lambda: len(server.requests) == 4, "each webhook came once")


def test_nginx_is_reloaded(receiver, tmp_path):
    location = PROXY.format(port=receiver.port)
    with (
        WebServer(tmp_path, location) as server,
        broker_for(server.url, tmp_path) as broker,
        Occupant(broker) as occupant,
    ):
        for number in range(12):
            server.reload()
            occupant.occupy(f"channel-{number}")
            told_of(receiver, f"channel-{number}")


@pytest.mark.parametrize(
    ("location", "settings", "status"),
    [
        ("return 204;", "", 204),
        ("return 200 'thank you';", "", 200),
        ("return 301 https://example.com/;", "", 301),
        # Refused by the length that is announced, before the content is read.
        ("proxy_pass http://127.0.0.1:9;", "client_max_body_size 1;", 413),
        ("proxy_pass http://127.0.0.1:9;", "", 502),
        # Closed without an answer.
        ("return 444;", "", 444),
    ],
)
def test_nginx_answers_by_itself(tmp_path, location, settings, status):
    with (
        WebServer(tmp_path, location, settings) as server,
        broker_for(server.url, tmp_path) as broker,
        Occupant(broker) as occupant,
    ):
        occupant.occupy("channel")
        if status < 300:
            await_true(lambda: server.requests, "a request is logged")
            # A second attempt would come within a second.
            time.sleep(1.2)
            assert [line[1:] for line in server.requests] == [["POST", str(status)]]
            assert "fails" not in "\n".join(broker.new_lines)
        else:
            reason = "the server closed the connection" if status == 444 else f"answered {status}"
            broker.await_line(f"webhook endpoint fails.*{reason}")


class PlainBackend:
    """Python's own server, as its documentation shows it, counting its connections."""

    def __init__(self, version, respond):
        self.bodies = []
        self.connection_count = 0
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = version

            def setup(self):
                backend.connection_count += 1
                super().setup()

            def do_POST(self):
                backend.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                respond(self)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def status_alone(handler):
    handler.send_response(200)
    handler.end_headers()


def with_length(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "2")
    handler.end_headers()
    handler.wfile.write(b"OK")


def with_much(handler):
    # More than is read of an answer.
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    with contextlib.suppress(OSError):
        handler.wfile.write(b"x" * 1_000_000)


def in_chunks(handler):
    handler.send_response_only(100)
    handler.end_headers()
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.send_header("Trailer", "X-Sum")
    handler.end_headers()
    handler.wfile.write(b"1;extension=1\r\nO\r\n1\r\nK\r\n0\r\nX-Sum: 7\r\n\r\n")


@pytest.mark.parametrize(
    ("version", "respond", "is_kept"),
    [
        ("HTTP/1.0", status_alone, False),
        ("HTTP/1.0", with_length, False),
        ("HTTP/1.1", with_length, True),
        ("HTTP/1.1", with_much, False),
        ("HTTP/1.1", in_chunks, True),
    ],
)
def test_pythons_server(tmp_path, version, respond, is_kept):
    with (
        PlainBackend(version, respond) as backend,
        broker_for(backend.url, tmp_path) as broker,
        Occupant(broker) as occupant,
    ):
        for number in range(4):
            occupant.occupy(f"channel-{number}")
            await_true(lambda: len(backend.bodies) == number + 1, "the webhook has come")
        assert backend.connection_count == (1 if is_kept else 4)
        assert "fails" not in "\n".join(broker.new_lines)


def test_a_backend_without_an_end_to_its_answer(tmp_path):
    # HTTP/1.1 without a length: the content ends with the connection, which the server keeps.
    with (
        PlainBackend("HTTP/1.1", status_alone) as backend,
        broker_for(backend.url, tmp_path) as broker,
        Occupant(broker) as occupant,
    ):
        for number in range(3):
            occupant.occupy(f"channel-{number}")
        await_true(lambda: len(backend.bodies) == 3, "the webhooks have come")
        time.sleep(1)
        assert len(backend.bodies) == 3
        assert "fails" not in "\n".join(broker.new_lines)
