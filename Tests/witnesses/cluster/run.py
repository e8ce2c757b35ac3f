"""One run: clients of all kinds on three nodes, one fault, and what came of it."""

import copy
import random
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pusher

from programs import await_true
from recovery.checker import Findings, check
from recovery.clients import start_clients
from recovery.faults import Outcome
from recovery.ledger import Ledger
from recovery.publisher import Publisher
from recovery.relay import NetworkFaults, Relay
from recovery.run import await_last

from .members import CHANNEL, Room
from .nodes import LEASE, Backends, Balancer, Node, any_running
from .servers import RedisServer, Sentinels
from .webhooks import Attendance

# Seconds.
#: Until all clients have the last message: who was closed may pause before it connects again.
DELIVERY_TIME_MAX = 90
#: Until nobody believes in a member that has gone: the lease, two seconds to notice, and some to reconnect.
GHOST_TIME_MAX = LEASE + 8
#: Until a backend is told who has left: the lease of the leader, three seconds for a return, one of the timer, and attempts.
WEBHOOK_TIME_MAX = LEASE + 16
CONFIRMATION_TIME = 4


@dataclass(frozen=True)
class Size:
    """How much a run does."""

    #: The number of clients of each kind.
    clients: dict
    channels: int = 4
    #: Messages per second.
    rate: float = 200
    #: The run ends when it has so many deliveries and faults.
    deliveries: int = 5_000
    faults: int = 5
    members: int = 6
    nodes: int = 3
    #: The mean time that a connection to Redis lives where the network fails, in seconds.
    lifetime: float = 1.5
    seconds_max: float = 1_800


