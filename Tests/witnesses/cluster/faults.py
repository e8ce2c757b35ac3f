"""What fails, again and again, and what clients are promised meanwhile."""

import random
import time
from dataclasses import dataclass, field
from typing import Callable

from recovery.relay import KINDS


@dataclass(frozen=True)
class ClusterFault:
    """What fails in a run."""

    name: str
    #: Lets it occur once, and mends it.
    act: Callable | None = None
    #: What the relays between nodes and Redis do to connections.
    network: tuple = ()
    #: The least and the longest time between two occurrences, in seconds.
    pause: tuple = (0.5, 1.5)
    #: Whether messages may be gone with a primary, and subscribers are told.
    may_gap: bool = False
    #: Whether there are a replica and Sentinels.
    has_sentinels: bool = False
    #: The names of further settings below `cluster`.
    settings: dict = field(default_factory=dict)

    @property
    def may_republish(self):
        """Whether a message comes again, behind a gap that is told: subscribers have got what only a lost primary had, and who has
        no answer repeats it at the new one."""
        return self.has_sentinels

    @property
    def may_repeat_confirmed(self):
        """Whether a session's cursors may be those of a few seconds before: its owner was killed, or paused."""
        return True


def kill_node(world):
    node = random.choice(world.nodes)
    node.kill()
    time.sleep(random.uniform(0.1, 1))
    node.start()


def stop_node(world):
    node = random.choice(world.nodes)
    node.stop()
    node.start()


def pause_node(seconds):
    def act(world):
        node = random.choice(world.nodes)
        node.pause()
        time.sleep(seconds)
        node.resume()

    return act


def pause_redis(seconds):
    def act(world):
        world.primary.pause()
        time.sleep(seconds)
        world.primary.resume()

    return act


def kill_redis(world):
    world.primary.kill()
    time.sleep(random.uniform(0.1, 2))
    world.primary.start()


def kill_connections(world):
    world.primary.command("CLIENT", "KILL", "TYPE", random.choice(["normal", "pubsub"]))


def flush_scripts(world):
    world.primary.command("SCRIPT", "FLUSH")


def exhaust_memory(world):
    world.primary.command("CONFIG", "SET", "maxmemory", "1")
    time.sleep(random.uniform(0.2, 1.5))
    world.primary.command("CONFIG", "SET", "maxmemory", "0")


def overflow_output(world):
    """Redis ends the connections that get more at once than it keeps for them."""
    server = world.primary
    server.command("CONFIG", "SET", "client-output-buffer-limit", "normal 1mb 1mb 0 pubsub 1mb 1mb 0")
    topics = server.command("PUBSUB", "CHANNELS", "*:m:*:channel-*").split()
    # Nothing that a node understands.
    script = "for _ = 1, 8 do redis.call('PUBLISH', ARGV[1], string.rep('x', 262144)) end"
    server.command("EVAL", script, 0, random.choice(topics))


def flush_all(world):
    world.primary.command("FLUSHALL")


def fail_over(world):
    """A replica is promoted while the primary works."""
    former = world.sentinels.primary_port
    if world.sentinels.fail_over():
        world.await_primary(other_than=former)


def kill_primary(world):
    """The primary dies, a replica is promoted, and the other comes back as its replica."""
    former = world.primary
    former.kill()
    world.await_primary(other_than=former.port)
    former.start(replica_of=world.primary)
    # It may have been promoted again: beside a busy machine, Sentinels take the other one for dead.
    world.await_primary(other_than=None)


FAULTS = [
    ClusterFault("network", network=KINDS),
    ClusterFault("connections killed", kill_connections, pause=(0.2, 0.6)),
    ClusterFault("node killed", kill_node),
    ClusterFault("node stopped", stop_node),
    ClusterFault("node paused for 3 s", pause_node(3)),
    ClusterFault("node paused beyond its lease", pause_node(8)),
    ClusterFault("Redis paused for 2 s", pause_redis(2)),
    ClusterFault("scripts flushed", flush_scripts, pause=(0.2, 0.6)),
    ClusterFault("memory exhausted", exhaust_memory),
    ClusterFault("output limit of 1 MB", overflow_output),
    ClusterFault("Redis killed", kill_redis, may_gap=True),
    ClusterFault("Redis emptied", flush_all, pause=(2, 4), may_gap=True),
    ClusterFault("failover", fail_over, pause=(2, 4), may_gap=True, has_sentinels=True),
    ClusterFault("primary killed", kill_primary, pause=(2, 4), may_gap=True, has_sentinels=True),
]
