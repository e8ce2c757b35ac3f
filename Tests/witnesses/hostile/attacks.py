"""What a client with nothing but the app's public key may send.

Each attack is a function that runs once: it connects, sends, and returns. `Attackers` repeats them at a bounded rate, so that
the clients measured beside them compete with the broker's work, not with the attackers' own.
"""

import base64
import json
import os
import random
import secrets
import socket
import string
import time

import websocket

#: U+0301 and U+0323 in UTF-8: a string of them is one character, whose normalisation is quadratic in its length.
MARKS = "\u0301\u0323"
#: Numbers at the edges of 32, 53, 63 and 64 bits, as JSON.
EDGES = [
    "0", "-1", "1", "2147483648", "9007199254740991", "9007199254740992", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "18446744073709551616", "1e400", "-1e400", "0.5", "1E2",
]
#: Seconds that a connection may take to be made or to answer.
TIMEOUT = 10


class Target:
    """The address of the broker, and the names that attackers know."""

    def __init__(self, port, key, busy_channel):
        """`busy_channel`: a public channel on which the broker stores messages."""
        self.port, self.key, self.busy_channel = port, key, busy_channel

    def connect(self, token=None):
        """A WebSocket; with a session token, if one is given."""
        path = f"/r/{token}/app/{self.key}" if token else f"/app/{self.key}"
        return websocket.create_connection(f"ws://127.0.0.1:{self.port}{path}?protocol=7", timeout=TIMEOUT)

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)


def token():
    """A valid session token: the time in base 36, a dash, and random characters."""
    milliseconds, text = int(time.time() * 1000), ""
    while milliseconds:
        milliseconds, digit = divmod(milliseconds, 36)
        text = (string.digits + string.ascii_lowercase)[digit] + text
    return f"{text}-{secrets.token_hex(16)}"


def subscription(channel, members=""):
    """`members`: further members of the data, as JSON that begins with a comma."""
    return f'{{"event":"pusher:subscribe","data":{{"channel":{json.dumps(channel)}{members}}}}}'


def combining_marks(target):
    """Long texts of combining marks in each place that takes a text."""
    marks = "x" + MARKS * 60_000
    data = {"channel": "private-x", "auth": "x:y"}
    messages = [{"event": marks}, {"event": "client-" + marks, "channel": "x"}, {"event": "pusher:subscribe", "data": {"channel": marks}}]
    for name in ("auth", "channel_data", "channel"):
        messages.append({"event": "pusher:subscribe", "data": {**data, name: marks}})
    messages.append({"event": "pusher:signin", "data": {"auth": marks, "user_data": marks[:1000]}})
    connection = target.connect()
    for message in messages:
        connection.send(json.dumps(message, ensure_ascii=random.random() < 0.5))
    connection.close()


def numbers_at_the_edge(target):
    """Integers at every edge in every member that takes one."""
    connection = target.connect()
    forms = [
        ',"position":{{}},"rewind":{{"seconds":{0}}}', ',"position":{{}},"rewind":{{"count":{0}}}',
        ',"position":{{"stream":"x","serial":{0}}}', ',"position":{0}', ',"rewind":{0}',
    ]
    for number in random.sample(EDGES, 5):
        for form in forms:
            connection.send(subscription(target.busy_channel, form.format(number)))
            connection.send(f'{{"event":"pusher:unsubscribe","data":{{"channel":"{target.busy_channel}"}}}}')
    connection.close()


def opened_streams(target):
    """A connection that subscribes to a thousand stored channels with positions, and leaves."""
    connection = target.connect()
    for number in range(1_000):
        connection.send(subscription(f"stored-{secrets.token_hex(6)}-{number}", ',"position":{}'))
    connection.close()


def parked_sessions(target):
    """A session with a thousand channels, left behind."""
    connection = target.connect(token())
    for number in range(1_000):
        connection.send(subscription(f"stored-{number}"))
    connection.close()


def unread_replays(target):
    """Connections that ask for all kept messages and read none."""
    connections = [target.connect() for _ in range(10)]
    for connection in connections:
        connection.send(subscription(target.busy_channel, ',"position":{},"rewind":{"count":10000}'))
    time.sleep(1)
    for connection in connections:
        connection.sock.close()


def forged_signatures(target):
    """Subscriptions with wrong signatures, until the broker has had enough."""
    connection = target.connect()
    for number in range(300):
        auth = f"{target.key}:{secrets.token_hex(32)}"
        connection.send(subscription(f"presence-{number}", f',"auth":"{auth}","channel_data":"{{\\"user_id\\":1}}"'))
    connection.close()


def early_departures(target):
    """Unsubscribes from channels that it is not subscribed to."""
    connection = target.connect()
    for number in range(300):
        connection.send(f'{{"event":"pusher:unsubscribe","data":{{"channel":"x-{number}"}}}}')
    connection.close()


def malformed_frames(target):
    """An upgrade, then bytes that are no frames."""
    with target.raw() as connection:
        key = base64.b64encode(os.urandom(16)).decode()
        connection.sendall(
            f"GET /app/{target.key}?protocol=7 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        connection.recv(1024)
        connection.sendall(random.choice([b"\x81\xff" + b"\xff" * 8, b"\xc1\x80" * 100, b"\x01\x80\0\0\0\0" * 5_000, os.urandom(4_000)]))


def unfinished_requests(target):
    """Heads that never end, heads that are no heads, and queries without a signature."""
    connections = [target.raw() for _ in range(10)]
    for connection in connections:
        connection.sendall(
            random.choice(
                [
                    b"GET /apps/1/channels HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 2_000, os.urandom(500),
                    b"GET /apps/1/channels/x/history?before=0&auth_key=" + target.key.encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                ]
            )
        )
    time.sleep(0.2)
    for connection in connections:
        connection.close()


def guessed_passwords(target):
    """Passwords at the console, where one is served at this port, and requests of its page without a session."""
    for path, body in (("/console/session", b'{"password":"guess"}'), ("/console/webhooks", b""), ("/", b"")):
        with target.raw() as connection:
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            connection.recv(1024)


def churn(target):
    """Connections that end at once, with and without a reset."""
    for _ in range(20):
        connection = target.connect()
        if random.random() < 0.5:
            connection.sock.close()
        else:
            connection.close()


ATTACKS = (
    combining_marks, numbers_at_the_edge, opened_streams, parked_sessions, unread_replays, forged_signatures, early_departures,
    malformed_frames, unfinished_requests, guessed_passwords, churn,
)
