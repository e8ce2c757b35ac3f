"""What fails, and what a client of each kind is promised meanwhile."""

import signal
from dataclasses import dataclass, field

from .checker import Findings
from .relay import KINDS, RESET

#: In memory alone; in memory, and a stop writes it; in the file.
MEMORY, SPOOL, SQLITE = "memory", "spool", "sqlite"


@dataclass(frozen=True)
class Fault:
    """What fails in a run."""

    name: str
    #: What the relay does to connections.
    network: tuple = ()
    #: The signal that the broker gets, again and again.
    signal: int | None = None
    store: str = MEMORY
    #: Whether the threads of pages are busy again and again, also at a fault: a browser receives meanwhile.
    has_busy_pages: bool = False
    #: Whether an acknowledged message may be published again.
    may_republish = False

    @property
    def may_gap(self):
        """Whether what was published before a restart is gone, and subscribers are told."""
        return self.signal is not None and self.store == MEMORY

    @property
    def asks_at_end(self):
        """Whether the broker asks its clients for a confirmation when it is stopped."""
        return self.signal == signal.SIGTERM

    @property
    def may_repeat_confirmed(self):
        """Whether a session's cursors may be those of a few seconds before."""
        return self.signal == signal.SIGKILL


def network_faults():
    """Each kind of failure of the network by itself, and resets while pages are busy."""
    faults = [Fault(name, network=(name,)) for name in KINDS]
    return [*faults, Fault("reset, busy page", network=(RESET,), has_busy_pages=True)]


def broker_faults():
    """Stops and kills of the broker, beside all failures of the network."""
    stop, kill = ("stop", signal.SIGTERM), ("kill", signal.SIGKILL)
    return [
        Fault(f"{verb}, {store}", network=KINDS, signal=number, store=store)
        for store, ends in ((MEMORY, (stop, kill)), (SPOOL, (stop,)), (SQLITE, (stop, kill)))
        for verb, number in ends
    ]


@dataclass
class Outcome:
    """What one kind of client got in a run."""

    kind: object
    fault: Fault
    #: Connections that the relay has ended, and those that ended with the broker.
    cuts: int
    ended_by_broker: int
    #: Stops or kills of the broker.
    restarts: int
    findings: Findings = field(default_factory=Findings)

    @property
    def violations(self):
        """What breaks a promise, in words."""
        found, broken = self.findings, []

        def must(holds, text):
            if not holds:
                broken.append(f"{self.kind.title}, {self.fault.name}: {text}")

        must(found.lost == 0, f"{found.lost} lost untold")
        # What is published again comes behind later messages.
        republished = found.repeated if self.fault.may_republish else 0
        must(found.out_of_order <= republished, f"{found.out_of_order} out of order")
        must(found.misnumbered == 0, f"{found.misnumbered} with another serial than the publisher was told")
        may_repeat = self.kind.may_repeat or self.fault.may_republish
        must(may_repeat or found.repeated == 0, f"{found.repeated} repeated")
        if not self.fault.may_repeat_confirmed:
            must(found.confirmed_repeated == 0, f"{found.confirmed_repeated} repeated that were confirmed")
        if not self.fault.may_gap:
            reasons = ", ".join(found.reasons)
            must(found.gaps == 0, f"{found.gaps} gaps told while the window held ({reasons})")
            must(found.told == 0, f"{found.told} missed while the window held")
        return broken
