"""The record of one subscriber, and the commands by which a program of subscribers is asked for it."""

import json
import sys
import threading

#: No less than what a replayed message counts beside its data, in bytes: its envelope, and 256.
MESSAGE_LENGTH = 512


class SubscriberLog:
    """What one client has got, by channel; `checker` describes the entries."""

    def __init__(self, channels):
        self._entries = {channel: [] for channel in channels}
        self._lasts = dict.fromkeys(channels, 0)
        self._lock = threading.Lock()
        # Of what came since the last ping.
        self._length = 0

    def received(self, channel, data):
        """A message, whose data begins with its number."""
        number = int(data.split(" ", 1)[0])
        with self._lock:
            self._length += len(data) + MESSAGE_LENGTH
            entries = self._entries[channel]
            last = entries[-1] if entries else None
            if last and last[0].__class__ is int and last[1] == number - 1:
                last[1] = number
            else:
                entries.append([number, number, None])
            self._lasts[channel] = number

    def add(self, channel, entry):
        with self._lock:
            self._entries[channel].append(entry)

    def opened(self):
        """A connection was established."""
        self._barrier(lambda: ["open"])

    def asked(self):
        """The broker asked for a confirmation."""
        self._barrier(lambda: ["ping", self._length])

    def _barrier(self, entry):
        with self._lock:
            for entries in self._entries.values():
                entries.append(entry())
            self._length = 0

    @property
    def lasts(self):
        """The last number of each channel."""
        with self._lock:
            return dict(self._lasts)

    @property
    def report(self):
        with self._lock:
            return {channel: list(entries) for channel, entries in self._entries.items()}


def serve(logs, are_ready):
    """Prints `ready`, then answers the lines of standard input until it ends.

    `lasts`: the smallest last number of each channel, as JSON. `report`: a JSON object of logs by channel for each client,
    then `end`.
    """
    if not are_ready():
        raise SystemExit("not all subscriptions were confirmed")
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "lasts":
            lasts = [log.lasts for log in logs]
            print("lasts", json.dumps({name: min(each[name] for each in lasts) for name in lasts[0]}), flush=True)
        elif line.strip() == "report":
            for log in logs:
                print("log", json.dumps(log.report), flush=True)
            print("end", flush=True)
