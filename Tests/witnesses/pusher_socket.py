"""A WebSocket that speaks the Pusher protocol by hand: for tests of what stands between it and the broker."""

import json
import ssl

import websocket


class PusherSocket:
    """A connection, greeted by the broker."""

    def __init__(self, url, key, trusts_anybody=False):
        options = {"cert_reqs": ssl.CERT_NONE, "check_hostname": False} if trusts_anybody else None
        self._socket = websocket.create_connection(f"{url}/app/{key}?protocol=7", timeout=20, sslopt=options)
        greeting = self.receive()
        assert greeting["event"] == "pusher:connection_established", greeting
        self.socket_id = json.loads(greeting["data"])["socket_id"]

    def receive(self):
        """The next message."""
        return json.loads(self._socket.recv())

    def send(self, event, data):
        self._socket.send(json.dumps({"event": event, "data": data}))

    def subscribe(self, channel, **grant):
        """Subscribes with what an endpoint has granted; returns the data of the acknowledgement."""
        self.send("pusher:subscribe", {"channel": channel, **grant})
        answer = self.receive()
        assert answer["event"] == "pusher_internal:subscription_succeeded", answer
        return json.loads(answer["data"])

    def answer_ping(self):
        self.send("pusher:pong", {})

    def wait_for_ever(self):
        """Silence is no failure from now on."""
        self._socket.settimeout(None)

    def stay(self):
        """Reads what comes and answers pings, as clients do, until the connection ends."""
        self.wait_for_ever()
        try:
            while True:
                if self.receive()["event"] == "pusher:ping":
                    self.answer_ping()
        except (websocket.WebSocketException, OSError, ValueError):
            pass

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
