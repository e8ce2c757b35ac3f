"""`make hostile`: clients that have only the app's public key attack, and nobody else notices."""

import argparse
import sys
import time

from programs import Broker
from webhook_receiver import Receiver

from .attackers import Attackers
from .attacks import Target
from .brokers import BASE, BUDGETS, SETTINGS, Attacked
from .clients import CHANNELS, RATE, SUBSCRIBERS, Backend, Subscriber, percentile

DESCRIPTION = f"""\
Measures {SUBSCRIBERS} subscribers while a backend triggers {RATE} events a second: first alone, then beside clients that have only the
app's public key and send everything that could end, slow or fill a broker. One broker with its file is attacked, then two
nodes on Redis. Exit status 1 if a broker ends, a measured connection ends, the p99 of the delays exceeds three times that of
the quiet phase, the memory exceeds its budget, or a stored message is missing, also after kill -9.
"""

#: The p99 beside the attackers, as a multiple of that alone. Below FLOOR milliseconds both are the scheduler's.
RATIO, FLOOR = 3, 10


def main():
    options = parse()
    failures = []
    rows = [["Broker", "Attacks", "Events", "p99 alone, ms", "p99 attacked, ms", "Peak memory, MiB", "Missing"]]
    for name in options.settings:
        with Receiver() as receiver:
            attacked = Attacked(name, receiver.url)
            try:
                row, faults = measure(name, attacked, options)
            finally:
                attacked.close()
        rows.append(row)
        failures += [f"{name}: {text}" for text in faults]
    rows.insert(1, ["---"] * len(rows[0]))
    print("\n" + "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows))
    for text in failures:
        print(f"BROKEN: {text}")
    print("FAILED" if failures else "Nobody noticed.")
    return 1 if failures else 0


def measure(name, attacked, options):
    """The row of the table, and what did not hold."""
    subscribers = [Subscriber(attacked.ports[number % len(attacked.ports)], Broker.key) for number in range(SUBSCRIBERS)]
    backend = Backend(Broker, attacked.ports)
    pass_time(f"{name}: alone", options.quiet, attacked)
    begin = time.monotonic()
    attackers = Attackers([Target(port, Broker.key, CHANNELS[0]) for port in attacked.ports])
    pass_time(f"{name}: attacked", 60 * options.minutes / len(options.settings), attacked)
    attackers.stop()
    end = time.monotonic()
    backend.stop()

    if not attacked.is_running:
        events = sum(map(len, backend.acknowledged.values()))
        return [name, sum(attackers.counts.values()), events, *"----"], [f"a broker has ended:\n{attacked.last_lines}"]
    await_deliveries(subscribers, backend)
    faults = [f"a measured connection has ended: {subscriber.end!r}" for subscriber in subscribers if subscriber.end]
    faults += backend.failures[:5]
    for attack, count in attackers.counts.items():
        if count == 0:
            faults.append(f"the attack “{attack}” has never run")
    delays = [delay for subscriber in subscribers for delay in subscriber.delays]
    alone = percentile([delay for at, delay in delays if at < begin], 0.99)
    beside = percentile([delay for at, delay in delays if begin <= at < end], 0.99)
    if beside > RATIO * max(alone, FLOOR):
        faults.append(f"p99 {beside:.1f} ms beside attackers, {alone:.1f} ms alone: more than {RATIO} times")
    memory, budget = attacked.memory, BASE + sum(BUDGETS.values())
    if memory > budget:
        faults.append(f"{memory >> 20} MiB of memory, of {budget >> 20}")
    missing = sum(missing_numbers(subscriber.received[channel], backend, channel) for subscriber in subscribers for channel in CHANNELS)
    if missing:
        faults.append(f"{missing} events did not reach a measured subscriber")
    for subscriber in subscribers:
        subscriber.close()
    for moment in ("beside attackers", "after kill -9"):
        lost = sum(missing_numbers(backend.kept(channel), backend, channel) for channel in CHANNELS)
        if lost:
            faults.append(f"{lost} stored messages are missing {moment}")
        missing += lost
        if moment == "beside attackers":
            attacked.restart()
    events = sum(map(len, backend.acknowledged.values()))
    return [name, sum(attackers.counts.values()), events, f"{alone:.1f}", f"{beside:.1f}", memory >> 20, missing], faults


def missing_numbers(present, backend, channel):
    """How many acknowledged events of a channel are missing."""
    return len(set(backend.acknowledged[channel]) - set(present))


def await_deliveries(subscribers, backend):
    """Waits until every subscriber has every acknowledged event; gives up after ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not any(missing_numbers(subscriber.received[channel], backend, channel) for subscriber in subscribers for channel in CHANNELS):
            return
        time.sleep(0.05)


def pass_time(title, seconds, attacked):
    """Waits, and shows how much time is left; stops early if a broker ends."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and attacked.is_running:
        text = f"{title}: {left:.0f} s left, {attacked.memory >> 20} MiB at most"
        if sys.stdout.isatty():
            print(f"\r\x1b[K{text}", end="", flush=True)
        elif int(left) % 30 == 0:
            print(text, flush=True)
        time.sleep(min(1, left))
    if sys.stdout.isatty():
        print("\r\x1b[K", end="", flush=True)


def parse():
    parser = argparse.ArgumentParser(
        prog="make hostile", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10, help="minutes of attacks in all (10)")
    parser.add_argument("--quiet", type=float, default=30, help="seconds without attacks ahead of each (30)")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=SETTINGS, help="only these")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
