"""The clients: real ones, in programs and browsers of their own, which record what they get."""

import json
import sys
import threading
import time
import uuid
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from browser import Page
from programs import Program

FOLDER = Path(__file__).resolve().parent
#: Seconds until all subscriptions are confirmed.
READY_TIME_MAX = 60


@dataclass(frozen=True)
class Kind:
    """A kind of client, and what it is promised."""

    name: str
    title: str
    #: Whether what it has not confirmed may come again.
    may_repeat: bool = False
    needs_pusher_js: bool = False
    #: Whether it keeps its place, or the broker does.
    is_tracked: bool = True


SDK = Kind("sdk", "Swift SDK")
FANFARE_JS = Kind("fanfare.js", "fanfare.js, Chromium")
ADD_ON = Kind("add-on", "pusher-js with the add-on, Chromium", needs_pusher_js=True)
TOKEN = Kind("token", "pusher-js with a token, Chromium", may_repeat=True, needs_pusher_js=True)
PYSHER = Kind("pysher", "Pysher with a token", may_repeat=True)
#: A client that nobody keeps a place for: it misses what comes while it is away.
STOCK = Kind("stock", "Pysher without a token", is_tracked=False)

PROMISED = (SDK, FANFARE_JS, ADD_ON, TOKEN, PYSHER)


class ProgramClients:
    """Clients in a program that is asked over its standard input."""

    def __init__(self, program):
        self._program = program
        program.await_line("^ready$", READY_TIME_MAX)

    @property
    def lasts(self):
        """The smallest last number of each channel."""
        self._program.type("lasts")
        return json.loads(self._program.await_line(r"^lasts (.*)")[1])

    @property
    def report(self):
        """The log of each channel, for each client."""
        self._program.type("report")
        reports = []
        while (line := self._program.await_line("^(log|end)").string) != "end":
            reports.append(json.loads(line.removeprefix("log ")))
        return reports

    def end(self):
        self._program.kill()


def sdk_clients(port, channels, count):
    return ProgramClients(
        Program(
            "recovery-subscribers",
            *("--url", f"ws://127.0.0.1:{port}", "--clients", count, "--channels", ",".join(channels)),
            is_typed_at=True,
        )
    )


def pysher_clients(port, channels, count, has_token):
    tokens = [f"--token={session_token() if has_token else ''}" for _ in range(count)]
    python = Path(sys.executable)
    return ProgramClients(
        Program(
            python.name,
            *(FOLDER / "pysher_subscribers.py", "--port", port, "--channels", ",".join(channels), *tokens),
            folder=python.parent,
            is_typed_at=True,
        )
    )


def session_token():
    """A time in base 36, a dash, and random characters."""
    number, digits = int(time.time() * 1000), ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return f"{digits}-{uuid.uuid4()}"


class BrowserClients:
    """Clients of one kind in a page of Chromium."""

    def __init__(self, page, site, kind, port, channels, count):
        self._page = page
        page.open(f"{site.url}/{kind.name}")
        options = {"kind": kind.name, "key": "app-key", "host": "127.0.0.1", "port": port}
        page.run(
            "const { subscribe } = await import('/subscribers.js'); window.clients = await subscribe(given[0]);",
            {**options, "channels": channels, "clients": count},
        )

    @property
    def lasts(self):
        return self._page.run("return clients.lasts()")

    @property
    def report(self):
        return self._page.run("return clients.report()")

    def end(self):
        self._page.open("about:blank")


class Site:
    """Serves the pages and their scripts, on an origin of their own."""

    def __init__(self, scripts):
        """`scripts`: the file of each path, which a page loads as a script or a module."""
        pages = {
            f"/{kind.name}": "".join(f'<script src="{path}"></script>' for path in page_scripts)
            for kind, page_scripts in (
                (FANFARE_JS, ()),
                (TOKEN, ("/pusher.js",)),
                (ADD_ON, ("/pusher.js", "/fanfare-pusher.js")),
            )
        }

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self):
                if self.path in pages:
                    content, kind = f"<!doctype html><title>Clients</title>{pages[self.path]}".encode(), "text/html"
                elif self.path in scripts:
                    content, kind = scripts[self.path].read_bytes(), "text/javascript"
                else:
                    return self.send_error(404)
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
