"""The clients: real ones, in programs and browsers of their own, which record what they get."""

import json
import sys
import threading
import time
import uuid
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

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

    def __init__(self, page, site, kind, port, channels, count, scripts):
        """`scripts`: the URL of the broker, which serves the scripts that are its own."""
        self._page = page
        page.open(site.url + ("/pusher.html" if kind.needs_pusher_js else "/"))
        page.run(
            "const { subscribe } = await import('/subscribers.js'); window.clients = await subscribe(given[0]);",
            {
                **{"kind": kind.name, "key": "app-key", "host": "127.0.0.1", "port": port},
                **{"channels": channels, "clients": count, "scripts": scripts},
            },
        )

    @property
    def lasts(self):
        return self._page.run("return clients.lasts()")

    @property
    def report(self):
        return self._page.run("return clients.report()")

    def keep_busy(self, seconds):
        """Blocks the page's thread from now on; returns at once."""
        self._page.run(
            "setTimeout(() => { const end = Date.now() + given[0] * 1000; while (Date.now() < end); })", seconds
        )

    def end(self):
        self._page.open("about:blank")


def start_clients(kind, port, channels, count, page=None, site=None, scripts=None):
    """Clients of any kind. For those in a browser `page` is one, and `site` and `scripts` as above."""
    if kind == SDK:
        return sdk_clients(port, channels, count)
    if kind in (PYSHER, STOCK):
        return pysher_clients(port, channels, count, has_token=kind == PYSHER)
    assert kind in (FANFARE_JS, ADD_ON, TOKEN)
    return BrowserClients(page, site, kind, port, channels, count, scripts)


class Site:
    """Serves the page of an app, on an origin of its own, with pusher-js or without."""

    def __init__(self, pusher_js=None):
        """`pusher_js`: the file of the bundle."""
        page = "<!doctype html><title>Clients</title>"
        contents = {
            "/": ("text/html", page.encode()),
            "/pusher.html": ("text/html", f'{page}<script src="/pusher.js"></script>'.encode()),
            "/subscribers.js": ("text/javascript", (FOLDER / "subscribers.js").read_bytes()),
        }
        if pusher_js:
            contents["/pusher.js"] = ("text/javascript", Path(pusher_js).read_bytes())

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path not in contents:
                    return self.send_error(404)
                kind, content = contents[self.path]
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
