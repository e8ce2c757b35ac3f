"""`make cluster`: three nodes, and what clients see while something fails."""

import argparse
import os
import sys
import time
from contextlib import ExitStack

from browser import Page
from recovery.clients import PROMISED, PYSHER, SDK, STOCK, Site
from recovery.progress import Progress
from recovery.table import grouped, summary, table

from .faults import FAULTS
from .run import ClusterRun, Size

DESCRIPTION = """\
Runs three nodes on Redis with real clients, publishes over all of them, and lets one thing after the other fail. Compares what
each client got with what a node has acknowledged, and the members of a presence channel, and what webhooks tell of them, with
those who are there. Prints a table by client and fault. The exit status is 1 if a message is lost untold, out of order, or
repeated where it must not be, if anybody believes in a member that is not there, or if a webhook tells of a transition twice.

With PUSHER_JS, the file of an unmodified bundle of pusher-js, also with pusher-js in Chromium.
"""


def main():
    options = parse()
    chosen = [fault for fault in FAULTS if not options.faults or fault.name in options.faults]
    pusher_js = os.environ.get("PUSHER_JS")
    kinds = [kind for kind in (*PROMISED, STOCK) if pusher_js or not kind.needs_pusher_js]
    counts = {kind: options.sdk_clients if kind == SDK else options.other_clients for kind in kinds}
    outcomes, violations, begin = [], [], time.monotonic()
    with ExitStack() as stack:
        stack.callback(lambda: print(f"\n{table(outcomes)}"))
        site = Site(pusher_js)
        stack.callback(site.close)
        pages = {}
        for kind in counts:
            if kind not in (SDK, PYSHER, STOCK):
                pages[kind] = Page()
                stack.callback(pages[kind].quit)
        for number, fault in enumerate(chosen):
            size = Size(
                counts, channels=10, rate=options.rate, deliveries=options.deliveries // len(chosen),
                faults=-(-options.faults_count // len(chosen)), members=20,
            )
            progress = Progress(f"{number + 1} of {len(chosen)}: {fault.name}", size, "faults")
            run = ClusterRun(fault, size, options.seed + number, site, pages, progress.show)
            outcomes += run.outcomes()
            violations += [f"{fault.name}: {who} believes in {users}" for who, users in run.ghosts.items()]
            violations += [f"{fault.name}: {text}" for text in run.misreports]
            told = run.attendance
            progress.end(
                f", {grouped(run.unanswered)} batches repeated, {grouped(told.transitions)} webhooks and {told.repeats} again"
            )
    print(f"\n{summary(outcomes)}, in {(time.monotonic() - begin) / 60:.1f} minutes.")
    violations += [text for outcome in outcomes for text in outcome.violations]
    for text in violations:
        print(f"BROKEN: {text}")
    print("FAILED" if violations else "Every promise held.")
    return 1 if violations else 0


def parse():
    parser = argparse.ArgumentParser(
        prog="make cluster", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [fault.name for fault in FAULTS]
    parser.add_argument("--deliveries", type=int, default=1_000_000, help="deliveries in all (1000000)")
    parser.add_argument("--count", dest="faults_count", type=int, default=1_000, help="faults in all (1000)")
    parser.add_argument("--sdk-clients", type=int, default=20, help="clients of the Swift SDK (20)")
    parser.add_argument("--other-clients", type=int, default=3, help="clients of each other kind (3)")
    parser.add_argument("--rate", type=float, default=200, help="messages a second (200)")
    parser.add_argument(
        "--faults", nargs="+", choices=names, metavar="FAULT", help=f"only these: {'; '.join(names)}"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the faults; the time unless given")
    options = parser.parse_args()
    print(f"Seed {options.seed}")
    return options


if __name__ == "__main__":
    sys.exit(main())
