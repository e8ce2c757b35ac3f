"""A backend that is told what happens on channels."""

import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from programs import START_TIME_MAX


class Receiver:
    """A backend on a free port that keeps each webhook that it accepts: its fields and its body as it came.

    `status` is what it answers; only what it answers with 200 is accepted.
    """

    def __init__(self, keeps_connections=True):
        self.status = 200
        self._webhooks = queue.Queue()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if receiver.status == 200:
                    receiver._webhooks.put((dict(self.headers.items()), body))
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                if not keeps_connections:
                    self.send_header("Connection", "close")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}/webhooks"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def next(self, timeout=START_TIME_MAX):
        return self._webhooks.get(timeout=timeout)

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        # For who waits without a timeout.
        self._webhooks.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
