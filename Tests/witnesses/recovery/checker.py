"""Compares what a subscriber of a channel got with what was published there.

A log is what the subscriber has recorded, in order:

    [first, last, serial]   messages with consecutive numbers; `serial` of the first one, or null if it cannot be seen
    ["gap", reason]         it was told that messages are missing
    ["open"]                a connection was established (stock clients, whose messages may repeat behind it)
    ["ping", length]        the broker asked for a confirmation (stock clients); `length`: no less than what the broker may have
                            replayed on the connection since it asked before, in bytes as it counts them
"""

from collections import Counter
from dataclasses import dataclass, field, fields

#: The length of the shortest part of a replay that the broker asks behind although an answer is outstanding, in bytes.
PART_LENGTH_MIN = 128 << 10


@dataclass
class Findings:
    """The counts of one log, or of many."""

    #: Acknowledged messages.
    due: int = 0
    #: Acknowledged messages that did not arrive, and no gap says so.
    lost: int = 0
    #: Gaps that were told.
    gaps: int = 0
    #: Gaps told before any message, since the broker was started too recently to know whether a token is new.
    unsure: int = 0
    #: Acknowledged messages that are missing where a gap was told.
    told: int = 0
    #: Messages that came again.
    repeated: int = 0
    #: Messages that came again though the client had confirmed them.
    confirmed_repeated: int = 0
    #: Messages that came behind a later one for the first time, or again without a new connection in between.
    out_of_order: int = 0
    #: Messages with another serial than the publisher was answered.
    misnumbered: int = 0
    #: The reasons of the gaps.
    reasons: Counter = field(default_factory=Counter, compare=False)

    def __add__(self, other):
        return Findings(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


def check(log, channel, ledger, asks_at_end=False):
    """Returns the findings of one subscriber's log of a channel, which it subscribed before anything was published.

    `asks_at_end`: the broker may ask once more when it is stopped, although an answer is outstanding.
    """
    return _Check(channel, ledger, asks_at_end).run(log)


class _Check:
    def __init__(self, channel, ledger, asks_at_end):
        self._channel = channel
        self._ledger = ledger
        self._asks_at_end = asks_at_end
        self._findings = Findings(due=ledger.due(channel))
        # The greatest number so far, and the last one on this connection.
        self._greatest = 0
        self._previous = 0
        # Acknowledged numbers below the greatest that have not come, without a gap.
        self._missing = set()
        self._gap_told = False
        # The number at the last ping of this connection; what the last one confirms, if the broker was not stopped; and what
        # the client has certainly confirmed.
        self._pinged = 0
        self._likely = 0
        self._confirmed = 0

    def run(self, log):
        for entry in log:
            if entry == ["gap", "unknown_session"] and self._greatest == 0:
                self._findings.unsure += 1
                self._gap_told = True
            elif entry[0] == "gap":
                self._findings.gaps += 1
                self._findings.reasons[entry[1]] += 1
                self._gap_told = True
            elif entry[0] == "open":
                self._previous = self._pinged = self._likely = 0
            elif entry[0] == "ping":
                self._asked(entry[1])
            else:
                self._received(*entry)
        self._findings.lost = len(self._missing) + self._acknowledged(self._greatest + 1, self._ledger.count(self._channel))
        return self._findings

    def _asked(self, length):
        if length < PART_LENGTH_MIN:
            # Within a long replay the broker does not wait for an answer; otherwise it asks again only when it has all.
            self._confirmed = max(self._confirmed, self._likely if self._asks_at_end else self._pinged)
            self._likely = self._pinged
        self._pinged = self._previous

    def _received(self, first, last, serial):
        if last > self._ledger.count(self._channel):
            raise AssertionError(f"{self._channel} {last} was never published")
        if first <= self._greatest:
            self._received_again(first, min(last, self._greatest))
        if last > self._greatest:
            self._skipped(max(first, self._greatest + 1))
            self._greatest = last
        self._check_serials(first, last, serial)
        self._previous = last

    def _skipped(self, first):
        """Everything between the greatest number and this one is missing."""
        if self._gap_told:
            self._findings.told += self._acknowledged(self._greatest + 1, first - 1)
        else:
            self._missing.update(
                number for number in range(self._greatest + 1, first) if self._ledger.position(self._channel, number)
            )
        self._gap_told = False

    def _received_again(self, first, last):
        late = self._missing.intersection(range(first, last + 1))
        self._missing -= late
        self._findings.out_of_order += len(late)
        repeated = last - first + 1 - len(late)
        self._findings.repeated += repeated
        if first < self._previous:
            self._findings.out_of_order += repeated
        self._findings.confirmed_repeated += max(0, min(last, self._confirmed) - first + 1)

    def _check_serials(self, first, last, serial):
        if serial is None:
            return
        for number in range(first, last + 1):
            position = self._ledger.position(self._channel, number)
            if position and position[1] != serial + number - first:
                self._findings.misnumbered += 1

    def _acknowledged(self, first, last):
        return sum(1 for number in range(first, last + 1) if self._ledger.position(self._channel, number))
