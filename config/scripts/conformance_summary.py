#!/usr/bin/env python3
"""Sums up the Autobahn suite's reports; fails when a case is anything but OK or INFORMATIONAL.

usage: conformance_summary.py FOLDER    FOLDER/*/index.json are the reports
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
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
