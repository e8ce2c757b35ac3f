"""Ports of servers that a test starts."""

import collections
import random
import socket

#: The most ports that are reserved among processes: those of servers that may not listen yet.
RESERVED_MAX = 200

_PORTS = range(20_000, 32_768)
_given = set()
_reserved = collections.deque()


def free_port():
    """A port that nothing on 127.0.0.1 listens on, for a server that is told its port, as one that starts again.

    It is below the ports that Linux gives to outgoing connections and to listeners on port 0 (32768 and more):
    while the server is away, the kernel gives it to nobody else. No two calls give the same one: what is free here is not
    yet that of the server to which it was given, and the same holds between processes that run tests at once.
    """
    while True:
        port = random.choice(_PORTS)
        if len(_given) > len(_PORTS) // 2:
            # Some were given so long ago that they are free again.
            _given.clear()
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if not _reserve(port):
            continue
        _given.add(port)
        return port


def _reserve(port):
    """Whether no other process that runs tests has been given the port of late, whose server may not listen yet."""
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # An abstract name, which ends with its socket.
        name.bind(f"\0fanfare-test-port-{port}")
    except OSError:
        name.close()
        return False
    if len(_reserved) == RESERVED_MAX:
        _reserved.popleft().close()
    _reserved.append(name)
    return True


def accepts(port):
    """Whether something listens on the port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