class ClusterRun:
    """Starts Redis, nodes and clients, lets the fault occur until the size is reached, and checks."""

    def __init__(self, fault, size, seed, site=None, pages=None, progress=lambda run: None):
        self.fault = fault
        self._size = size
        self._seed = seed
        self._site = site
        self._pages = pages or {}
        self._progress = progress
        self._random = random.Random(seed)
        self._ledger = Ledger([f"channel-{number}" for number in range(1, size.channels + 1)])
        self._occurred = 0
        #: What members believed at the end though it was not so; empty if all agreed.
        self.ghosts = {}
        #: What webhooks have told wrongly.
        self.misreports = []
        #: What webhooks have told.
        self.attendance = Attendance()
        #: Batches that were not acknowledged at once.
        self.unanswered = 0

    @property
    def deliveries(self):
        """The deliveries due so far."""
        return self._ledger.acknowledged * sum(self._size.clients.values())

    @property
    def faults(self):
        """The faults so far."""
        return self._occurred + sum(self._relay.faults.values())

    # What faults act on.

    @property
    def primary(self):
        """The server that is the primary."""
        return next(server for server in self._servers if server.port == self._primary_port)

    def await_primary(self, other_than):
        """Waits until the Sentinels name another primary, and the former one follows it if it runs."""
        await_true(
            lambda: self.sentinels.primary_port not in (None, other_than) and self._other_is_primary(other_than),
            "a promoted replica", seconds=30,
        )
        self._primary_port = self.sentinels.primary_port

    def _other_is_primary(self, port):
        return any(server.port != port and server.is_primary for server in self._servers)

    def outcomes(self):
        """Runs it; returns the outcome of each kind of client."""
        with ExitStack() as stack:
            stack.callback(self.attendance.close)
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self._start_servers(stack)
            self._start_nodes(stack)
            balancer = Balancer(lambda: any_running(self.nodes), self._seed)
            stack.callback(balancer.close)
            port = balancer.listen("clients")
            scripts = f"http://127.0.0.1:{self.nodes[0].port}"
            clients = {
                kind: start_clients(
                    kind, port, self._ledger.channels, count, self._pages.get(kind), self._site, scripts
                )
                for kind, count in self._size.clients.items()
            }
            for each in clients.values():
                stack.callback(each.end)
            backends = Backends(self.nodes)
            room = Room(port, backends, self._size.members)
            stack.callback(room.end)
            publisher = Publisher(backends, self._ledger, self._size.rate, repeats=True, seed=self._seed)
            publisher.start()
            time.sleep(CONFIRMATION_TIME)
            self._let_fail(publisher)
            publisher.stop()
            self.unanswered = publisher.unanswered
            await_last(clients.values(), publisher, self._ledger, DELIVERY_TIME_MAX)
            self._check_members(room)
            self._check_webhooks(room)
            return [self._outcome(kind, each.report) for kind, each in clients.items()]

    def _start_servers(self, stack):
        primary = RedisServer()
        stack.callback(primary.end)
        self._servers, self._primary_port, self.sentinels = [primary], primary.port, None
        if self.fault.has_sentinels:
            replica = RedisServer(replica_of=primary)
            stack.callback(replica.end)
            self._servers.append(replica)
            self.sentinels = Sentinels(primary)
            stack.callback(self.sentinels.end)

    def _start_nodes(self, stack):
        self._relay = Relay(self.primary.port, self._seed)
        stack.callback(self._relay.close)
        self.nodes = []
        for number in range(1, self._size.nodes + 1):
            settings = copy.deepcopy(self.fault.settings)
            node = Node(
                number, self._folder, self.attendance.endpoint, self._relay, self.sentinels, **settings
            )
            stack.callback(node.end)
            node.start()
            self.nodes.append(node)

    def _let_fail(self, publisher):
        begin = time.monotonic()
        self._set(NetworkFaults(self.fault.network, self._size.lifetime))
        next_fault = begin + self._random.uniform(*self.fault.pause)
        while self.deliveries < self._size.deliveries or self.faults < self._size.faults:
            assert time.monotonic() - begin < self._size.seconds_max, (
                f"{self.fault.name}: {self.deliveries} deliveries and {self.faults} faults in {self._size.seconds_max} s"
            )
            publisher.check()
            if self.fault.act and time.monotonic() > next_fault:
                self.fault.act(self)
                self._occurred += 1
                next_fault = time.monotonic() + self._random.uniform(*self.fault.pause)
            self._progress(self)
            time.sleep(0.05)
        self._set(NetworkFaults())

    def _set(self, faults):
        for node in self.nodes:
            if not self.fault.has_sentinels:
                self._relay.set(node.name, faults)

    def _check_members(self, room):
        """Lets half of the members go; then every node and every member must know who is left."""
        room.settle()
        room.leave(self._size.members // 2)
        deadline = time.monotonic() + GHOST_TIME_MAX
        while (ghosts := self._ghosts(room)) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.ghosts = ghosts

    def _check_webhooks(self, room):
        """In the end a backend knows who is there, and was told of each who came or left once."""
        deadline = time.monotonic() + WEBHOOK_TIME_MAX
        while (present := self.attendance.present) != set(room.members) and time.monotonic() < deadline:
            time.sleep(0.1)
        if self.fault.may_gap:
            # A lost primary takes with it what was not told yet.
            return
        if wrong := present ^ set(room.members):
            self.misreports.append(f"webhooks: not as they tell: {sorted(wrong)}")
        self.misreports += [f"webhooks: {text}" for text in self.attendance.violations]

    def _ghosts(self, room):
        ghosts = room.disagreements()
        for node in self.nodes:
            client = pusher.Pusher(
                app_id=Backends.app_id, key=Backends.key, secret=Backends.secret, host="127.0.0.1", port=node.port,
                ssl=False,
            )
            users = {user["id"] for user in client.users_info(CHANNEL)["users"]}
            if users != set(room.members):
                ghosts[node.name] = sorted(users ^ set(room.members))
        return ghosts

    def _outcome(self, kind, reports):
        findings = Findings()
        for report in reports:
            for channel, log in report.items():
                if not kind.is_tracked:
                    # Nobody keeps a place for it: it misses what comes while it is away, and knows that it was.
                    log = [["gap", "away"] if entry == ["open"] else entry for entry in log]
                findings += check(log, channel, self._ledger)
        if not kind.is_tracked:
            findings.gaps = findings.told = 0
        if self.fault.may_gap:
            # What only a lost primary had was delivered, and repeated by its publisher it has another place.
            findings.misnumbered = 0
        return Outcome(kind, self.fault, sum(self._relay.faults.values()), 0, self._occurred, findings)
