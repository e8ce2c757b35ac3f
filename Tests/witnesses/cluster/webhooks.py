"""What a backend is told of who comes to a presence channel and leaves it, by whichever node leads."""

import json
import threading

from webhook_receiver import Receiver

from .members import CHANNEL

KINDS = {"member_added": True, "member_removed": False}


class Attendance:
    """Keeps what webhooks say of each user.

    Delivery is at least once, with the same ID, so what was told already is only counted.
    """

    def __init__(self):
        self._receiver = Receiver()
        self._told = {}
        self._ids = set()
        #: How many transitions were told, and how many again.
        self.transitions = self.repeats = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def endpoint(self):
        """The app's webhook."""
        return {"url": self._receiver.url, "events": list(KINDS)}

    def _read(self):
        while (webhook := self._receiver.next(timeout=None)) is not None:
            fields, body = webhook
            ids = fields["X-Fanfare-Webhook-ID"].split(",")
            events = json.loads(body)["events"]
            with self._lock:
                assert len(ids) == len(events), webhook
                for identifier, event in zip(ids, events):
                    self._receive(identifier, event)

    def _receive(self, identifier, event):
        if identifier in self._ids:
            self.repeats += 1
            return
        self._ids.add(identifier)
        self.transitions += 1
        assert event["channel"] == CHANNEL, event
        self._told.setdefault(event["user_id"], []).append(KINDS[event["name"]])

    @property
    def present(self):
        """The users who are there by what was told."""
        with self._lock:
            return {user for user, told in self._told.items() if told[-1]}

    @property
    def violations(self):
        """Who is said to have come twice, or to have left twice."""
        with self._lock:
            return [
                f"{user}: told {'present' if former else 'gone'} twice in a row"
                for user, told in sorted(self._told.items())
                for former, next_one in zip([False, *told], told)
                if former == next_one
            ]

    def close(self):
        self._receiver.close()
