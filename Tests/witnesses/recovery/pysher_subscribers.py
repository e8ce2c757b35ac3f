"""Pysher clients, which record what they get: `python pysher_subscribers.py --help`."""

import argparse
import json
import sys
import threading

import pysher

from subscriber_log import SubscriberLog, serve


class Client:
    """One Pysher client, subscribed to all channels; with a token, the broker keeps its place."""

    def __init__(self, host, port, key, channels, token, log):
        self._log = log
        self._missing = set(channels)
        self.is_ready = threading.Event()
        # Pysher has no option for a path: the token follows the key.
        key = f"{key}/r/{token}" if token else key
        self._pusher = pysher.Pusher(key=key, custom_host=host, port=port, secure=False, reconnect_interval=0.3)
        self._pusher.connection.bind("pusher:connection_established", self._connected, channels)
        self._pusher.connection.bind("pusher:ping", lambda _: log.asked())
        self._pusher.connection.bind("pusher:error", lambda data: print("error", data, file=sys.stderr, flush=True))
        self._pusher.connect()

    def _connected(self, _, channels):
        self._log.opened()
        for name in channels:
            # Bound on the thread that receives: nothing arrives before.
            channel = self._pusher.subscribe(name)
            channel.bind("pusher_internal:subscription_succeeded", self._subscribed, name)
            channel.bind("message", self._received, name)
            channel.bind("pusher:gap", self._gap_told, name)

    def _subscribed(self, _, name):
        self._missing.discard(name)
        if not self._missing:
            self.is_ready.set()

    def _received(self, data, name):
        self._log.received(name, data)

    def _gap_told(self, data, name):
        self._log.add(name, ["gap", json.loads(data).get("reason", "")])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--key", default="app-key")
    parser.add_argument("--channels", required=True, help="names, separated by commas")
    parser.add_argument("--token", action="append", default=[], help="of one client; empty for a client without one")
    options = parser.parse_args()
    channels = options.channels.split(",")
    logs = [SubscriberLog(channels) for _ in options.token]
    clients = [
        Client(options.host, options.port, options.key, channels, token, log)
        for token, log in zip(options.token, logs)
    ]
    serve(logs, lambda: all(client.is_ready.wait(30) for client in clients))


if __name__ == "__main__":
    main()
