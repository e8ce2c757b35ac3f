"""Takes webhooks and throws them away: the address on its first line, what came on its last.

Events come in batches, so both are counted. It ends with its standard input.
"""

import collections
import http.server
import json
import sys
import threading

requests = 0
events = collections.Counter()
lock = threading.Lock()


class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        global requests
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with lock:
            requests += 1
            events.update(event["name"] for event in body["events"])
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
sys.stdin.read()
kinds = ", ".join(f"{count} {name}" for name, count in sorted(events.items()))
print(f"Webhooks: {requests} requests with {kinds or 'nothing'}", flush=True)
