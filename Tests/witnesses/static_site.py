"""A web site of constant files on loopback, on an origin of its own as an app's pages and a CDN have."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8"}
EMPTY_PAGE = "<!doctype html><title>A page</title>"


class StaticSite:
    """Serves texts by their paths, until it is closed.

    A function in `posts` gets a form, with the fields of the request that begin with X, and returns status and JSON.
    """

    def __init__(self, files, posts=None):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.split("?")[0]
                text = files.get(path)
                self.send_response(404 if text is None else 200)
                self.send_header("Content-Type", TYPES.get(path.rsplit(".")[-1], TYPES["html"]))
                self.end_headers()
                self.wfile.write((text or "").encode())

            def do_POST(self):
                form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                extra = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("x-")}
                status, answer = (posts or {})[self.path]({**form, **extra})
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
