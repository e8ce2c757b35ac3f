"""Members of a presence channel on all nodes, and what each of them believes."""

import hashlib
import hmac
import json
import random
import threading
import time

import websocket

CHANNEL = "presence-room"


class Member:
    """A user with a connection that comes back whenever it ends."""

    def __init__(self, user, port, app):
        """`port`: of the load balancer."""
        self.user = user
        self._url = f"ws://127.0.0.1:{port}/app/{app.key}?protocol=7"
        self._app = app
        #: The members that it believes in; None while it is not subscribed.
        self.believed = None
        self._connection = None
        self._is_leaving = False
        self._thread = threading.Thread(target=self._stay, daemon=True)
        self._thread.start()

    def leave(self):
        self._is_leaving = True
        if self._connection:
            self._connection.close()
        self._thread.join(10)

    def _stay(self):
        while not self._is_leaving:
            try:
                self._connection = websocket.create_connection(self._url, timeout=5)
                while not self._is_leaving:
                    self._receive(json.loads(self._connection.recv() or "{}"))
            except (OSError, ValueError, websocket.WebSocketException):
                pass
            self.believed = None
            if not self._is_leaving:
                time.sleep(0.1)

    def _receive(self, message):
        event, data = message.get("event"), message.get("data")
        if event == "pusher:connection_established":
            self._subscribe(json.loads(data)["socket_id"])
        elif event == "pusher:ping":
            self._send({"event": "pusher:pong", "data": {}})
        elif event == "pusher_internal:subscription_succeeded":
            self.believed = set(json.loads(data)["presence"]["ids"])
        elif event == "pusher_internal:member_added":
            self.believed.add(json.loads(data)["user_id"])
        elif event == "pusher_internal:member_removed":
            self.believed.discard(json.loads(data)["user_id"])

    def _subscribe(self, socket_id):
        info = json.dumps({"user_id": self.user, "user_info": {"name": self.user}})
        text = f"{socket_id}:{CHANNEL}:{info}"
        code = hmac.new(self._app.secret.encode(), text.encode(), hashlib.sha256).hexdigest()
        data = {"channel": CHANNEL, "channel_data": info, "auth": f"{self._app.key}:{code}"}
        self._send({"event": "pusher:subscribe", "data": data})

    def _send(self, message):
        self._connection.send(json.dumps(message))


class Room:
    """A channel whose members come and go."""

    #: Seconds for which a member is away: long enough to have left, which three seconds are not.
    AWAY_TIME = 4

    def __init__(self, balancer_port, app, count):
        self._port, self._app = balancer_port, app
        self.members = {}
        for number in range(count):
            self._enter(f"user-{number}")
        self._is_settling = threading.Event()
        self._visitor = threading.Thread(target=self._come_and_go, daemon=True)
        self._visitor.start()

    def _enter(self, user):
        self.members[user] = Member(user, self._port, self._app)

    def _come_and_go(self):
        while not self._is_settling.is_set():
            user = random.choice(list(self.members))
            self.members.pop(user).leave()
            self._is_settling.wait(self.AWAY_TIME)
            self._enter(user)
            self._is_settling.wait(1)

    def settle(self):
        """From here on nobody comes or goes by himself."""
        self._is_settling.set()
        self._visitor.join()

    def disagreements(self):
        """Who believes in other members than there are."""
        truth = set(self.members)
        return {
            user: sorted(truth ^ member.believed) if member.believed is not None else "not subscribed"
            for user, member in self.members.items() if member.believed != truth
        }

    def leave(self, count):
        for user in sorted(self.members)[:count]:
            self.members.pop(user).leave()

    def end(self):
        self.settle()
        self.leave(len(self.members))
