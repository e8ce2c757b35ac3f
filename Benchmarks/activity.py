#!/usr/bin/env python3
"""Measures what an idle connection costs a phone, by the activity timeout, and how late a dead network is noticed.

usage: activity.py [--timeouts SECONDS…] [--idle SECONDS] [PROGRAM]

PROGRAM is the broker and the client, `fanfare`; the release build unless given. Each broker has clients behind a proxy: one of
the Swift SDK (`fanfare listen`), and pusher-js in Chromium if PUSHER_JS names a bundle and the tests' packages are installed
(PYTHONPATH=Tests/witnesses .venv/bin/python Benchmarks/activity.py). Bytes are those of the wire over IPv4, with all headers, from
the kernel's count of segments. A wake-up is traffic behind a second of silence: a phone's radio is switched on for it, and stays on
for several seconds. In the end the proxy passes nothing on, in neither direction, and closes nothing, as a network does that is gone.
"""

import argparse
import asyncio
import os
import socket
import struct
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from local_broker import Broker

FIRST_PORT = 18171
#: Of IPv4 and of TCP with time stamps.
HEADERS = 20 + 32
CHANNEL = "quiet"


class Proxy:
    """A proxy in front of one broker for one client, which counts the client's segments."""

    def __init__(self, port: int):
        self._target = port
        self._stream: asyncio.StreamWriter | None = None
        self._is_dead = False
        self._last = 0.0
        self.wake_ups = 0
        self.replaced = asyncio.Event()

    async def start(self) -> int:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_dead:
            # The client has given its connection up. (It may keep the socket for the answer to its close frame.)
            return self.replaced.set()
        self._stream = writer
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await self._read(reader):
            if self._is_dead:
                continue
            now = time.monotonic()
            self.wake_ups += now - self._last > 1
            self._last = now
            writer.write(data)
        if not self._is_dead:
            writer.close()

    @staticmethod
    async def _read(reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.read(65536)
        except ConnectionError:
            return b""

    @property
    def is_connected(self) -> bool:
        return self._stream is not None

    @property
    def wire_bytes(self) -> int:
        """Bytes of both directions so far (tcp(7), TCP_INFO)."""
        info = self._stream.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
        sent, received = struct.unpack_from("=QQ", info, 120)
        segments = sum(struct.unpack_from("=II", info, 136))
        return sent + received + segments * HEADERS

    async def time_until_noticed(self, within: float) -> float:
        """Passes nothing on; returns the seconds until the client opens another connection."""
        self._is_dead = True
        start = time.monotonic()
        await asyncio.wait_for(self.replaced.wait(), within)
        return time.monotonic() - start


def listen(program: str, port: int, stack: ExitStack) -> None:
    """A client of the Swift SDK."""
    command = [program, "listen", CHANNEL, "--url", f"ws://127.0.0.1:{port}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.kill)


def open_page(port: int, stack: ExitStack) -> None:
    """A client of pusher-js."""
    from browser import Page
    from static_site import EMPTY_PAGE, StaticSite

    bundle = Path(os.environ["PUSHER_JS"]).read_text()
    site = stack.enter_context(StaticSite({"/": EMPTY_PAGE, "/pusher.js": bundle}))
    page = Page()
    stack.callback(page.quit)
    page.open(site.url)
    page.run(
        """
        const script = Object.assign(document.createElement("script"), { src: "/pusher.js" });
        document.head.append(script);
        await new Promise((resolve) => (script.onload = resolve));
        const options = { wsHost: "127.0.0.1", wsPort: given[0], forceTLS: false, enabledTransports: ["ws"], cluster: "" };
        new Pusher("app-key", options).subscribe(given[1]);
        """,
        port, CHANNEL,
    )


async def measure(program: str, timeouts: list[int], idle: float) -> None:
    with ExitStack() as stack:
        proxies: dict[tuple[str, int], Proxy] = {}
        for number, timeout in enumerate(timeouts):
            port = FIRST_PORT + number
            await asyncio.to_thread(
                stack.enter_context, Broker(program, 1, {"CLIENTS_ACTIVITY_TIMEOUT": str(timeout)}, port)
            )
            proxy = proxies["Swift SDK", timeout] = Proxy(port)
            listen(program, await proxy.start(), stack)
            if "PUSHER_JS" in os.environ:
                proxy = proxies["pusher-js", timeout] = Proxy(port)
                await asyncio.to_thread(open_page, await proxy.start(), stack)
        deadline = time.monotonic() + 30
        while not all(proxy.is_connected for proxy in proxies.values()):
            assert time.monotonic() < deadline, "a client does not connect"
            await asyncio.sleep(0.1)
        await asyncio.sleep(5)
        before = {key: (proxy.wire_bytes, proxy.wake_ups) for key, proxy in proxies.items()}
        print(f"Measuring {len(proxies)} idle connections for {idle:g} seconds …", file=sys.stderr)
        await asyncio.sleep(idle)
        hours = idle / 3600
        costs = {
            key: ((proxy.wire_bytes - before[key][0]) / hours, (proxy.wake_ups - before[key][1]) / hours)
            for key, proxy in proxies.items()
        }
        noticed = dict(zip(proxies, await asyncio.gather(
            *(proxy.time_until_noticed(2 * max(timeouts) + 120) for proxy in proxies.values())
        )))
    if "PUSHER_JS" not in os.environ:
        print("Without pusher-js: PUSHER_JS names no bundle.", file=sys.stderr)
    print("| client | activity timeout | bytes an hour | wake-ups an hour | a dead network is noticed after |")
    print("|---|---|---|---|---|")
    for (client, timeout), (bytes_, wake_ups) in costs.items():
        print(f"| {client} | {timeout} s | {bytes_:,.0f} | {wake_ups:.0f} | {noticed[client, timeout]:.0f} s |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=str(Path(__file__).parent.parent / ".build/release/fanfare"))
    parser.add_argument("--timeouts", nargs="+", type=int, default=[30, 60, 120])
    parser.add_argument("--idle", type=float, default=600)
    options = parser.parse_args()
    asyncio.run(measure(options.program, options.timeouts, options.idle))


if __name__ == "__main__":
    main()
