"""`make recovery`: the loss table of docs/proof/reliability.md, measured anew."""

import argparse
import os
import sys
import time
from contextlib import ExitStack

from browser import Page

from .clients import PROMISED, PYSHER, SDK, STOCK, Site
from .faults import broker_faults, network_faults
from .progress import Progress
from .run import NOTICED, Run, Size, damaged
from .table import grouped, summary, table

DESCRIPTION = """\
Runs real clients behind a network that fails and a broker that is stopped and killed, and compares what each one got with
what the broker has acknowledged to the publisher. Prints a table by client and fault. The exit status is 1 if a promise is
broken: a message lost untold, out of order, repeated where it must not be, or a gap told while the messages were kept.

The clients: the Swift SDK, fanfare.js in Chromium, and Pysher with a session token. With PUSHER_JS, the file of an
unmodified bundle of pusher-js, also pusher-js with the add-on and with a session token.
"""

FAULTS = [*network_faults(), *broker_faults()]


def share(fault):
    """The weight of a fault's run in the whole; what half-dead connections swallow takes longest."""
    return {"cut": 6, "reset": 5}.get(fault.name, 2)


def main():
    options = parse()
    pusher_js = os.environ.get("PUSHER_JS")
    kinds = [kind for kind in PROMISED if not options.clients or kind.name in options.clients]
    if not pusher_js:
        for kind in kinds:
            if kind.needs_pusher_js:
                print(f"{kind.title} is left out: PUSHER_JS names no bundle.")
        kinds = [kind for kind in kinds if not kind.needs_pusher_js]
    counts = {kind: options.sdk_clients if kind == SDK else options.page_clients for kind in kinds}
    for damage, finding in NOTICED.items():
        [stock] = damaged(damage, {STOCK: 2})
        count = getattr(stock.findings, finding)
        print(f"Self-test, {damage} frames within a connection: {grouped(count)} {finding.replace('_', ' ')}", flush=True)
        if not count:
            sys.exit("The check does not notice them.")
    chosen = [fault for fault in FAULTS if not options.faults or fault.name in options.faults]
    whole = sum(share(fault) for fault in chosen)
    outcomes, begin = [], time.monotonic()
    with ExitStack() as stack:
        # Also when a run fails: what was measured until then.
        stack.callback(lambda: print(f"\n{table(outcomes)}"))
        site = Site(pusher_js)
        stack.callback(site.close)
        pages = {}
        for kind in counts:
            if kind not in (SDK, PYSHER):
                pages[kind] = Page()
                stack.callback(pages[kind].quit)
        for number, fault in enumerate(chosen):
            part = share(fault) / whole
            size = Size(
                counts, options.channels, options.rate, int(options.deliveries * part), int(options.cuts * part),
                restarts=max(2, options.cuts // 500),
            )
            progress = Progress(f"{number + 1} of {len(chosen)}: {fault.name}", size, "cuts, stops and kills")
            outcomes += Run(fault, size, site, pages, options.seed + number, progress.show).outcomes()
            progress.end()
    print(f"\n{summary(outcomes)}, in {(time.monotonic() - begin) / 60:.1f} minutes.")
    violations = [text for outcome in outcomes for text in outcome.violations]
    for text in violations:
        print(f"BROKEN: {text}")
    print("FAILED" if violations else "Every promise held.")
    return 1 if violations else 0


def parse():
    parser = argparse.ArgumentParser(
        prog="make recovery", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--deliveries", type=int, default=10_000_000, help="deliveries in all (10000000)")
    parser.add_argument("--cuts", type=int, default=10_000, help="cuts, stops and kills in all (10000)")
    parser.add_argument("--sdk-clients", type=int, default=100, help="clients of the Swift SDK (100)")
    parser.add_argument("--page-clients", type=int, default=4, help="clients of each other kind (4)")
    parser.add_argument("--channels", type=int, default=10, help="channels, which every client subscribes (10)")
    parser.add_argument("--rate", type=float, default=300, help="messages a second (300)")
    names = [kind.name for kind in PROMISED]
    parser.add_argument(
        "--clients", nargs="+", choices=names, metavar="CLIENT", help=f"only these: {'; '.join(names)}"
    )
    parser.add_argument(
        "--faults", nargs="+", choices=[fault.name for fault in FAULTS], metavar="FAULT",
        help=f"only these: {'; '.join(fault.name for fault in FAULTS)}",
    )
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the faults; the time unless given")
    options = parser.parse_args()
    print(f"Seed {options.seed}")
    return options


if __name__ == "__main__":
    sys.exit(main())
