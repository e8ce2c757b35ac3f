"""A subscriber by Pysher that can say what Pysher itself has no words for: signing in, and what is refused."""

import queue

from pysher.channel import Channel

from programs import START_TIME_MAX, await_true
from pysher_client import Subscriber


class Session(Subscriber):
    """Hears the protocol's own events too."""

    def __init__(self, broker, *channels, **options):
        self.answers = queue.Queue()
        super().__init__(broker, *channels, **options)
        for event in ("pusher:signin_success", "pusher:error"):
            self._pusher.connection.bind(event, self._answer(event))
        await_true(lambda: self.socket_id, "that the connection is established")

    def _answer(self, event):
        return lambda data: self.answers.put((event, data))

    def say(self, event, data):
        """Sends a message and waits for the protocol's answer: event and data."""
        self._pusher.connection.send_event(event, data)
        return self.answers.get(timeout=START_TIME_MAX)

    def sign_in(self, backend, user):
        """Signs in as a user with the backend's signature."""
        event, data = self.say("pusher:signin", backend.authenticate_user(self.socket_id, user))
        assert event == "pusher:signin_success", data
        return data

    def join(self, channel):
        """Subscribes to one more channel, without a signature."""
        subscribed = queue.Queue()
        # Pysher's own subscribe sends first and binds later, when the answer may have come already.
        joined = self._pusher.channels[channel] = Channel(channel, self._pusher.connection)
        joined.bind("pusher_internal:subscription_succeeded", subscribed.put)
        joined.bind("greeting", self._listener(channel, "greeting"))
        self._pusher.connection.send_event("pusher:subscribe", {"channel": channel, "auth": ""})
        subscribed.get(timeout=START_TIME_MAX)

    @property
    def is_closed(self):
        """Whether the connection has ended."""
        return self._pusher.connection.state == "disconnected"
