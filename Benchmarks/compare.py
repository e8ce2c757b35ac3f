#!/usr/bin/env python3
"""Measures a broker and reference servers side by side, in turn, on this machine's loopback.

A broker is a name and the command that starts it, in which {port}, {tls_port}, {certificate} and
{private_key} are filled in. Several brokers, or one with different options, run in the same rounds;
those after the first take part in the scenarios that variants are of interest for.

Everybody may run on all cores. With --pinned a server of one thread has a core to itself and the
load generator another; the first broker is taken for such a server, variants have all cores.

    compare.py --broker 'fanfare=fanfare serve --loops 1 --port {port} --log-level error'
    compare.py --broker … --set full --rounds 7
    compare.py --broker … --only fan1000-64-one churn --servers rawfan nchan

Every round starts fresh processes. Within it the brokers and the limit take each scenario twice,
there and back, with the peers between; every second round goes the other way. So drift and the luck
of a process's start cancel out. Each run's line of JSON goes to --out.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import NamedTuple

import overload
import summarize
from results import Results, main_field
from scenarios import SCENARIOS, SETS, Scenario
from servers import Broker, Workspace, Server, on_cores, references, stop_on_signals, versions

HERE = Path(__file__).parent
FIRST_BROKER_PORT = 18141
RUN_SECONDS_MAX = 300


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--broker", action="append", default=[], metavar="NAME=COMMAND",
                        help="a broker to measure; may be repeated")
    parser.add_argument("--app-id", default="1", help="of the brokers' app (1)")
    parser.add_argument("--key", default="app-key", help="of the app (app-key)")
    parser.add_argument("--secret", default="app-secret", help="of the app (app-secret)")
    parser.add_argument("--set", choices=SETS, default="quick", help="the scenarios (quick)")
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, metavar="SCENARIO",
                        help=f"these instead: {', '.join(SCENARIOS)}")
    parser.add_argument("--servers", nargs="*", metavar="SERVER",
                        help="references to run beside (rawfan and all peers installed)")
    parser.add_argument("--pinned", action="store_true",
                        help="a core for each server of one thread, another for the load")
    parser.add_argument("--rounds", type=int, default=3, help="7 for a decision (3)")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "latest.jsonl",
                        help="where the lines of JSON go (results/latest.jsonl)")
    parser.add_argument("--programs", type=Path, default=HERE / ".build" / "yardstick",
                        help="the folder with wsload and rawfan, as make -C yardstick builds them")
    return parser.parse_args()


def choose_servers(arguments: argparse.Namespace, workspace: Workspace) -> list[Server]:
    app = {"app-id": arguments.app_id, "key": arguments.key, "secret": arguments.secret}
    chosen: list[Server] = []
    for number, broker in enumerate(arguments.broker):
        name, separator, command = broker.partition("=")
        if not separator:
            raise SystemExit(f"--broker takes NAME=COMMAND, not {broker!r}.")
        port = FIRST_BROKER_PORT + 2 * number
        chosen.append(Broker(name, port, workspace, command, app, variant=number > 0))
    available = references(workspace)
    wanted = available if arguments.servers is None else arguments.servers
    for name in wanted:
        if name not in available:
            raise SystemExit(f"{name} is not installed; there are {', '.join(available)}.")
        chosen.append(available[name])
    return chosen


def describe_machine(workspace: Workspace) -> dict[str, object]:
    def first(path: str, key: str) -> str:
        lines = Path(path).read_text().splitlines()
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "?")

    memory = int(first("/proc/meminfo", "MemTotal").split()[0]) / 1024 / 1024
    return {
        "date": date.today().isoformat(),
        "processor": first("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory_gib": round(memory),
        "kernel": platform.release(),
        "pinned": workspace.is_pinned,
        "versions": versions(),
    }


class Step(NamedTuple):
    """One run of the load generator."""

    round_: int
    scenario: Scenario
    server: Server
    #: Whether it goes to the results.
    counts: bool = True

    @property
    def pair(self) -> tuple[str, str]:
        return self.scenario.name, self.server.name


def order(servers: list[Server], scenario: Scenario, round_: int) -> list[Server]:
    """Who runs a scenario in a round: there and back, so that a drift costs each one the same."""
    ordered = servers if round_ % 2 else servers[::-1]
    taking = [server for server in ordered if server.takes(scenario)]
    if scenario.fresh:
        return taking
    there = [server for server in taking if not server.is_peer]
    # The peers are apart by more than a drift, and slow: once will do.
    return there + [server for server in taking if server.is_peer] + there[::-1]


def plan(servers: list[Server], scenarios: list[Scenario], rounds: int) -> list[Step]:
    steps = []
    for round_ in range(1, rounds + 1):
        for scenario in scenarios:
            turns = order(servers, scenario, round_)
            if turns and not scenario.fresh:
                # Who comes first finds caches and the kernel's memory as another scenario left
                # them: this run is for nothing else.
                steps.append(Step(round_, scenario, turns[0], counts=False))
            steps += [Step(round_, scenario, server) for server in turns]
    return steps


class Progress:
    """Says what runs, what it gave, and how long the rest will take."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], list[float]] = {}

    def scenario(self, step: Step, rounds: int, rest: list[Step]) -> None:
        known = [taken for times in self.seconds.values() for taken in times]
        left = ""
        if known:
            average = sum(known) / len(known)
            # A pair that has run before takes what it took; another one, what most do.
            seconds = sum(
                sum(times) / len(times) if (times := self.seconds.get(other.pair)) else average
                for other in rest
            )
            left = f" (about {max(1, round(seconds / 60))} min left)"
        print(f"round {step.round_}/{rounds}: {step.scenario.name}{left}", flush=True)

    def run(self, step: Step, seconds: float, text: str) -> None:
        self.seconds.setdefault(step.pair, []).append(seconds)
        if step.counts:
            print(f"    {step.server.name:<12} {text}", flush=True)


