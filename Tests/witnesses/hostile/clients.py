"""The clients that must not notice: subscribers of stored channels, and a backend that triggers events on them."""

import json
import threading
import time

from pusher.http import GET, Request
from pusher.pusher_client import PusherClient

from pusher_socket import PusherSocket

#: Events a second, over all channels.
RATE = 20
CHANNELS = tuple(f"stored-orders-{number}" for number in range(4))
SUBSCRIBERS = 5


class Backend:
    """Triggers numbered events with the official library, and reads what the broker keeps."""

    def __init__(self, broker, ports, rate=RATE):
        self._rate = rate
        self._clients = [
            PusherClient(
                app_id=broker.app_id, key=broker.key, secret=broker.secret, host="127.0.0.1", port=port, ssl=False, timeout=10
            )
            for port in ports
        ]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._trigger_at_rate, daemon=True)
        #: The numbers of the events that the broker has acknowledged, by channel, and what it refused.
        self.acknowledged = {channel: [] for channel in CHANNELS}
        self.failures = []
        self._thread.start()

    def stop(self):
        self._stopping.set()
        self._thread.join()

    def _trigger_at_rate(self):
        start, number = time.monotonic(), 0
        while not self._stopping.wait(max(0, start + number / self._rate - time.monotonic())):
            channel, client = CHANNELS[number % len(CHANNELS)], self._clients[number % len(self._clients)]
            try:
                client.trigger(channel, "message", {"number": number, "sent": time.monotonic()})
                self.acknowledged[channel].append(number)
            except Exception as failure:  # Of several libraries below; each is a fault here.
                self.failures.append(f"event {number}: {failure!r}")
            number += 1

    def get(self, path, parameters=None):
        """What the broker answers to a query of the app."""
        client = self._clients[0]
        return client.http.send_request(Request(client, GET, f"/apps/{client.app_id}{path}", parameters or {}))

    def kept(self, channel):
        """The numbers of the events that the broker keeps of a channel, in order."""
        numbers, after = [], None
        while True:
            parameters = {"limit": "100", **({"after": after} if after else {})}
            page = self.get(f"/channels/{channel}/history", parameters)
            messages = page["messages"]
            numbers += [json.loads(message["data"])["number"] for message in messages if "data" in message]
            if not messages or not page.get("next"):
                return numbers
            after = str(page["next"])


class Subscriber:
    """Subscribes to every channel and records what arrives, when, and whether the connection ended."""

    def __init__(self, port, key, **options):
        """`options`: what each subscription says besides its channel."""
        self._socket = PusherSocket(f"ws://127.0.0.1:{port}", key)
        #: Numbers by channel, and (time of arrival, seconds since the trigger).
        self.received = {channel: [] for channel in CHANNELS}
        self.delays = []
        self.end = None
        for channel in CHANNELS:
            self._socket.subscribe(channel, **options)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            while True:
                message = self._socket.receive()
                if message["event"] == "pusher:ping":
                    self._socket.answer_ping()
                elif message["event"] == "message":
                    now, data = time.monotonic(), json.loads(message["data"])
                    self.received[message["channel"]].append(data["number"])
                    self.delays.append((now, now - data["sent"]))
        except Exception as failure:  # Any end of the connection is a finding.
            self.end = failure

    def close(self):
        self._socket.close()


def percentile(delays, share):
    """The delay, in milliseconds, that `share` of them do not exceed."""
    ordered = sorted(delays)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]
