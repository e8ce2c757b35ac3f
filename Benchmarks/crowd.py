#!/usr/bin/env python3
"""Measures what others wait for while clients of a node subscribe to many channels, and while all of them are looked at.

A node on Redis, five subscribers and a backend that triggers events, and in another process 20 clients with 5,000 channels
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

from pusher.pusher_client import PusherClient  # noqa: E402

from cluster.servers import RedisServer  # noqa: E402
from hostile.clients import SUBSCRIBERS, Backend, Subscriber, percentile  # noqa: E402
from ports import free_port  # noqa: E402
from programs import Broker, await_true  # noqa: E402
from pusher_socket import PusherSocket  # noqa: E402

CLIENTS, CHANNELS = 20, 5_000
#: Events a second.
RATE = 100
#: The p99 as a multiple of the quiet node's, at most.
RATIO = 2


class Others:
    """The clients that are not measured, in a process whose CPU time does not delay the measured clients."""

    def __init__(self, *arguments):
        self._pipe, end = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=self._run, args=(end, *arguments), daemon=True)
        self._process.start()

    def do(self, *command):
        """Runs a method of the process to its end."""
        self._pipe.send(command)
        if (failure := self._pipe.recv()) is not None:
            raise failure

    def leave(self):
        """Ends all connections at once."""
        self._process.kill()

    @staticmethod
    def _run(pipe, *arguments):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        crowd = Crowd(*arguments)
        while True:
            name, *values = pipe.recv()
            try:
                getattr(crowd, name)(*values)
                pipe.send(None)
            except Exception as failure:  # It is raised where it was asked for.
                pipe.send(failure)


class Crowd:
    """The clients with many channels, and who looks at them."""

    def __init__(self, port, metrics_url):
        self._port, self._metrics_url = port, metrics_url
        self._sockets = []

    def subscribe(self):
        for client in range(CLIENTS):
            socket = PusherSocket(f"ws://127.0.0.1:{self._port}", Broker.key)
            self._sockets.append(socket)
            granted = threading.Event()
            threading.Thread(target=self._read, args=(socket, granted), daemon=True).start()
            for channel in range(client * CHANNELS, (client + 1) * CHANNELS):
                socket.send("pusher:subscribe", {"channel": f"c{channel}", "position": {}})
            assert granted.wait(120), "not all channels are granted in 120 s"

    @staticmethod
    def _read(socket, granted):
        for _ in range(CHANNELS):
            event = socket.receive()["event"]
            assert event == "pusher_internal:subscription_succeeded", event
        granted.set()
        socket.stay()

    def list(self, seconds):
        """Lists all channels, again and again."""
        client = PusherClient(
            app_id=Broker.app_id, key=Broker.key, secret=Broker.secret, host="127.0.0.1", port=self._port, ssl=False, timeout=10
        )
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert len(client.channels_info()["channels"]) >= CLIENTS * CHANNELS

    def scrape(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            urllib.request.urlopen(self._metrics_url).read()
            time.sleep(0.1)


class Node:
    """A node with one loop, and its Redis."""

    def __init__(self, stack):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.redis = RedisServer()
        stack.callback(self.redis.end)
        # What the disk costs is not measured.
        self.redis.command("CONFIG", "SET", "appendonly", "no")
        metrics_port = free_port()
        file = folder / "broker.json"  # JSON is YAML as well.
        configuration = {
            "loops": 1, "log": {"level": "warning"}, "metrics": {"port": metrics_port},
            "apps": [{"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret, "recovery": {}}],
            "cluster": {"engine": "redis", "redis": {"urls": [f"redis://127.0.0.1:{self.redis.port}"]}},
        }
        file.write_text(json.dumps(configuration))
        self.broker = Broker(configuration=file)
        stack.callback(self.broker.kill)
        self.metrics_url = f"http://127.0.0.1:{metrics_port}/metrics"

    def lose_redis(self):
        """Redis ends the connections of the node, which makes others."""
        for kind in ("normal", "pubsub"):
            self.redis.command("CLIENT", "KILL", "TYPE", kind)


def main():
    options = parse()
    with ExitStack() as stack:
        node = Node(stack)
        subscribers = [Subscriber(node.broker.port, Broker.key, position={}) for _ in range(SUBSCRIBERS)]
        backend = Backend(Broker, [node.broker.port], rate=RATE)
        others = Others(node.broker.port, node.metrics_url)

        def last(seconds=options.seconds):
            time.sleep(seconds)

        def lose():
            node.lose_redis()
            last()

        def leave():
            others.leave()
            last(max(20, options.seconds))

        phases = [
            ("without the clients (quiet)", last),
            (f"{CLIENTS} clients subscribe to {CHANNELS:,} channels each", lambda: others.do("subscribe")),
            # Each minute the messages that are too old are removed from all of them.
            (f"{CLIENTS * CHANNELS:,} channels, nothing else", lambda: last(max(75, options.seconds))),
            ("`GET /channels`, without a pause", lambda: others.do("list", options.seconds)),
            ("ten scrapes a second", lambda: others.do("scrape", options.seconds)),
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
        await_true(lambda: len(backend.get("/channels")["channels"]) < 10, "the channels are vacant")
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
