#!/usr/bin/env python3
"""Measures what several nodes cost and how fast they recover, and prints the table of docs/proof/benchmarks.md.

usage: cluster.py [--rounds N] [--only WORD…] [PROGRAM]

PROGRAM is the broker, `fanfare`; the release build unless given. Redis (redis-server, or Debian's redis-tools) runs on the same
machine as the nodes and the load. Each round starts every server anew; the table has the medians. Exits with 1 when a row
misses what must hold.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from local_broker import Broker
from rows import Row, main

FIRST_PORT, REDIS_PORT, METRICS_PORT = 18151, 18160, 18161
APP = {"APPS_0_ID": "1", "APPS_0_KEY": "app-key", "APPS_0_SECRET": "app-secret", "APPS_0_MEMBERS_MAX": "100000"}
ATTACHED, CHANNELS, MEMBERS = 100_000, 100, 100
#: As many as a process may have descriptors for on most machines.
MOVED = 19_000


class Redis:
    """A server without persistence."""

    def __enter__(self) -> "Redis":
        self._folder = tempfile.TemporaryDirectory()
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(REDIS_PORT), "--save", "", "--dir", self._folder.name,
             "--stream-node-max-bytes", "1024"],
            executable=program, stdout=subprocess.DEVNULL,
        )
        while self.command("PING") != "PONG":
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._folder.cleanup()

    @property
    def cpu(self) -> float:
        """Seconds of processor time that it has used so far."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9

    def command(self, *arguments: str) -> str:
        done = subprocess.run(["redis-cli", "-p", str(REDIS_PORT), *arguments], capture_output=True, text=True)
        return done.stdout.strip()


def node(program: str, number: int, loops: int = 1, **settings: str) -> Broker:
    cluster = {
        "CLUSTER_ENGINE": "redis", "CLUSTER_NODE": f"node-{number}",
        "CLUSTER_REDIS_URLS_0": f"redis://127.0.0.1:{REDIS_PORT}", "METRICS_PORT": str(METRICS_PORT + number),
    }
    return Broker(program, loops, {**APP, **cluster, **settings}, FIRST_PORT + number)


def metric(number: int, name: str) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{METRICS_PORT + number}/metrics") as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(f"{name} "):
                return int(float(line.split()[1]))
    return 0


# CPU


def local(program: str, name: str, *arguments: object) -> dict:
    with Broker(program, 1, APP) as broker:
        return broker.bench(name, *arguments)


def remote(program: str, name: str, *arguments: object) -> dict:
    """The costs of a node whose events are triggered on another."""
    with Redis(), node(program, 0) as publishing, node(program, 1) as receiving:
        return receiving.bench(name, "--backend-url", publishing.url, *arguments)


def shared(program: str, name: str, *arguments: object) -> dict:
    """The costs of a node with publishers and subscribers."""
    with Redis(), node(program, 0) as both:
        return both.bench(name, *arguments)


def ratio(here: dict, there: dict) -> float:
    return here["server_cpu_us_per_delivery"] / there["server_cpu_us_per_delivery"]


FANOUT = ("fanout", "--subscribers", 1_000, "--messages", 1_000, "--window", 1)


def channels(subscribers: int, messages: int = 20_000) -> tuple:
    return ("channels", "--channels", 500, "--subscribers", subscribers, "--messages", messages, "--window", 64)


MANY = channels(4)
SINGLE = channels(1)
PACED = ("fanout", "--subscribers", 1, "--messages", 10_000, "--rate", 1_000)


def per_message(program: str) -> float:
    """A message with one subscriber costs the node a message and a delivery; the latter is what a larger fan-out costs."""
    one = remote(program, *SINGLE)["server_cpu_us_per_delivery"]
    delivery = remote(program, *FANOUT)["server_cpu_us_per_delivery"]
    return one - delivery


def delay(program: str, percentile: str) -> float:
    return remote(program, *PACED)["latency_us"][percentile] / 1e3


# Recovery


