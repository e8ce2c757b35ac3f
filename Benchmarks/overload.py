"""The scenario `overload`: loaded by `fanfare bench overload`, whose report becomes a run's record."""

from typing import Any

Record = dict[str, Any]

#: What must be 0 in every run, whatever the machine does meanwhile.
FAULTS = (
    "lost", "misplaced", "delivered_though_refused", "unanswered", "no_retry_after", "closed",
)
#: The record's fields that are the report's.
SAME = (
    "window_deliveries_per_s", "overload_deliveries_per_s", "overload_accepted", "overload_refused",
    "unanswered_at_stop", "drain_s", "overload_latency_us", "unrelated_quiet_latency_us",
    "unrelated_window_latency_us", "unrelated_overload_latency_us", "kernel_tcp_peak_bytes",
)


def command(program: str) -> list[str]:
    return [program, "bench", "overload", "--json", "-"]


def record(label: str, report: Record) -> Record:
    """The line that compare.py writes: its times are judged by verdict.py, its deliveries here."""
    found = {name: report[name] for name in (*FAULTS, *SAME) if name in report}
    is_right = all(found.get(name) == 0 for name in FAULTS)
    return {
        "label": label,
        "scenario": "overload",
        "ok": is_right,
        **found,
        "srv_cpu_us_per_delivery": report.get("server_cpu_us_per_delivery"),
        "gen_cpu_us_per_delivery": report.get("generator_cpu_us_per_delivery"),
        "growth_mib": report.get("resident_growth_bytes", 0) / 2**20,
        "first_error": "" if is_right else report["fault"],
    }
