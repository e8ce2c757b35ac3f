#!/usr/bin/env python3
"""Measures what the console costs beside 10,000 subscribers at full rate, and prints the table of docs/proof/benchmarks.md.

usage: console.py [--rounds N] [--only WORD…] [PROGRAM]

PROGRAM is the broker, `fanfare`; the release build unless given. Each round runs the same load four times, in the order A, B, B,
A, against a broker started anew, and compares the processor time of a delivery: B is the row's case, A what it is compared with.
So what drifts in between, as the clock rate of the processor, meets both. Exits with 1 when a row misses what must hold.
"""

import base64
import http.client
import json
import os
import socket
import struct
import sys
import threading
import urllib.parse

from local_broker import PORT, Broker
from rows import Row, main

LOAD = ("fanout", "--subscribers", 10_000, "--messages", 1_000, "--window", 1)
APP = {"APPS_0_ID": "1", "APPS_0_KEY": "app-key"}
#: The development app, with which the console is at the broker's own port.
WITH_CONSOLE = {**APP, "APPS_0_SECRET": "app-secret", "SECRET": "app-secret"}
WITHOUT_CONSOLE = {**APP, "APPS_0_SECRET": "another-secret", "SECRET": "another-secret"}
FIELDS = {"X-Fanfare-Console": "1"}


class Page(threading.Thread):
    """A page of the console without a browser: it reads until the broker ends."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.batches = 0
        self._subscribed = threading.Event()
        self.start()
        if not self._subscribed.wait(30):
            raise SystemExit("The page is not subscribed.")

    def run(self) -> None:
        session = json.loads(self._ask("GET", "/console/session"))
        with socket.create_connection(("127.0.0.1", PORT)) as connection:
            messages = self._messages(connection, session["key"])
            established = json.loads(json.loads(next(messages))["data"])
            body = urllib.parse.urlencode(
                {"socket_id": established["socket_id"], "channel_name": session["channel"]}
            )
            auth = json.loads(self._ask("POST", "/console/authorize", body))["auth"]
            message = {"event": "pusher:subscribe", "data": {"channel": session["channel"], "auth": auth}}
            connection.sendall(frame(0x1, json.dumps(message).encode()))
            for text in messages:
                event = json.loads(text)["event"]
                self.batches += event == "events"
                if event == "pusher_internal:subscription_succeeded":
                    self._subscribed.set()

    @staticmethod
    def _ask(method: str, path: str, body: str | None = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        try:
            connection.request(method, path, body, FIELDS)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200:
                raise SystemExit(f"{method} {path}: {answer.status} {content.decode()}")
            return content
        finally:
            connection.close()

    @staticmethod
    def _messages(connection: socket.socket, key: str):
        """The text messages of an app's client, until the broker closes the connection; pings are answered."""
        nonce = base64.b64encode(os.urandom(16)).decode()
        connection.sendall(
            f"GET /app/{key}?protocol=7 HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {nonce}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        stream = connection.makefile("rb")
        while stream.readline() not in (b"\r\n", b""):
            pass
        while head := stream.read(2):
            length = head[1]
            if length == 126:
                (length,) = struct.unpack(">H", stream.read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", stream.read(8))
            content = stream.read(length)
            opcode = head[0] & 0xF
            if opcode == 0x1:
                yield content
            elif opcode == 0x9:
                connection.sendall(frame(0xA, content))
            elif opcode == 0x8:
                return


def frame(opcode: int, content: bytes) -> bytes:
    """A masked frame (RFC 6455 §5.2) with a masking key of zeros."""
    length = len(content)
    head = bytes([0x80 | opcode, 0x80 | length]) if length < 126 else struct.pack(">BBH", 0x80 | opcode, 0xFE, length)
    return head + bytes(4) + content


def cost(program: str, settings: dict[str, str], is_open: bool = False) -> float:
    """The broker's processor time for a delivery, in microseconds."""
    with Broker(program, 1, settings) as broker:
        page = Page() if is_open else None
        result = broker.bench(*LOAD)
    # A page that sees nothing would cost nothing.
    if page and page.batches < 4:
        raise SystemExit(f"The page has got {page.batches} batches of events.")
    return result["server_cpu_us_per_delivery"]


def growth(former, latter) -> float:
    """By how much `latter` costs more than `former`, in percent, of pairs in the order A, B, B, A."""
    first, second, third, fourth = former(), latter(), latter(), former()
    return 100 * ((second + third) / (first + fourth) - 1)


def absent(program: str) -> float:
    return growth(lambda: cost(program, WITHOUT_CONSOLE), lambda: cost(program, WITH_CONSOLE))


def present(program: str) -> float:
    return growth(lambda: cost(program, WITH_CONSOLE), lambda: cost(program, WITH_CONSOLE, is_open=True))


ROWS = [
    Row("console that nobody looks at: CPU per delivery to 10,000 subscribers, more than without one", "%", 0.5, 0, absent),
    Row("console open: CPU per delivery to 10,000 subscribers, more than while nobody looks", "%", 1, 0.5, present),
]

if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], ROWS, rounds=5))