def frame(message: dict) -> bytes:
    """A masked text frame (RFC 6455 §5.2) with a masking key of zeros."""
    data = json.dumps(message).encode()
    head = bytes([0x81, 0x80 | len(data)]) if len(data) < 126 else bytes([0x81, 0xFE]) + struct.pack(">H", len(data))
    return head + bytes(4) + data


async def client(port: int, messages) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that has sent what `messages` makes of its socket ID."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    key = base64.b64encode(os.urandom(16)).decode()
    writer.write(
        f"GET /app/app-key?protocol=7 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    await reader.readuntil(b"\r\n\r\n")
    established = await reader.readuntil(b"activity_timeout")
    socket_id = established.split(b'socket_id\\":\\"')[1].split(b"\\")[0].decode()
    for message in messages(socket_id):
        writer.write(frame(message))
    await writer.drain()
    return reader, writer


async def ignore(reader: asyncio.StreamReader) -> None:
    while await reader.read(1 << 16):
        pass


async def attach(port: int, count: int) -> list:
    """Subscribes `count` channels over as many connections as it takes."""
    part = 1_000
    kept = []
    for start in range(0, count, part):
        names = [f"channel-{number}" for number in range(start, min(start + part, count))]
        reader, writer = await client(
            port, lambda _: ({"event": "pusher:subscribe", "data": {"channel": name}} for name in names)
        )
        kept.append((writer, asyncio.create_task(ignore(reader))))
    return kept


def caught_up(program: str) -> float:
    """From the cut of all connections to Redis until the node is attached to all channels again."""

    async def measure(redis: Redis) -> float:
        kept = await attach(FIRST_PORT, ATTACHED)
        while metric(0, "fanfare_cluster_attached_channels") < ATTACHED:
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        begin = time.monotonic()
        redis.command("CLIENT", "KILL", "TYPE", "pubsub")
        while metric(0, "fanfare_cluster_attached_channels") == ATTACHED:
            await asyncio.sleep(0.01)
        # The broker counts its channels for each answer, so it is not asked more often.
        while metric(0, "fanfare_cluster_attached_channels") < ATTACHED:
            await asyncio.sleep(0.1)
        seconds = time.monotonic() - begin
        assert len(kept) == ATTACHED / 1_000
        return seconds

    with Redis() as redis, node(program, 0, loops=2):
        return asyncio.run(measure(redis))


def membership(channel: str, user: str):
    def subscription(socket_id: str):
        data = json.dumps({"user_id": user})
        text = f"{socket_id}:{channel}:{data}"
        code = hmac.new(b"app-secret", text.encode(), hashlib.sha256).hexdigest()
        details = {"channel": channel, "channel_data": data, "auth": f"app-key:{code}"}
        yield {"event": "pusher:subscribe", "data": details}

    return subscription


def reaped(program: str) -> float:
    """From a node's death until clients of another node have the last notice of its members' departure."""

    async def notices(reader: asyncio.StreamReader, event: bytes) -> None:
        for _ in range(MEMBERS):
            await reader.readuntil(event)

    async def measure(dying: Broker) -> float:
        kept, watchers = [], []
        for name in (f"presence-{number}" for number in range(CHANNELS)):
            watchers.append(await client(FIRST_PORT + 1, membership(name, "watcher")))
            await watchers[-1][0].readuntil(b"subscription_succeeded")
            for number in range(MEMBERS):
                kept.append(await client(FIRST_PORT, membership(name, f"user-{number}")))
                asyncio.create_task(ignore(kept[-1][0]))
        await asyncio.gather(*(notices(reader, b"pusher_internal:member_added") for reader, _ in watchers))
        begin = time.monotonic()
        dying.kill()
        await asyncio.gather(*(notices(reader, b"pusher_internal:member_removed") for reader, _ in watchers))
        return time.monotonic() - begin

    with Redis(), node(program, 0) as dying, node(program, 1):
        return asyncio.run(measure(dying))


def moved(program: str) -> float:
    """From the loss of all connections to a node until their clients have everything again at another one."""
    with Redis(), node(program, 0, loops=2) as left, node(program, 1, loops=2) as other:
        found = left.bench(
            "offline", "--clients", MOVED, "--away", 0.5, "--rate", 10, "--within", 60, "--return-url", other.url,
            "--backend-url", other.url,
        )
    assert found["lost"] == 0 and found["gaps"] == 0, found
    return found["recovered_s"]


# Throughput

FEW, MESSAGES = 1_000, 40_000


def store_cpu(program: str, keeps: bool) -> float:
    """Redis's CPU time for an event of a node, against that for the same command of `redis-benchmark`.

    How many events a store takes is what one core of it takes, whatever the nodes spend on HTTP. The subscriptions are the
    same for few events and for many, so the difference is the cost of the events.
    """
    settings = {"APPS_0_RECOVERY_ENABLED": "true" if keeps else "false"}
    with Redis() as redis, node(program, 0, **settings) as both:

        def cpu(messages: int) -> float:
            start = redis.cpu
            both.bench(*channels(4, messages))
            return redis.cpu - start

        # The node follows the channels from then on.
        cpu(FEW)
        published = (cpu(FEW + MESSAGES) - cpu(FEW)) / MESSAGES
        command = publication(both, "EVALSHA" if keeps else "PUBLISH")
        count = 5 * MESSAGES
        start = redis.cpu
        subprocess.run(
            ["redis-benchmark", "-p", str(REDIS_PORT), "-P", "64", "-n", str(count), "-q", *command],
            stdout=subprocess.DEVNULL, check=True,
        )
        return published / ((redis.cpu - start) / count)


def publication(both: Broker, name: str) -> list[str]:
    """The command by which a node publishes one event, as Redis sees it."""
    monitor = subprocess.Popen(
        ["redis-cli", "-p", str(REDIS_PORT), "MONITOR"], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert monitor.stdout.readline() == "OK\n"
        both.bench("channels", "--channels", 1, "--subscribers", 1, "--messages", 1, "--window", 1)
        for line in monitor.stdout:
            # 1764115200.123456 [0 127.0.0.1:40000] "EVALSHA" "…" …
            command = shlex.split(line.partition("] ")[2])
            if command[0] == name and any("fanfare-bench" in word and "event" in word for word in command):
                return command
    finally:
        monitor.kill()
        monitor.wait()


ROWS = [
    Row("a delivery on a node without publishers, 1,000 subscribers: CPU, against a broker alone", "", 1.03, 1.00,
        lambda program: ratio(remote(program, *FANOUT), local(program, *FANOUT))),
    Row("the same, 500 channels × 4, where the broker alone also has HTTP and digests", "", 0.85, 0.70,
        lambda program: ratio(remote(program, *MANY), local(program, *MANY))),
    Row("a delivery on a node with publishers and subscribers, 500 channels × 4: CPU, against a broker alone", "", 1.30, 1.15,
        lambda program: ratio(shared(program, *MANY), local(program, *MANY))),
    Row("a message on a node without publishers, before its fan-out", "µs", 5, 3, per_message),
    Row("1,000 events a second, from a trigger on one node to a delivery on another: p50", "ms", 0.6, 0.3,
        lambda program: delay(program, "p50")),
    Row("the same: p99", "ms", 4, 2, lambda program: delay(program, "p99")),
    Row("Redis's CPU for a recoverable event, against the same script from redis-benchmark -P 64", "", 1.25, 1.05,
        lambda program: store_cpu(program, keeps=True)),
    Row("the same for an event that is not recoverable, against PUBLISH", "", 2.5, 1.67,
        lambda program: store_cpu(program, keeps=False)),
    Row("100,000 attached channels, all connections to Redis cut: all caught up", "s", 4, 2, caught_up),
    Row("kill -9 of a node with 10,000 members of 100 channels: the last notice of a departure", "s", 12, 11, reaped),
    Row("19,000 clients lose their node, and come to another: all have what they missed", "s", 10, 5, moved),
]


if __name__ == "__main__":
    sys.exit(main(__doc__, ROWS, rounds=3))
