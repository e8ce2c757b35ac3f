#!/usr/bin/env python3
"""Measures what message recovery costs and how fast clients come back, and prints the table of BENCHMARKS.md.

usage: recovery.py [--rounds N] [--only WORD…] [PROGRAM]

PROGRAM is the broker, `fanfare`; the release build unless given. Each round starts every broker anew; the table has the
medians. Needs 20,000 descriptors (ulimit -Hn). Exits with 1 when a row misses what must hold.
"""

import argparse
import atexit
import functools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

PORT = 18150
URL = f"ws://127.0.0.1:{PORT}"
CLIENTS, RESTARTED, PACED = 10_000, 19_000, 5_000
RETAINED = 100_000


@functools.cache
def load_generator(program: str) -> str:
    """A copy of the program: memory that the broker shared with it would count by half."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return shutil.copy(program, folder)


class Broker:
    """A broker on loopback for one measurement."""

    def __init__(self, program: str, loops: int, settings: dict[str, str]):
        self._load_generator = load_generator(program)
        self.environment = {
            **os.environ,
            # All clients have one address.
            "FANFARE_LIMITS_CONNECTIONS_PER_ADDRESS_MAX": "100000",
            **{f"FANFARE_{name}": value for name, value in settings.items()},
        }
        self.arguments = [program, "serve", "--port", str(PORT), "--loops", str(loops), "--log-level", "error"]
        self._process: subprocess.Popen[bytes] | None = None

    def bench(self, name: str, *arguments: object, server: bool = True) -> dict:
        """Runs `fanfare bench`; returns its JSON object."""
        command = [self._load_generator, "bench", name, "--url", URL, "--json", "-", *map(str, arguments)]
        command += [] if server else ["--", *self.arguments]
        result = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)
        if not result.stdout:
            raise SystemExit(f"{' '.join(command)}\n{result.stderr}")
        return json.loads(result.stdout)

    @property
    def memory(self) -> int:
        """Bytes, with shared pages divided among their processes."""
        text = Path(f"/proc/{self._process.pid}/smaps_rollup").read_text()
        return 1024 * int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1])

    def __enter__(self) -> "Broker":
        self._process = subprocess.Popen(self.arguments, env=self.environment, stdout=subprocess.DEVNULL)
        for _ in range(200):
            if subprocess.run([self._load_generator, "bench", "churn", "--url", URL, "--cycles", "1"],
                              capture_output=True).returncode == 0:
                return self
            time.sleep(0.05)
        raise SystemExit("The broker does not start.")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(60)


@dataclass(frozen=True)
class Row:
    """One figure, and what it must be at most."""

    work: str
    unit: str
    must: float | None
    aim: float | None
    #: Returns the figure of one round.
    measure: Callable[[str], float]
    #: Shown behind the figure.
    decimals: int = 2


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
        "APPS_0_ID": "1", "APPS_0_KEY": "app-key", "APPS_0_SECRET": "app-secret",
        "APPS_0_RECOVERY_MESSAGES_MAX": str(2 * RETAINED), "APPS_0_RECOVERY_BYTES_MAX": "1024 MiB",
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


ROWS = [
    Row("10,000 clients away for 2 s, 10 messages a second, positions: p99 of what was missed", "s", 3, None,
        lambda program: offline(program, "position")),
    Row("the same, stock clients with a token", "s", 3, None, lambda program: offline(program, "token")),
    Row("restart (SIGTERM) under 19,000 clients: all back", "s", 5, None, restart),
    Row("restart (SIGKILL) under 19,000 clients: all back", "s", 5, None, lambda program: restart(program, "--kill")),
    Row("10,000 back at once, 100 missed each, 2 loops: all recovered", "s", 3, 1.5, back_at_once),
    Row("a replayed message", "µs", 0.4, 0.25, replayed),
    Row("a retained message, beside its frame", "B", 80, 64, retained, 0),
    Row("an idle connection", "B", 500, 300, lambda program: idle(program, "none"), 0),
    Row("an idle connection with a position", "B", None, None, lambda program: idle(program, "position"), 0),
    Row("what a token adds to it, with one channel", "B", 380, None,
        lambda program: idle(program, "token") - idle(program, "none"), 0),
    Row("a confirmation: ping and pong", "µs", 12, 8, confirmation),
]


def judge(value: float, row: Row) -> str:
    if row.must is None:
        return "stated"
    if row.aim is not None and value <= row.aim:
        return "met, aim too"
    return "met" if value <= row.must else "**missed**"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=str(Path(__file__).parent.parent / ".build/release/fanfare"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[], help="rows with one of these words")
    options = parser.parse_args()
    rows = [row for row in ROWS if not options.only or any(word in row.work for word in options.only)]
    values: dict[str, list[float]] = {row.work: [] for row in rows}
    for round_ in range(1, options.rounds + 1):
        for row in rows:
            values[row.work].append(row.measure(options.program))
            print(f"round {round_}/{options.rounds}: {row.work}: {values[row.work][-1]:.3f} {row.unit}", file=sys.stderr)
    print("| work | median | least–greatest | must | aim |  |\n| --- | --- | --- | --- | --- | --- |")
    verdicts = []
    for row in rows:
        found = values[row.work]
        median = statistics.median(found)
        verdicts.append(judge(median, row))
        cells = [f"{value:,.{row.decimals}f}" for value in (median, min(found), max(found))]
        bounds = [f"≤ {bound:g}" if bound is not None else "" for bound in (row.must, row.aim)]
        print(f"| {row.work} | {cells[0]} {row.unit} | {cells[1]}–{cells[2]} | {' | '.join(bounds)} | {verdicts[-1]} |")
    return 1 if "**missed**" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
