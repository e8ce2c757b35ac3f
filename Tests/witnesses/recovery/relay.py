"""A relay between clients and the broker whose connections fail."""

import asyncio
import random
import socket
import struct
import threading
from collections import Counter
from dataclasses import dataclass

#: Closes the connection, as a process does that ends.
CUT = "cut"
#: Resets it, as a machine does that has lost its memory of it.
RESET = "reset"
#: Swallows one direction while the other goes on, as a network address translator may; both end seconds later.
SWALLOW = "swallow"
KINDS = (CUT, RESET, SWALLOW)

#: Damages of whole frames, which no network does: a checker must notice what they do to a client without positions.
DROP_FRAME, REPEAT_FRAME, SWAP_FRAMES = "dropped", "repeated", "swapped"
DAMAGED_EVERY = 23

# Bytes: the upgrade, the subscriptions and the beginning of a replay are within these.
UPSTREAM_START, DOWNSTREAM_START = 1_500, 20_000
# The share of the faults that occur there; the others occur later, at a random byte of what is sent then.
START_SHARE = 0.35
# Seconds.
SWALLOWED_TIME = (0.3, 4.0)
SILENCE_MAX = 0.5
# As a load balancer waits for a server that starts: behind a refused attempt pusher-js pauses for 15 seconds and more.
BROKER_TIME_MAX = 1.0


@dataclass(frozen=True)
class NetworkFaults:
    """The faults of connections; none by default."""

    kinds: tuple = ()
    #: The mean time that a connection lives, in seconds.
    lifetime: float = 3.0


