"""The table of docs/proof/reliability.md."""

from itertools import groupby

HEAD = (
    "Client", "Fault", "Cuts", "Stops, kills", "Deliveries due", "Lost, not reported", "Gaps reported",
    "Missed, reported", "Repeated", "Repeated though confirmed", "Out of order",
)


def row(outcome):
    found = outcome.findings
    return [
        outcome.kind.title, outcome.fault.name,
        *map(
            grouped,
            (
                outcome.cuts, outcome.restarts, found.due, found.lost, found.gaps, found.told, found.repeated,
                found.confirmed_repeated, found.out_of_order,
            ),
        ),
    ]


def table(outcomes):
    """Markdown, by client and fault."""
    outcomes = sorted(outcomes, key=lambda outcome: outcome.kind.title)
    lines = [HEAD, ["---"] * len(HEAD)]
    for _, group in groupby(outcomes, key=lambda outcome: outcome.kind.title):
        lines += [row(outcome) for outcome in group]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(outcomes):
    """The totals, and each client's share of the deliveries."""
    due = sum(outcome.findings.due for outcome in outcomes)
    cuts = sum(outcome.cuts for outcome in outcomes)
    restarts = sum({outcome.fault.name: outcome.restarts for outcome in outcomes}.values())
    ended = sum(outcome.ended_by_broker for outcome in outcomes)
    shares = {}
    for outcome in outcomes:
        shares[outcome.kind.title] = shares.get(outcome.kind.title, 0) + outcome.findings.due
    return "\n".join(
        [
            f"{grouped(due)} deliveries over {grouped(cuts)} cuts and {grouped(restarts)} stops and kills, "
            f"with which {grouped(ended)} more connections ended",
            *(f"    {title}: {grouped(count)} ({100 * count / max(due, 1):.1f} %)" for title, count in shares.items()),
        ]
    )


def grouped(number):
    return f"{number:,}"
