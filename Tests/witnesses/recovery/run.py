"""One run: clients of all kinds, one fault, and what came of it."""

import json
import random
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from programs import Broker

from .checker import Findings, check
from .clients import BrowserClients, start_clients
from .faults import SPOOL, SQLITE, Fault, Outcome
from .ledger import Ledger
from .publisher import Publisher
from .relay import DROP_FRAME, REPEAT_FRAME, SWAP_FRAMES, NetworkFaults, Relay

# Seconds.
ROUND = 3
# pusher-js pauses for 15, then 30, then 60 seconds behind attempts that fail.
DELIVERY_TIME_MAX = 150
CONFIRMATION_TIME = 4
BUSY_TIME, BUSY_INTERVAL = 2.0, 4.5


@dataclass(frozen=True)
class Size:
    """How much a run does."""

    #: The number of clients of each kind.
    clients: dict
    channels: int
    #: Messages per second.
    rate: float
    #: The run ends when it has so many deliveries and faults.
    deliveries: int
    faults: int
    #: The least number of stops or kills, where the broker is stopped or killed.
    restarts: int = 2
    #: The mean time that a connection lives, in seconds.
    lifetime: float = 3.0
    #: From the first fault until the first stop or kill, longer than a session's cursors may be behind the file; and the
    #: least and the longest time between two.
    first_restart: float = 6.0
    restart_pause: tuple = (2.5, 5.0)
    seconds_max: float = 3_600


class Run:
    """Starts broker, relay and clients, lets the fault work until the size is reached, and checks."""

    def __init__(self, fault, size, site, pages, seed, progress=lambda run: None, damage=None):
        """`pages`: a browser for each kind that needs one. `damage`: what the relay does to whole frames."""
        self.fault = fault
        self._size = size
        self._site = site
        self._pages = pages
        self._seed = seed
        self._random = random.Random(seed)
        self._progress = progress
        self._damage = damage
        self.restarts = 0
        channels = [f"channel-{number}" for number in range(1, size.channels + 1)]
        self._ledger = Ledger(channels)

    @property
    def deliveries(self):
        """The deliveries due so far."""
        return self._ledger.acknowledged * sum(self._size.clients.values())

    @property
    def faults(self):
        """The faults so far: cuts by the relay, and stops or kills of the broker."""
        return sum(self._relay.faults.values()) + self.restarts

    def outcomes(self):
        """Runs it; returns the outcome of each kind of client."""
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self._start_broker()
            stack.callback(lambda: self._broker.kill())
            self._relay = Relay(self._broker.port, self._seed)
            stack.callback(self._relay.close)
            clients = {}
            for kind, count in self._size.clients.items():
                port = self._relay.listen(kind, self._damage)
                clients[kind] = start_clients(
                    kind, port, self._ledger.channels, count, self._pages.get(kind), self._site, self._broker.url
                )
                stack.callback(clients[kind].end)
            self._publisher = Publisher(
                self._broker, self._ledger, self._size.rate, self.fault.store == SQLITE, self._seed
            )
            self._publisher.start()
            if any(kind.may_repeat for kind in clients):
                # A client with a token must have confirmed what it was told first, or it is told again.
                time.sleep(CONFIRMATION_TIME)
            self._set(NetworkFaults(self.fault.network, self._size.lifetime))
            self._let_fail([each for each in clients.values() if isinstance(each, BrowserClients)])
            self._set(NetworkFaults())
            self._publisher.stop()
            await_last(clients.values(), self._publisher, self._ledger, DELIVERY_TIME_MAX)
            return [self._outcome(kind, each.report) for kind, each in clients.items()]

    def _start_broker(self, port=None):
        file = self._folder / "fanfare.json"  # JSON is YAML as well.
        rules = [{"channel_prefix": "channel-", "keep": "always"}]
        recovery = {"rules": rules, "messages_max": 10_000, "bytes_max": 16 << 20, "replay_bytes_max": 16 << 20}
        configuration = {
            # A half-dead connection is noticed within seconds.
            "clients": {"activity_timeout": 3, "pong_timeout": 2},
            "apps": [{"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret, "recovery": recovery}],
        }
        if self.fault.store == SQLITE:
            rules[0]["store"] = "sqlite"
            configuration["recovery"] = {"database": str(self._folder / "history.sqlite")}
        elif self.fault.store == SPOOL:
            configuration["recovery"] = {"spool": str(self._folder / "spool")}
        file.write_text(json.dumps(configuration))
        self._broker = Broker(port=port, configuration=file)

    def _let_fail(self, pages):
        begin = time.monotonic()
        restart, busy = begin + self._size.first_restart, begin
        while not self._is_complete:
            if time.monotonic() - begin > self._size.seconds_max:
                raise AssertionError(
                    f"{self.fault.name}: {self.deliveries} deliveries and {self.faults} faults in {self._size.seconds_max} s"
                )
            self._publisher.check()
            if self.fault.signal and time.monotonic() > restart:
                self._restart()
                restart = time.monotonic() + self._random.uniform(*self._size.restart_pause)
            if self.fault.has_busy_pages and time.monotonic() > busy:
                for page in pages:
                    page.keep_busy(BUSY_TIME)
                busy = time.monotonic() + BUSY_INTERVAL
            self._progress(self)
            time.sleep(0.1)

    @property
    def _is_complete(self):
        is_enough = self.deliveries >= self._size.deliveries and self.faults >= self._size.faults
        return is_enough and (self.restarts >= self._size.restarts or not self.fault.signal)

    def _restart(self):
        self._broker.signal(self.fault.signal)
        self._broker.wait()
        self.restarts += 1
        self._start_broker(self._broker.port)

    def _set(self, faults):
        for kind in self._size.clients:
            self._relay.set(kind, faults)

    def _outcome(self, kind, reports):
        findings = Findings()
        for report in reports:
            for channel, log in report.items():
                findings += check(log, channel, self._ledger, self.fault.asks_at_end)
        cuts = sum(count for (group, _), count in self._relay.faults.items() if group == kind)
        return Outcome(kind, self.fault, cuts, self._relay.ended_by_broker[kind], self.restarts, findings)


def await_last(clients, publisher, ledger, seconds):
    """Publishes on each channel until every client has the last message; what it misses before that is a finding.

    Once is enough, except for who comes back later and is told of a gap.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        publisher.publish_everywhere()
        lasts = {channel: ledger.last(channel) for channel in ledger.channels}
        again = time.monotonic() + ROUND
        while time.monotonic() < again:
            if all(each.lasts == lasts for each in clients):
                return
            time.sleep(0.1)


def damaged(damage, counts):
    """The outcomes of clients whose connections stay, while one of many frames is damaged."""
    size = Size(counts, channels=4, rate=200, deliveries=1_000 * sum(counts.values()), faults=0)
    return Run(Fault(f"{damage} frames"), size, None, {}, seed=19, damage=damage).outcomes()


#: What a check must find of each damage, in a client without positions.
NOTICED = {DROP_FRAME: "lost", REPEAT_FRAME: "repeated", SWAP_FRAMES: "out_of_order"}