class Relay:
    """Listens on one port for each group of clients; the faults and their counts belong to the group."""

    def __init__(self, broker_port, seed):
        self.broker_port = broker_port
        #: The number of faults that have occurred, by group and kind.
        self.faults = Counter()
        #: The connections that the broker or its end has closed, by group.
        self.ended_by_broker = Counter()
        self._settings, self._damages = {}, {}
        self.links = set()
        self.random = random.Random(seed)
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def listen(self, group, damage=None):
        """Returns the port of a group of clients, whose frames are damaged, or not."""
        self._settings[group] = NetworkFaults()
        self._damages[group] = damage
        return self._call(self._listen(group))

    async def _listen(self, group):
        def accept():
            damage = self._damages[group]
            return Link(self, group, damage and FrameDamage(damage, self.random)).near

        server = await self.loop.create_server(accept, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    def set(self, group, faults):
        """Sets the faults of a group's connections, also of open ones, in place of earlier faults."""
        self.loop.call_soon_threadsafe(self._set, group, faults)

    def _set(self, group, faults):
        self._settings[group] = faults
        for link in [link for link in self.links if link.group == group]:
            link.plan(faults, self.random)

    def settings(self, group):
        return self._settings[group]

    def close(self):
        async def end():
            for link in list(self.links):
                link.reset()

        self._call(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)


class Link:
    """A client's connection and the one to the broker that belongs to it."""

    def __init__(self, relay, group, damage):
        self.relay = relay
        self.group = group
        self.near = End(self, is_client=True)
        self.far = End(self, is_client=False)
        self.far.damage = damage
        self.near.other, self.far.other = self.far, self.near
        self._timer = None

    def opened(self):
        """The client has connected."""
        self.relay.links.add(self)
        self.plan(self.relay.settings(self.group), self.relay.random)
        asyncio.ensure_future(self._connect())

    async def _connect(self):
        self.near.transport.pause_reading()
        loop = self.relay.loop
        deadline = loop.time() + BROKER_TIME_MAX
        while True:
            try:
                await loop.create_connection(lambda: self.far, "127.0.0.1", self.relay.broker_port)
                break
            except OSError:
                if self.near.is_closed or loop.time() > deadline:
                    return self.close()
                await asyncio.sleep(0.05)
        if self.near.is_closed:
            return self.close()
        self.near.transport.resume_reading()

    def plan(self, faults, generator):
        """Decides when and how this connection fails."""
        self.random = generator
        self._stop_timer()
        for end in (self.near, self.far):
            end.fault, end.budget = None, None
        if not faults.kinds:
            return
        source = generator.choice((self.near, self.far, self.far))
        source.fault = generator.choice(faults.kinds)
        if generator.random() < START_SHARE:
            source.budget = generator.randrange(UPSTREAM_START if source.is_client else DOWNSTREAM_START)
        else:
            self._after(generator.expovariate(1 / faults.lifetime), self._arm, source)

    def _arm(self, source):
        """Lets the fault occur within the next bytes, or shortly if there are none."""
        source.budget = -1
        self._after(SILENCE_MAX, self.fail, source)

    def fail(self, source):
        """The fault of one direction occurs."""
        kind, source.fault = source.fault, None
        self._stop_timer()
        self.relay.faults[self.group, kind] += 1
        if kind == CUT:
            self.close()
        elif kind == RESET:
            self.reset()
        else:
            source.is_swallowed = True
            self._after(self.random.uniform(*SWALLOWED_TIME), self.reset)

    def close(self):
        self._end(lambda transport: transport.close())

    def reset(self):
        def reset(transport):
            linger = struct.pack("ii", 1, 0)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            transport.abort()

        self._end(reset)

    def ended(self, end):
        """One of the two connections has ended."""
        if not end.is_client and self in self.relay.links:
            self.relay.ended_by_broker[self.group] += 1
        self.close()

    def _end(self, action):
        self._stop_timer()
        self.relay.links.discard(self)
        for end in (self.near, self.far):
            if end.transport and not end.is_closed:
                action(end.transport)

    def _after(self, seconds, action, *arguments):
        self._stop_timer()
        self._timer = self.relay.loop.call_later(seconds, action, *arguments)

    def _stop_timer(self):
        if self._timer:
            self._timer.cancel()
        self._timer = None


class End(asyncio.Protocol):
    """One of the two connections of a link; what it receives goes to the other."""

    def __init__(self, link, is_client):
        self.is_client = is_client
        self.transport = None
        self.is_closed = False
        self.is_swallowed = False
        #: The fault of what is received here, and the bytes until then; -1 for somewhere in the next ones.
        self.fault = None
        self.budget = None
        self.damage = None
        self._link = link

    def connection_made(self, transport):
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.is_client:
            self._link.opened()

    def data_received(self, data):
        if self.is_swallowed or self.other.is_closed:
            return
        if self.damage:
            data = self.damage.pass_on(data)
        fails = False
        if self.fault and self.budget is not None:
            if self.budget < 0:
                self.budget = self._link.random.randrange(len(data))
            fails = self.budget < len(data)
            if fails:
                data = data[: self.budget]
            self.budget -= len(data)
        self.other.transport.write(data)
        if fails:
            self._link.fail(self)

    def pause_writing(self):
        if not self.other.is_closed:
            self.other.transport.pause_reading()

    def resume_writing(self):
        if not self.other.is_closed:
            self.other.transport.resume_reading()

    def connection_lost(self, _):
        self.is_closed = True
        self._link.ended(self)


class FrameDamage:
    """Damages one of `DAMAGED_EVERY` events of a publisher, as a whole frame of the broker."""

    def __init__(self, damage, generator):
        self._damage = damage
        self._count = generator.randrange(DAMAGED_EVERY)
        self._pending = b""
        self._is_upgraded = False
        self._held = b""

    def pass_on(self, data):
        """Returns what goes on: whole frames."""
        self._pending += data
        passed = b""
        if not self._is_upgraded:
            head, separator, rest = self._pending.partition(b"\r\n\r\n")
            if not separator:
                return b""
            passed, self._pending, self._is_upgraded = head + separator, rest, True
        while length := frame_length(self._pending):
            frame, self._pending = self._pending[:length], self._pending[length:]
            passed += self._damaged(frame)
        return passed

    def _damaged(self, frame):
        if b'"event":"message"' not in frame:
            return frame
        if self._held:
            frame, self._held = frame + self._held, b""
            return frame
        self._count += 1
        if self._count % DAMAGED_EVERY:
            return frame
        if self._damage == DROP_FRAME:
            return b""
        if self._damage == REPEAT_FRAME:
            return frame + frame
        self._held = frame
        return b""


def frame_length(data):
    """The bytes of the whole unmasked frame that `data` begins with (RFC 6455, 5.2); 0 if it is not complete."""
    if len(data) < 2:
        return 0
    size, start = data[1] & 0x7F, 2
    if size == 126:
        size, start = int.from_bytes(data[2:4], "big"), 4
    elif size == 127:
        size, start = int.from_bytes(data[2:10], "big"), 10
    return start + size if start <= len(data) and start + size <= len(data) else 0
