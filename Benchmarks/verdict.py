#!/usr/bin/env python3
"""Holds the results against what must hold, and prints the table of docs/proof/benchmarks.md.

usage: verdict.py [RESULTS] [INSTRUCTIONS]

RESULTS is what compare.py wrote (results/latest.jsonl) for brokers named fanfare (one loop) and
fanfare-2 (two); INSTRUCTIONS what instructions.sh wrote (results/instructions.json). A ratio is
formed within each round. Exits with 1 when a row that was measured misses what must hold.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results import Results, Spread, ratios
from scenarios import OVERLOAD_MIB

FOLDER = Path(__file__).parent / "results"
CPU = "srv_cpu_us_per_delivery"
#: The verdict on what has no bound.
STATED = "stated"


@dataclass(frozen=True)
class Figure:
    """A field of a scenario, measured on a server."""

    scenario: str
    server: str = "fanfare"
    field: str = CPU
    unit: str = "µs"
    #: What the field is divided by, to be in `unit`.
    divisor: float = 1

    def text(self, results: Results) -> str:
        spread = results.spread(self.scenario, self.server, self.field)
        if spread is None:
            return "–"
        value = spread.median / self.divisor
        return f"{value:,.{2 if value < 100 else 0}f} {self.unit}"

    def values(self, results: Results) -> dict[int, float]:
        return results.values(self.scenario, self.server, self.field)


@dataclass(frozen=True)
class Row:
    """A demand: our figure, or its ratio to a reference, is at most `must`."""

    work: str
    ours: Figure
    reference: Figure | None
    #: None for what is only stated.
    must: float | None
    aim: float | None = None

    @property
    def scenarios(self) -> str:
        """What measures it: compare.py's --only."""
        figures = [self.ours, self.reference] if self.reference else [self.ours]
        return " ".join(dict.fromkeys(figure.scenario for figure in figures))

    def spread(self, results: Results) -> Spread | None:
        ours = self.ours.values(results)
        if self.reference:
            return Spread.of(ratios(ours, self.reference.values(results)))
        return Spread.of(value / self.ours.divisor for value in ours.values())


def saturation(count: int, size: str) -> Row:
    scenario = f"fan{count}-{size}-sat"
    work = f"{count:,} subscribers, {'64 B' if size == '64' else '1 KiB'}, saturation"
    return Row(work, Figure(scenario), Figure(scenario, "rawfan-co"), 1.08, 1.00)


def p99(count: int, rate: int, server: str, aim: float | None) -> Row:
    scenario = f"fan{count}-64-rate"
    ours, limit = (
        Figure(scenario, name, "lat_us.p99", "ms", 1000) for name in (server, "rawfan")
    )
    loops = "2 loops" if server == "fanfare-2" else "1 loop"
    return Row(f"p99, {count:,} subscribers × {rate}/s, {loops}", ours, limit, 1.15, aim)


def overload() -> list[Row]:
    """More events than the broker can deliver: what it accepts, and what others notice."""
    def figure(field: str, unit: str, divisor: float = 1) -> Figure:
        return Figure("overload", "fanfare", field, unit, divisor)

    return [
        # At least nine tenths of what a window allows.
        Row("overload: deliveries with a window, against without",
            figure("window_deliveries_per_s", "/s"), figure("overload_deliveries_per_s", "/s"),
            1 / 0.9),
        Row("overload: p99 of another channel, against quiet",
            figure("unrelated_overload_latency_us.p99", "ms", 1000),
            figure("unrelated_quiet_latency_us.p99", "ms", 1000), 3),
        Row("overload: memory grows", figure("growth_mib", "MiB"), None, OVERLOAD_MIB),
    ]


def idle(scenario: str, field: str, unit: str) -> Figure:
    return Figure(scenario, "fanfare", field, unit)


def linear(work: str, field: str) -> Row:
    """Linear: one of ten thousand costs no more than one of two, but for colder caches."""
    return Row(f"{work} one channel: CPU each of 10,000, against 2,000",
               idle("idle10k", field, "µs"), idle("idle2k", field, "µs"), 1.5)


