"""The rows of a table of docs/proof/benchmarks.md: what is measured, in which unit, and what must hold."""

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable


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


def judge(value: float, row: Row) -> str:
    if row.must is None:
        return "stated"
    if row.aim is not None and value <= row.aim:
        return "met, aim too"
    return "met" if value <= row.must else "**missed**"


def report(rows: list[Row], values: dict[str, list[float]]) -> int:
    """Prints the table; returns the exit status."""
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


def main(description: str, rows: list[Row], rounds: int, begin_round: Callable[[], None] = lambda: None) -> int:
    """Measures the rows that the command line asks for, and prints their table; returns the exit status.

    `begin_round` is called ahead of each round.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=str(Path(__file__).parent.parent / ".build/release/fanfare"))
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--only", nargs="+", default=[], help="rows with one of these words")
    options = parser.parse_args()
    chosen = [row for row in rows if not options.only or any(word in row.work for word in options.only)]
    values: dict[str, list[float]] = {row.work: [] for row in chosen}
    for round_ in range(1, options.rounds + 1):
        begin_round()
        for row in chosen:
            values[row.work].append(row.measure(options.program))
            print(f"round {round_}/{options.rounds}: {row.work}: {values[row.work][-1]:.3f} {row.unit}", file=sys.stderr)
    return report(chosen, values)
