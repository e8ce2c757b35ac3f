#!/usr/bin/env python3
"""Sums up the Autobahn suite's reports; fails when a case is anything but OK or INFORMATIONAL.

usage: conformance_summary.py FOLDER            FOLDER/*/index.json are the reports
       conformance_summary.py --cases FOLDER    lists every case instead, a line each, as
                                                docs/proof/conformance.md does, so that runs can be compared
"""

import json
import sys
from collections import Counter
from pathlib import Path

ROLES = ("server", "server-tls", "client", "client-tls")
GOOD = {"OK", "INFORMATIONAL"}


def read(folder):
    """Agent → case → (behaviour, behaviour of the closing handshake)."""
    results = {}
    for report in sorted(Path(folder).glob("*/index.json")):
        for agent, cases in json.loads(report.read_text()).items():
            results[agent] = {
                name: (case["behavior"], case["behaviorClose"]) for name, case in cases.items()
            }
    return results


def list_cases(folder):
    """A verdict for each role; a closing handshake judged otherwise stands behind a slash."""
    def cell(verdicts):
        return "/".join(dict.fromkeys(verdicts)) if verdicts else "-"

    results = read(folder)
    names = {name for cases in results.values() for name in cases}
    lines = [("case", *ROLES)]
    for name in sorted(names, key=lambda name: [int(part) for part in name.split(".")]):
        lines.append((name, *(cell(results.get(role, {}).get(name)) for role in ROLES)))
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


def section(case):
    return int(case.split(".")[0])


def counted(verdicts):
    counts = Counter(verdicts)
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) or "–"


def main(folder):
    results = read(folder)
    missing = [role for role in ROLES if not results.get(role)]
    bad = [
        (agent, case, *verdicts)
        for agent, cases in results.items()
        for case, verdicts in cases.items()
        if not set(verdicts) <= GOOD
    ]

    print("# Autobahn test suite\n")
    print("Behaviour by section; the closing handshake is judged apart.\n")
    print("| Section |", " | ".join(ROLES), "|")
    print("|---|" + "---|" * len(ROLES))
    for number in sorted({section(case) for cases in results.values() for case in cases}):
        cells = [
            counted(
                verdicts[0] for case, verdicts in results.get(role, {}).items()
                if section(case) == number
            )
            for role in ROLES
        ]
        print(f"| {number} |", " | ".join(cells), "|")
    totals = [counted(verdicts[0] for verdicts in results.get(role, {}).values()) for role in ROLES]
    print("| **all** |", " | ".join(totals), "|")
    closings = [counted(verdicts[1] for verdicts in results.get(role, {}).values()) for role in ROLES]
    print("| **closing** |", " | ".join(closings), "|\n")

    for agent, case, behaviour, closing in bad:
        print(f"- {agent} case {case}: {behaviour}, closing {closing}")
    for role in missing:
        print(f"- {role}: no report")
    if not bad and not missing:
        print("Every case is OK or INFORMATIONAL.")
    return 1 if bad or missing else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--cases", folder]:
            list_cases(folder)
        case [folder] if not folder.startswith("-"):
            sys.exit(main(folder))
        case _:
            sys.exit(__doc__)
