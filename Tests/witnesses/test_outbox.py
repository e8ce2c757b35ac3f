"""The demos' outbox: what was changed while the broker was away is published, whatever ended in between."""

import json
import threading

import websocket

from programs import START_TIME_MAX, Broker, Demos, await_true
from table_page import post


class Subscriber:
    """A client of one channel, which keeps the events of one name."""

    def __init__(self, broker, channel, event):
        self.received = []
        url = f"ws://127.0.0.1:{broker.port}/app/{broker.key}?protocol=7"
        self._socket = websocket.create_connection(url, timeout=START_TIME_MAX)
        subscription = {"event": "pusher:subscribe", "data": {"channel": channel}}
        self._socket.send(json.dumps(subscription))
        while json.loads(self._socket.recv())["event"] != "pusher_internal:subscription_succeeded":
            pass
        threading.Thread(target=self._read, args=[event], daemon=True).start()

    def _read(self, event):
        try:
            while text := self._socket.recv():
                message = json.loads(text)
                if message["event"] == event:
                    self.received.append(json.loads(message["data"])["name"])
        except (OSError, websocket.WebSocketException):
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()


def test_a_killed_backend_publishes_what_it_has_changed(tmp_path):
    database = tmp_path / "demos.sqlite"
    names = [f"User {number}" for number in range(20)]
    with Broker() as broker, Demos(broker.port, database=database) as demos:
        port = broker.port
        broker.kill()
        for name in names:
            post(demos, "/add", name=name, deviceId="phone")
        demos.await_line("addUser waits for the broker|list_changed waits for the broker")
        demos.kill()

    with Broker(port=port) as broker, Subscriber(broker, "userslist", "addUser") as subscriber:
        with Demos(port, database=database) as demos:
            post(demos, "/add", name="Last", deviceId="phone")
            await_true(lambda: "Last" in subscriber.received, "the last event is received")
            assert subscriber.received == [*names, "Last"]