def measure(workspace: Workspace, step: Step) -> str:
    """Runs the load generator once; returns its line of JSON, or one that says what failed."""
    round_, scenario, server, _ = step
    assert server.process is not None
    label = f"{server.name}|{scenario.name}|{round_}"
    if scenario.overload:
        assert isinstance(server, Broker)
        command = overload.command(server.program)
    else:
        command = [str(workspace.programs / "wsload"), "--label", label, "--max-seconds", "100"]
    command += [
        *server.load_arguments(scenario), *scenario.arguments.split(),
        "--pid", str(server.process.pid),
    ]
    try:
        with on_cores(server.load_cores):
            result = subprocess.run(
                command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX
            )
        error = result.stderr.strip()
    except subprocess.TimeoutExpired:
        return json.dumps({"label": label, "ok": False, "first_error": "no end"})
    if not result.stdout:
        return json.dumps({"label": label, "ok": False, "first_error": error})
    if scenario.overload:
        return json.dumps(overload.record(label, json.loads(result.stdout)))
    return result.stdout.strip()


def outcome(scenario: Scenario, line: str) -> str:
    run = json.loads(line)
    if not run["ok"]:
        return f"FAILED: {run['first_error'] or 'deliveries are missing'}"
    field, unit = main_field(scenario.name)
    return f"{run[field]:.2f} {unit}"


def compare(servers: list[Server], scenarios: list[Scenario], rounds: int, workspace: Workspace,
            out: Path) -> None:
    steps = plan(servers, scenarios, rounds)
    progress = Progress()
    round_, scenario = 0, None
    with out.open("w") as output:
        output.write(json.dumps({"machine": describe_machine(workspace)}) + "\n")
        for number, step in enumerate(steps):
            if step.round_ != round_:
                for server in servers:
                    server.restart()
            if (step.round_, step.scenario) != (round_, scenario):
                progress.scenario(step, rounds, steps[number:])
            round_, scenario = step.round_, step.scenario
            started = time.monotonic()
            step.server.prepare(scenario)
            step.server.settle()
            line = measure(workspace, step)
            if step.counts:
                output.write(line + "\n")
                output.flush()
            progress.run(step, time.monotonic() - started, outcome(scenario, line))


def main() -> None:
    arguments = parse_arguments()
    stop_on_signals()
    # Ten thousand connections need as many descriptors, here and in each server.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    scratch = (HERE / ".build" / "scratch").resolve()
    workspace = Workspace(arguments.programs.resolve(), scratch, is_pinned=arguments.pinned)
    workspace.prepare()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    servers = choose_servers(arguments, workspace)
    names = arguments.only or SETS[arguments.set]
    scenarios = [SCENARIOS[name] for name in names]
    print("Comparing", ", ".join(server.name for server in servers))
    try:
        compare(servers, scenarios, arguments.rounds, workspace, arguments.out)
    except KeyboardInterrupt:
        sys.exit("\nInterrupted; the runs so far are in " + str(arguments.out))
    finally:
        for server in servers:
            server.stop()
    summarize.print_tables(Results(arguments.out))


if __name__ == "__main__":
    main()
