#!/usr/bin/env python3
"""Draws the comparison: one small bar chart a figure, as an SVG for light and dark pages.

usage: chart.py [RESULTS] [PICTURE]    results/latest.jsonl and ../config/pictures/benchmarks.svg
"""

import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

from results import Results

HERE = Path(__file__).parent
OURS = "fanfare"
NAMES = {
    OURS: "Fanfare", "nchan": "nchan (nginx)", "mosquitto": "Mosquitto", "nats": "NATS",
    "rawfan": "kernel limit", "rawfan-co": "kernel limit",
}

WIDTH, MARGIN, GAP = 880, 24, 40
COLUMN = (WIDTH - 2 * MARGIN - GAP) / 2
LABEL, VALUE = 108, 64
BAR, PITCH = 14, 22
TITLE, FOOT, PANEL_HEAD, PANEL_GAP = 76, 44, 40, 22

STYLE = """\
text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
.title { font-size: 20px; font-weight: 600; }
.panel { font-weight: 600; }
.quiet { fill: #59636e; font-size: 12px; }
.ours { font-weight: 600; }
.bar { fill: #8c959f; }
.limit { fill: none; stroke: #8c959f; stroke-dasharray: 3 2; }
.bar.ours { fill: #e8590c; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .quiet { fill: #9198a1; }
  .bar { fill: #656c76; }
  .limit { fill: none; stroke: #656c76; }
  .bar.ours { fill: #ff922b; }
}
"""


@dataclass(frozen=True)
class Panel:
    """One figure, of every server that was measured."""

    title: str
    unit: str
    scenario: str
    field: str
    #: The limit that this work is held against.
    limit: str
    decimals: int = 2


DELIVERY = ("µs of server CPU per delivery", "srv_cpu_us_per_delivery")
PANELS = [
    Panel("1,000 subscribers, one message at a time", DELIVERY[0], "fan1000-64-one", DELIVERY[1],
          "rawfan"),
    Panel("1,000 subscribers, saturation", DELIVERY[0], "fan1000-64-sat", DELIVERY[1], "rawfan-co"),
    Panel("10,000 subscribers, saturation", DELIVERY[0], "fan10000-64-sat", DELIVERY[1],
          "rawfan-co"),
    Panel("500 channels with 4 subscribers", DELIVERY[0], "many-sat", DELIVERY[1], "rawfan"),
    Panel("Connect, subscribe, close", "µs of server CPU per connection", "churn",
          "srv_cpu_us_per_cycle", "rawfan", 0),
    Panel("Memory of an idle connection", "bytes per connection, 10,000 subscribed", "idle10k",
          "pss_per_conn_b", "rawfan", 0),
]


def bars(panel: Panel, results: Results) -> list[tuple[str, float]]:
    """Server and median, the cheapest first."""
    found = []
    for server in (OURS, panel.limit, "nchan", "mosquitto", "nats"):
        spread = results.spread(panel.scenario, server, panel.field)
        if spread is not None:
            found.append((server, max(spread.median, 0.0)))
    return sorted(found, key=lambda bar: bar[1])


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
            f"{escape(content)}</text>")


def draw_bar(panel: Panel, server: str, value: float, longest: float, x: float, y: float) -> str:
    kind = "ours" if server == OURS else "limit" if server.startswith("rawfan") else ""
    length = max(value / longest * (COLUMN - LABEL - VALUE), 1.5) if longest else 1.5
    inset = 0.5 if kind == "limit" else 0
    bar = (f'<rect x="{x + LABEL + inset:.1f}" y="{y + inset:.1f}" width="{length:.1f}" '
           f'height="{BAR - 2 * inset:.1f}" rx="2" class="bar {kind}"/>')
    label = text(x + LABEL - 8, y + BAR - 3, NAMES[server], "ours" if kind == "ours" else "", "end")
    number = text(x + LABEL + length + 6, y + BAR - 3, f"{value:,.{panel.decimals}f}",
                  "ours" if kind == "ours" else "")
    return label + bar + number


def draw_panel(panel: Panel, found: list[tuple[str, float]], x: float, y: float) -> list[str]:
    parts = [text(x, y + 13, panel.title, "panel"), text(x, y + 29, panel.unit, "quiet")]
    longest = max(value for _, value in found)
    for place, (server, value) in enumerate(found):
        parts.append(draw_bar(panel, server, value, longest, x, y + PANEL_HEAD + place * PITCH))
    return parts


def draw(results: Results) -> str:
    panels = [(panel, found) for panel in PANELS if (found := bars(panel, results))]
    parts: list[str] = []
    y: float = TITLE
    for first in range(0, len(panels), 2):
        row = panels[first:first + 2]
        for column, (panel, found) in enumerate(row):
            parts += draw_panel(panel, found, MARGIN + column * (COLUMN + GAP), y)
        y += PANEL_HEAD + max(len(found) for _, found in row) * PITCH + PANEL_GAP
    machine = results.machine
    rounds = max((len(r) for s in results.runs.values() for r in s.values()), default=0)
    foot = (f"{machine.get('processor', 'unknown')}, {machine.get('cores', '?')} cores, Linux "
            f"{machine.get('kernel', '?')}, loopback · {machine.get('date', '')} · "
            + (f"medians of {rounds} rounds" if rounds > 1 else "one round")
            + (", a core for each server" if machine.get("pinned") else ""))
    height = y + FOOT - PANEL_GAP
    head = [
        text(MARGIN, 34, "What a message costs the server", "title"),
        text(MARGIN, 56, "Shorter is better. The dashed bar is a C program that does nothing but "
                         "hand finished bytes to the kernel.", "quiet"),
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" role="img">',
        "<title>Server CPU and memory of Fanfare and other servers</title>",
        f"<style>\n{STYLE}</style>",
        *head, *parts, text(MARGIN, height - 14, foot, "quiet"), "</svg>", "",
    ])


if __name__ == "__main__":
    if "--help" in sys.argv or len(sys.argv) > 3:
        sys.exit(__doc__)
    given = [Path(argument) for argument in sys.argv[1:]]
    defaults = [
        HERE / "results" / "latest.jsonl", HERE.parent / "config" / "pictures" / "benchmarks.svg"
    ]
    source, picture = given + defaults[len(given):]
    picture.write_text(draw(Results(source)))
    print(f"Drawn: {picture}")
