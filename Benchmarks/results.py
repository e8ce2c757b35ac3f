"""Reads what compare.py has written, and forms medians and ratios."""

import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Run = dict[str, Any]


@dataclass(frozen=True)
class Spread:
    """The median of several rounds, and the least and greatest of them."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread | None":
        found = list(values)
        return cls(statistics.median(found), min(found), max(found)) if found else None

    def text(self, decimals: int = 2) -> str:
        return f"{self.least:,.{decimals}f}–{self.greatest:,.{decimals}f}"


class Results:
    """The runs of a file: scenario → server → round, of which each may hold several."""

    def __init__(self, path: Path) -> None:
        self.machine: dict[str, Any] = {}
        self.runs: dict[str, dict[str, dict[int, list[Run]]]] = {}
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if "machine" in record:
                self.machine = record["machine"]
                continue
            server, scenario, round_ = record["label"].split("|")
            rounds = self.runs.setdefault(scenario, {}).setdefault(server, {})
            rounds.setdefault(int(round_), []).append(record)

    def of_server(self, scenario: str, server: str) -> list[Run]:
        rounds = self.runs.get(scenario, {}).get(server, {})
        return [run for runs in rounds.values() for run in runs]

    def all_runs(self, server: str) -> list[Run]:
        return [run for scenario in self.runs for run in self.of_server(scenario, server)]

    def values(self, scenario: str, server: str, field: str) -> dict[int, float]:
        """Round → value, on average over the round's runs that went well."""
        values = {}
        for round_, runs in self.runs.get(scenario, {}).get(server, {}).items():
            found = [value for run in runs if (value := field_of(run, field)) is not None]
            if found:
                values[round_] = statistics.mean(found)
        return values

    def spread(self, scenario: str, server: str, field: str) -> Spread | None:
        return Spread.of(self.values(scenario, server, field).values())


def field_of(run: Run, field: str) -> float | None:
    """What a run that went well has there; `lat_us.p99` names a field of a field."""
    value: Any = run if run["ok"] else {}
    for part in field.split("."):
        value = value.get(part, {})
    return float(value) if isinstance(value, int | float) else None


def ratios(ours: dict[int, float], reference: dict[int, float]) -> list[float]:
    """Ours to the reference, always of the same round: the machine drifts between rounds."""
    return [
        value / reference[round_] for round_, value in ours.items() if reference.get(round_)
    ]


def main_field(scenario: str) -> tuple[str, str]:
    """The figure that a scenario is about, and its unit."""
    if scenario.startswith("churn"):
        return "srv_cpu_us_per_cycle", "µs CPU per connection"
    if scenario.startswith("idle"):
        return "pss_per_conn_b", "bytes per connection"
    return "srv_cpu_us_per_delivery", "µs CPU per delivery"
