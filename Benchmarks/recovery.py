#!/usr/bin/env python3
"""Measures what message recovery costs and how fast clients come back, and prints the table of docs/proof/benchmarks.md.

usage: recovery.py [--rounds N] [--only WORD…] [PROGRAM]

PROGRAM is the broker, `fanfare`; the release build unless given. Each round starts every broker anew; the table has the
medians. Needs 20,000 descriptors (ulimit -Hn). Exits with 1 when a row misses what must hold.
"""

import functools
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

from local_broker import CPU, Broker
from rows import Row, main

CLIENTS, RESTARTED, PACED = 10_000, 19_000, 5_000
RETAINED = 100_000
APP = {"APPS_0_ID": "1", "APPS_0_KEY": "app-key", "APPS_0_SECRET": "app-secret"}


def all_delivered(run: dict) -> dict:
    if run["lost"] or run["gaps"]:
        raise SystemExit(f"Deliveries are missing: {run['fault']}")
    return run


def offline(program: str, recovery: str) -> float:
    with Broker(program, 2, {}) as broker:
        run = broker.bench("offline", "--clients", CLIENTS, "--away", 2, "--rate", 10, "--recovery", recovery)
    return all_delivered(run)["missed_latency_us"]["p99"] / 1e6


def back_at_once(program: str) -> float:
    with Broker(program, 2, {}) as broker:
        return all_delivered(missing(broker, 50))["recovered_s"]


def missing(broker: Broker, rate: float) -> dict:
    """All clients are away for two seconds, and come back to a quiet channel."""
    return broker.bench("offline", "--clients", CLIENTS, "--away", 2, "--rate", rate, "--only-while-away", "--within", 60)


def replayed(program: str) -> float:
    costs = []
    for rate in (0.5, 50):
        with Broker(program, 1, {}) as broker:
            run = all_delivered(missing(broker, rate))
        costs.append((run["missed"] / CLIENTS, run["server_cpu_us_per_return"]))
    (few, less), (many, more) = costs
    return (more - less) / (many - few)


def restart(program: str, *options: str) -> float:
    return Broker(program, 2, {}).bench("restart", "--clients", RESTARTED, *options, server=False)["returned_s"]


def idle(program: str, recovery: str) -> float:
    with Broker(program, 1, {}) as broker:
        run = broker.bench("idle", "--connections", CLIENTS, "--seconds", 1, "--recovery", recovery)
    return run["memory_bytes_per_connection"]


def retained(program: str) -> float:
    settings = {
        **APP, "APPS_0_RECOVERY_MESSAGES_MAX": str(2 * RETAINED), "APPS_0_RECOVERY_BYTES_MAX": "1024 MiB",
    }
    with Broker(program, 1, settings) as broker:
        # The first ones let the process grow for other reasons.
        broker.bench("fanout", "--subscribers", 1, "--messages", 1_000, "--recovery", "position", "--channel", "warm-up")
        before = broker.memory
        run = broker.bench("fanout", "--subscribers", 1, "--messages", RETAINED, "--window", 64,
                           "--recovery", "position")
        grown = broker.memory - before
    return grown / RETAINED - run["bytes_per_delivery"]


def confirmation(program: str) -> float:
    """What a message a second costs more with a token than without: the ping and the pong."""
    costs = []
    for recovery in ("none", "token"):
        with Broker(program, 1, {}) as broker:
            run = broker.bench("fanout", "--subscribers", PACED, "--messages", 10, "--rate", 1, "--recovery", recovery)
        costs.append(run["server_cpu_us_per_delivery"])
    return costs[1] - costs[0]


def stored(folder: str) -> dict[str, str]:
    """Settings that keep every channel in an SQLite file."""
    return {
        **APP, "APPS_0_RECOVERY_RULES_0_CHANNEL_PREFIX": "fanfare-bench", "APPS_0_RECOVERY_RULES_0_STORE": "sqlite",
        "RECOVERY_DATABASE": f"{folder}/messages.sqlite",
    }


@dataclass(frozen=True)
class FileCost:
    """The same run without and with the file."""

    memory: dict
    file: dict
    memory_cpu: CPU
    file_cpu: CPU


@functools.cache
def file_cost(program: str, *arguments: object) -> FileCost:
    """The costs of one round: several rows are of the same runs."""
    runs, costs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for settings in (APP, stored(folder)):
            with Broker(program, 1, settings) as broker:
                before = broker.cpu
                runs.append(broker.bench("fanout", "--recovery", "position", *arguments))
                costs.append(broker.cpu - before)
    return FileCost(*runs, *costs)