ROWS = [
    Row("1,000 subscribers, one message at a time", Figure("fan1000-64-one"),
        Figure("fan1000-64-one", "rawfan"), 1.05, 1.00),
    Row("1,000 subscribers × 20/s", Figure("fan1000-64-rate"),
        Figure("fan1000-64-rate", "rawfan-co"), 1.08, 1.03),
    *(saturation(count, size) for size in ("64", "1k") for count in (100, 1000, 10000)),
    Row("500 channels × 4 subscribers, saturation", Figure("many-sat"),
        Figure("many-sat", "rawfan"), 1.15, 1.05),
    Row("connect, subscribe, close: CPU of a connection",
        Figure("churn", field="srv_cpu_us_per_cycle"),
        Figure("churn", "rawfan", "srv_cpu_us_per_cycle"), 1.15, 1.06),
    p99(1000, 20, "fanfare", None),
    p99(10000, 2, "fanfare", None),
    p99(1000, 20, "fanfare-2", 0.75),
    p99(10000, 2, "fanfare-2", 0.75),
    Row("10,000 idle: memory of a connection", idle("idle10k", "pss_per_conn_b", "B"), None,
        500, 300),
    Row("the same and the kernel's part, of both ends", idle("idle10k", "whole_per_conn_b", "B"),
        None, None),
    Row("10,000 idle over TLS 1.3: memory of a connection",
        idle("idle10k-tls", "pss_per_conn_b", "B"), None, 16000, 14500),
    Row("10,000 idle: CPU", idle("idle10k", "idle_cpu_ms_per_s", "ms/s"), None, 1, 0.1),
    Row("1,000 × 1 KiB compressed, saturation, against uncompressed",
        Figure("fan1000-1k-deflate"), Figure("fan1000-1k-sat"), 1.5, 1.1),
    # 1.6 µs and 1.4 µs where rawfan-co, without TLS, is at 0.9 µs.
    Row("1,000 × 64 B over TLS, saturation, against rawfan-co without", Figure("fan1000-64-tls"),
        Figure("fan1000-64-sat", "rawfan-co"), 1.6 / 0.9, 1.4 / 0.9),
    Row("1,000 × 64 B over TLS, saturation", Figure("fan1000-64-tls"),
        Figure("fan1000-64-tls", "rawfan-tls"), 1.08, 1.00),
    Row("10,000 × 64 B, saturation: 2 loops, against 1", Figure("fan10000-64-sat", "fanfare-2"),
        Figure("fan10000-64-sat"), 1.20, 1.10),
    Row("500 channels × 4 subscribers, 2,000 client events/s: 2 loops, against 1",
        Figure("client-rate", "fanfare-2"), Figure("client-rate"), 1.40),
    Row("1,000 subscribers, one message at a time: all with positions, against none",
        Figure("fan1000-64-one-tracked"), Figure("fan1000-64-one"), 1.02, 1.01),
    Row("500 channels × 4 subscribers: all with positions, against none",
        Figure("many-sat-tracked"), Figure("many-sat"), 1.03, 1.01),
    *overload(),
    linear("joining", "setup_cpu_us_per_conn"),
    linear("leaving", "leave_cpu_us_per_conn"),
]

# Counted by instructions.sh, in one run each: work, key, must, aim, decimals.
COUNTED = [
    ("user-space instructions per delivery, one at a time", "instructions_one", 300, 180, 0),
    ("user-space instructions of a publish for its serial and for keeping it",
     "instructions_position", 400, 250, 0),
    ("sendto per delivery, one at a time", "sendto_one", 1.0, None, 2),
    ("sendto per delivery, 8 outstanding", "sendto_window", 0.14, None, 3),
    # A send for each message would be 1.00; how many come in a turn is the publisher's matter.
    ("sendto per delivery, subscribers of 8 busy channels", "sendto_channels", 0.25, None, 3),
]


def judge(value: float | None, must: float | None, aim: float | None) -> str:
    if value is None:
        return "not measured"
    if must is None:
        return STATED
    # As it is printed: a table must not say that 1.05 is above 1.05.
    rounded = round(value, 2) if must < 100 else value
    if aim is not None and rounded <= aim:
        return "met, aim too"
    return "met" if rounded <= must else "**missed**"


def print_row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |")


def bound(value: float | None) -> str:
    return "" if value is None else f"≤ {value:,.2f}".rstrip("0").rstrip(".")


def print_measured(results: Results) -> list[str]:
    verdicts = []
    for row in ROWS:
        spread = row.spread(results)
        verdict = judge(spread.median if spread else None, row.must, row.aim)
        verdicts.append(verdict)
        decimals = 0 if spread and spread.median >= 100 else 2
        reference = row.reference
        print_row(
            row.work, row.ours.text(results),
            f"{reference.text(results)} ({reference.server})" if reference else "",
            f"{spread.median:,.{decimals}f}" if spread else "–",
            spread.text(decimals) if spread else "–",
            bound(row.must), bound(row.aim), verdict, row.scenarios,
        )
    return verdicts


def print_counted(counts: dict[str, float]) -> list[str]:
    verdicts = []
    for work, key, must, aim, decimals in COUNTED:
        value = counts.get(key)
        text = f"{value:.{decimals}f}" if value is not None else "–"
        verdict = judge(value, must, aim)
        verdicts.append(verdict)
        print_row(work, text, "", text, "counted", bound(must), bound(aim), verdict,
                  "instructions.sh")
    return verdicts


def print_deliveries(results: Results) -> str:
    """Every delivery once and in order, in every run."""
    runs = results.all_runs("fanfare") + results.all_runs("fanfare-2")
    good = sum(run["ok"] for run in runs)
    verdict = "met" if good == len(runs) else "**missed**"
    print_row("every delivery once and in order", f"{good} of {len(runs)} runs", "", "", "", "all",
              "", verdict if runs else "not measured", "all of them")
    return verdict


def print_machine(machine: dict[str, Any]) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    print(f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Linux "
          f"{machine['kernel']}; {machine['date']}"
          f"{'; a core for the server, another for the load' if machine.get('pinned') else ''}. "
          f"{versions}.\n")


def main(path: Path, instructions: Path) -> int:
    results = Results(path)
    print_machine(results.machine)
    counts = json.loads(instructions.read_text()) if instructions.exists() else {}
    print_row("work", "ours", "reference", "ratio or value", "least–greatest", "must", "aim", "",
              "measured by")
    print_row(*["---"] * 9)
    verdicts = print_measured(results) + print_counted(counts) + [print_deliveries(results)]
    measured = len(verdicts) - verdicts.count("not measured") - verdicts.count(STATED)
    missed = verdicts.count("**missed**")
    print(f"\n{measured - missed} of {measured} rows that were measured are met.")
    return 1 if missed else 0


if __name__ == "__main__":
    if "--help" in sys.argv or len(sys.argv) > 3:
        sys.exit(__doc__)
    given = [Path(argument) for argument in sys.argv[1:]]
    defaults = [FOLDER / "latest.jsonl", FOLDER / "instructions.json"]
    sys.exit(main(*(given + defaults[len(given):])))
