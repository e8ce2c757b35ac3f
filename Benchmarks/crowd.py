#!/usr/bin/env python3
"""Measures what others wait for while clients of a node subscribe to many channels, and while all of them are looked at.

A node on Redis, five subscribers and a backend that triggers events, and in a process of its own 20 clients with 5,000 channels
each. Prints, by what happens, the delays of the events from the trigger to the subscriber, and the p99 as a multiple of that of
the node without the 20 clients. Redis must be installed, and the witnesses' libraries (`make test`).
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("FANFARE_BUILD", str(ROOT / ".build" / "release"))
sys.path.insert(0, str(ROOT / "Tests" / "witnesses"))

from cluster.servers import RedisServer  # noqa: E402
from hostile.clients import SUBSCRIBERS, Backend, Subscriber, percentile  # noqa: E402
from programs import Broker, await_true  # noqa: E402
from pusher_socket import PusherSocket  # noqa: E402

CLIENTS, CHANNELS = 20, 5_000
#: Events a second.
RATE = 100
#: The p99 as a multiple of the quiet node's, at most.
RATIO = 2


class Crowd:
    """The clients with many channels, in a process whose CPU time does not delay the measured clients."""

    def __init__(self, port):
        self._pipe, end = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=self._run, args=(port, end), daemon=True)
        self._process.start()

    def subscribe(self):
        self._pipe.send("subscribe")
        self._pipe.recv()

    def leave(self):
        """Ends all connections at once."""
        self._process.kill()

    @staticmethod
    def _run(port, pipe):
        os.nice(15)
        sockets = []
        while pipe.recv():
            for client in range(CLIENTS):
                socket = PusherSocket(f"ws://127.0.0.1:{port}", Broker.key)
                sockets.append(socket)
                granted = threading.Event()
                threading.Thread(target=Crowd._read, args=(socket, granted), daemon=True).start()
                for channel in range(client * CHANNELS, (client + 1) * CHANNELS):
                    socket.send("pusher:subscribe", {"channel": f"c{channel}"})
                granted.wait(120)
            pipe.send(len(sockets))

    @staticmethod
    def _read(socket, granted):
        count = 0
        while True:
            event = socket.receive()["event"]
            if event == "pusher:ping":
                socket.answer_ping()
            count += event == "pusher_internal:subscription_succeeded"
            if count == CHANNELS:
                granted.set()


class Node:
    """A node with one loop, and its Redis."""

    def __init__(self, stack):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.redis = RedisServer()
        stack.callback(self.redis.end)
        file = folder / "broker.json"  # JSON is YAML as well.
        configuration = {
            "loops": 1, "log": {"level": "warning"}, "metrics": {"port": 0},
            "apps": [{"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret, "recovery": {}}],
            "cluster": {"engine": "redis", "redis": {"urls": [f"redis://127.0.0.1:{self.redis.port}"]}},
        }
        file.write_text(json.dumps(configuration))
        self.broker = Broker(configuration=file)
        stack.callback(self.broker.kill)
        metrics = next(line for line in self.broker.lines if "/metrics" in line)
        self.metrics_url = next(word for word in metrics.split() if word.endswith("/metrics"))
        self.backend = Backend(Broker, [self.broker.port])

    def list_channels(self):
        names = self.backend.get("/channels")["channels"]
        assert len(names) >= CLIENTS * CHANNELS, len(names)

    def scrape(self):
        with urllib.request.urlopen(self.metrics_url) as answer:
            answer.read()

    def lose_redis(self):
        """Redis ends the connections of the node, which makes others."""
        for kind in ("normal", "pubsub"):
            self.redis.command("CLIENT", "KILL", "TYPE", kind)

    @property
    def channel_count(self):
        return len(self.backend.get("/channels")["channels"])


def main():
    options = parse()
    with ExitStack() as stack:
        node = Node(stack)
        backend = Backend(Broker, [node.broker.port], rate=RATE)
        subscribers = [Subscriber(node.broker.port, Broker.key) for _ in range(SUBSCRIBERS)]
        crowd = Crowd(node.broker.port)

        def last(seconds=options.seconds):
            time.sleep(seconds)

        def repeat(action, pause):
            end = time.monotonic() + options.seconds
            while time.monotonic() < end:
                action()
                time.sleep(pause)

        def lose():
            node.lose_redis()
            last()

        def leave():
            crowd.leave()
            last(max(20, options.seconds))

        phases = [
            ("without the clients (quiet)", last),
            (f"{CLIENTS} clients subscribe to {CHANNELS:,} channels each", crowd.subscribe),
            (f"{CLIENTS * CHANNELS:,} channels, nothing else", last),
            ("`GET /channels`, without a pause", lambda: repeat(node.list_channels, 0)),
            ("ten scrapes a second", lambda: repeat(node.scrape, 0.1)),
            ("Redis ends the node's connections", lose),
            ("the clients leave", leave),
        ]
        print("| What happens | seconds | median, ms | p99, ms | longest, ms | p99 ÷ quiet |\n| --- | --- | --- | --- | --- | --- |")
        quiet = None
        for title, action in phases:
            begin = time.monotonic()
            action()
            end = time.monotonic()
            delays = [delay for one in subscribers for at, delay in one.delays if begin <= at - delay < end]
            p99 = percentile(delays, 0.99)
            quiet = quiet or p99
            figures = [percentile(delays, 0.5), p99, 1000 * max(delays), p99 / quiet]
            print(f"| {title} | {end - begin:.0f} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |", flush=True)
        backend.stop()
        await_true(lambda: node.channel_count < 10, "the channels are vacant")
        for one in subscribers:
            missing = sum(len(set(backend.acknowledged[channel]) - set(one.received[channel])) for channel in one.received)
            assert not one.end and not missing, (one.end, missing)
        refused = len(backend.failures)
        print(f"Nothing was lost; {refused} triggers were refused while Redis was away." if refused else "Nothing was lost.")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30, help="the length of each phase (30)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
