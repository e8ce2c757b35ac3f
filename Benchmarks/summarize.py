#!/usr/bin/env python3
"""Tables of what compare.py measured, in Markdown: medians over the rounds.

usage: summarize.py [RESULTS] [REFERENCE]    results/latest.jsonl and rawfan, unless given

A ratio is formed within each round; its median and its extremes are printed.
"""

import sys
from pathlib import Path

from results import Results, Spread, main_field, ratios

# The columns of each kind of scenario: heading, field, what to divide by, decimals.
DELIVERIES = (
    ("deliveries/s", "deliveries_per_s", 1, 0),
    ("p50 ms", "lat_us.p50", 1000, 2),
    ("p99 ms", "lat_us.p99", 1000, 2),
    ("p99.9 ms", "lat_us.p999", 1000, 2),
    ("reads/delivery", "reads_per_delivery", 1, 2),
    ("generator µs", "gen_cpu_us_per_delivery", 1, 2),
)
CHURN = (
    ("connections/s", "cycles_per_s", 1, 0),
    ("p50 ms", "lat_us.p50", 1000, 1),
    ("p99 ms", "lat_us.p99", 1000, 1),
)
OVERLOAD = (
    ("deliveries/s", "overload_deliveries_per_s", 1, 0),
    ("with a window", "window_deliveries_per_s", 1, 0),
    ("200", "overload_accepted", 1, 0),
    ("503", "overload_refused", 1, 0),
    ("others' p99 ms", "unrelated_overload_latency_us.p99", 1000, 2),
    ("quiet", "unrelated_quiet_latency_us.p99", 1000, 2),
    ("memory grew, MiB", "growth_mib", 1, 1),
)
IDLE = (
    ("resident bytes", "rss_per_conn_b", 1, 0),
    ("kernel's, both ends", "kernel_per_conn_b", 1, 0),
    ("total MiB", "pss_kib", 1024, 1),
    ("µs to join", "setup_cpu_us_per_conn", 1, 1),
    ("µs to leave", "leave_cpu_us_per_conn", 1, 1),
    ("idle CPU ms/s", "idle_cpu_ms_per_s", 1, 2),
)


def columns(scenario: str) -> tuple[tuple[str, str, int, int], ...]:
    if scenario.startswith("churn"):
        return CHURN
    if scenario.startswith("overload"):
        return OVERLOAD
    return IDLE if scenario.startswith("idle") else DELIVERIES


def print_row(cells: list[str]) -> None:
    print("| " + " | ".join(cells) + " |")


def print_scenario(results: Results, scenario: str, reference: str) -> None:
    field, unit = main_field(scenario)
    headings = ["server", "runs ok", unit, "least–greatest", f"× {reference}", "least–greatest"]
    headings += [heading for heading, *_ in columns(scenario)]
    print(f"\n## {scenario}\n")
    print_row(headings)
    print_row(["---"] * len(headings))
    for server in results.runs[scenario]:
        runs = results.of_server(scenario, server)
        good = sum(run["ok"] for run in runs)
        cells = [server, f"{good}/{len(runs)}"]
        spread = results.spread(scenario, server, field)
        if spread is None:
            print_row([*cells, str(runs[0]["first_error"])[:80]])
            continue
        cells += [f"{spread.median:,.2f}", spread.text()]
        ratio = Spread.of(ratios(
            results.values(scenario, server, field), results.values(scenario, reference, field)
        ))
        cells += [f"{ratio.median:.2f}", ratio.text()] if ratio else ["", ""]
        for _, name, divisor, decimals in columns(scenario):
            value = results.spread(scenario, server, name)
            cells.append(f"{value.median / divisor:,.{decimals}f}" if value else "")
        print_row(cells)


def print_tables(results: Results, reference: str = "rawfan") -> None:
    for scenario in results.runs:
        print_scenario(results, scenario, reference)
    others = [
        run["other_cpu_s"] / run["dur_s"]
        for scenario, servers in results.runs.items() for server in servers
        for run in results.of_server(scenario, server) if run.get("dur_s", 0) > 0.3
    ]
    if load := Spread.of(others):
        print(f"\nOther programs used {load.median:.2f} cores meanwhile (median; most "
              f"{load.greatest:.2f}). Above 0.1 the figures say little.")


if __name__ == "__main__":
    if "--help" in sys.argv or len(sys.argv) > 3:
        sys.exit(__doc__)
    latest = Path(__file__).parent / "results" / "latest.jsonl"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else latest
    print_tables(Results(path), *sys.argv[2:])