def stored_fanout(program: str) -> float:
    cost = file_cost(program, "--subscribers", 1_000, "--messages", 1_000, "--window", 1)
    return cost.file_cpu.loops / cost.memory_cpu.loops


#: As many events of 100 bytes as it takes to measure one, to a single subscriber.
FULL_SPEED = ("--subscribers", 1, "--messages", RETAINED, "--window", 256, "--size", 100)


def stored_publish(program: str) -> tuple[float, float]:
    """What an event of 100 bytes costs more with the file, on the loop and on the file's thread, in microseconds."""
    cost = file_cost(program, *FULL_SPEED)
    loop = cost.file_cpu.loops - cost.memory_cpu.loops
    thread = cost.file_cpu.others - cost.memory_cpu.others
    return loop / RETAINED * 1e6, thread / RETAINED * 1e6


def stored_pace(program: str) -> float:
    cost = file_cost(program, *FULL_SPEED)
    return 1e6 / cost.file["deliveries_per_s"]


def stored_delay(program: str, percentile: str) -> float:
    cost = file_cost(program, "--subscribers", 1, "--messages", 10_000, "--rate", 1_000, "--size", 100)
    return (cost.file["latency_us"][percentile] - cost.memory["latency_us"][percentile]) / 1e3


def growth(broker: Broker, work: Callable[[int], None]) -> float:
    """Bytes by which the broker grows in each of four rounds: tables double now and then.

    Two rounds precede them: in the second, the records of the first one's connections are full.
    """
    work(0)
    work(1)
    before = broker.memory
    for round_ in range(2, 6):
        work(round_)
    return (broker.memory - before) / 4


def parked(program: str) -> float:
    def park(_: int) -> None:
        broker.bench("idle", "--connections", CLIENTS, "--seconds", 1, "--recovery", "token")
        # The broker notices that they have left.
        time.sleep(2)

    with Broker(program, 1, APP) as broker:
        return growth(broker, park) / CLIENTS


def vacant(program: str) -> float:
    def vacate(round_: int) -> None:
        broker.bench("channels", "--channels", CLIENTS, "--subscribers", 1, "--messages", CLIENTS, "--window", 64,
                     "--recovery", "position", "--channel", f"vacant-{round_}")
        # Their messages are too old then.
        time.sleep(5)

    with Broker(program, 1, {**APP, "APPS_0_RECOVERY_AGE_MAX": "1"}) as broker:
        return growth(broker, vacate) / CLIENTS


ROWS = [
    Row("10,000 clients away for 2 s, 10 messages a second, positions: p99 of what was missed", "s", 3, None,
        lambda program: offline(program, "position")),
    Row("the same, stock clients with a token", "s", 3, None, lambda program: offline(program, "token")),
    Row("restart (SIGTERM) under 19,000 clients: all back", "s", 5, None, restart),
    Row("restart (SIGKILL) under 19,000 clients: all back", "s", 5, None, lambda program: restart(program, "--kill")),
    Row("10,000 back at once, 100 missed each, 2 loops: all recovered", "s", 3, 1.5, back_at_once),
    Row("a replayed message", "µs", 0.4, 0.25, replayed),
    Row("a retained message, beside its frame", "B", 80, 64, retained, 0),
    Row("a parked session of one channel", "B", 208, None, parked, 0),
    Row("the position of a channel that was left, name included", "B", 160, None, vacant, 0),
    Row("an idle connection", "B", 500, 300, lambda program: idle(program, "none"), 0),
    Row("an idle connection with a position", "B", None, None, lambda program: idle(program, "position"), 0),
    Row("what a token adds to it, with one channel", "B", 600, 380,
        lambda program: idle(program, "token") - idle(program, "none"), 0),
    Row("a confirmation: ping and pong", "µs", 12, 8, confirmation),
    Row("fan-out of 1,000 with SQLite, one at a time: CPU of the loop, against memory", "", 1.03, 1.01, stored_fanout),
    Row("an event of 100 bytes with SQLite, against memory: on the loop", "µs", 2, 1, lambda program: stored_publish(program)[0]),
    Row("an event of 100 bytes with SQLite: on the thread of the file", "µs", 20, 8, lambda program: stored_publish(program)[1]),
    Row("events of 100 bytes with SQLite at full speed, HTTP and digests included: time of one", "µs", 33, 10, stored_pace),
    Row("delay of 1,000 events a second with SQLite, against memory: p50", "ms", 1, 0.5,
        lambda program: stored_delay(program, "p50")),
    Row("the same: p99", "ms", 10, 3, lambda program: stored_delay(program, "p99")),
]


if __name__ == "__main__":
    sys.exit(main(__doc__, ROWS, rounds=5, begin_round=file_cost.cache_clear))
