#!/usr/bin/env python3
"""Measures what an open console costs beside 10,000 subscribers at full rate, and prints the table of docs/proof/benchmarks.md.

usage: console.py [--rounds N] [PROGRAM]

PROGRAM is the broker, `fanfare`; the release build unless given. One broker serves one load without end, while a page is open and
closed again and again, two seconds each, in the order closed, open, open, closed; the processor time of a delivery is compared.
So what drifts in between, as the clock rate of the processor, meets both, and both meet the same memory. What the console costs
while nobody looks is a matter of instructions: see instructions.sh. Exits with 1 when the row misses what must hold.
"""

import base64
import http.client
import json
import os
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse
import urllib.request

from local_broker import PORT, Broker
from rows import Row, main

LOAD = ("fanout", "--subscribers", 10_000, "--messages", 100_000, "--window", 1)
#: Closed and open, for so many seconds each.
ORDER, SLICE_SECONDS = "ABBA" * 6, 2
METRICS_PORT = PORT + 1
#: The development app, with which the console is at the broker's own port.
SETTINGS = {"APPS_0_ID": "1", "APPS_0_KEY": "app-key", "APPS_0_SECRET": "app-secret", "METRICS_PORT": str(METRICS_PORT)}
FIELDS = {"X-Fanfare-Console": "1"}


class Page(threading.Thread):
    """A page of the console without a browser: it reads until it is closed."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.batches = 0
        self._subscribed = threading.Event()

    def __enter__(self) -> "Page":
        self.start()
        if not self._subscribed.wait(30):
            raise SystemExit("The page is not subscribed.")
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.shutdown(socket.SHUT_RDWR)
        self.join(30)

    def run(self) -> None:
        session = json.loads(self._ask("GET", "/console/session"))
        with socket.create_connection(("127.0.0.1", PORT)) as connection:
            self._connection = connection
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


def deliveries() -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{METRICS_PORT}/metrics", timeout=30) as answer:
        return int(re.search(r"^fanfare_events_delivered_total (\d+)", answer.read().decode(), re.M)[1])


class Cost:
    """The broker's processor time for a delivery, over several slices of time."""

    def __init__(self, broker: Broker):
        self._broker = broker
        self._seconds, self._deliveries = 0.0, 0

    def measure(self) -> None:
        count, cpu = deliveries(), self._broker.cpu
        time.sleep(SLICE_SECONDS)
        used = self._broker.cpu - cpu
        self._seconds += used.loops + used.others
        self._deliveries += deliveries() - count

    @property
    def per_delivery(self) -> float:
        return self._seconds / self._deliveries


def growth(program: str) -> float:
    """By how much a delivery costs more beside an open page, in percent."""
    with Broker(program, 1, SETTINGS) as broker, broker.load(*LOAD):
        # Behind the connecting, and the first events.
        while deliveries() < 100_000:
            time.sleep(0.1)
        closed, opened = Cost(broker), Cost(broker)
        for case in ORDER:
            if case == "A":
                closed.measure()
                continue
            with Page() as page:
                opened.measure()
            # A page that sees nothing would cost nothing.
            if page.batches < 4:
                raise SystemExit(f"The page has got {page.batches} batches of events.")
    return 100 * (opened.per_delivery / closed.per_delivery - 1)


ROWS = [Row("open console: CPU per delivery to 10,000 subscribers, more than while nobody looks", "%", 1, 0.5, growth)]

if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], ROWS, rounds=5))
