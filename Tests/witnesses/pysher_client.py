"""A subscriber by Pysher whose events can be waited for."""

import json
import queue

import pysher

from programs import START_TIME_MAX

EVENTS = ("greeting", "farewell")
MEMBER_ADDED = "pusher_internal:member_added"
MEMBER_REMOVED = "pusher_internal:member_removed"


class Subscriber:
    """Subscribed to `channels`, to presence channels as `user`; `backend` signs for private ones instead of Pysher.

    Listens to `events`, and to members who come and go.
    """

    def __init__(self, broker, *channels, secure=False, user=None, backend=None, events=EVENTS):
        self.events = queue.Queue()
        self._pusher = pysher.Pusher(
            key=broker.key,
            custom_host="localhost" if secure else getattr(broker, "host", "127.0.0.1"),
            port=broker.tls_port if secure else broker.port,
            secure=secure,
            secret=broker.secret,
            user_data=user,
            reconnect_interval=1,
        )
        subscribed = queue.Queue()
        self.socket_id = None
        self._channels = {}

        def connected(data):
            self.socket_id = json.loads(data)["socket_id"]
            for name in channels:
                auth = backend and backend.authenticate(name, self.socket_id)["auth"]
                channel = self._channels[name] = self._pusher.subscribe(name, auth)
                channel.bind("pusher_internal:subscription_succeeded", subscribed.put)
                for event in (*events, MEMBER_ADDED, MEMBER_REMOVED):
                    channel.bind(event, self._listener(name, event))

        self._pusher.connection.bind("pusher:connection_established", connected)
        self._pusher.connect()
        self.acknowledgements = [
            json.loads(subscribed.get(timeout=START_TIME_MAX)) for _ in channels
        ]

    def _listener(self, channel, event):
        return lambda data: self.events.put((channel, event, data))

    def next(self):
        """The next event: channel, name and data."""
        return self.events.get(timeout=START_TIME_MAX)

    def trigger(self, channel, event, data):
        """Sends an event to the others on a channel."""
        self._channels[channel].trigger(event, data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Pysher's thread ends when its socket does, at times seconds later; no test needs that end.
        self._pusher.disconnect(timeout=0.2)
