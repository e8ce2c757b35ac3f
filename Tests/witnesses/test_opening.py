"""A page with the unmodified pusher-js of PUSHER_JS triggers a job, and only then subscribes to what it says."""

import hashlib
import hmac
import json
import os
import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from programs import Broker

CONFIGURATION = """
listen: {port: 0}
loops: 2
apps:
  - id: 1
    key: app-key
    secret: app-secret
    recovery:
      rules:
        - channel_prefix: job-
          keep: always
          opening: replay
"""

# Each round triggers an event before its subscription, and one that arrives at any time about it.
PAGE = """<!doctype html><script src="/pusher.js"></script><script>
async function race(port, first, rounds, width) {
  const pusher = new Pusher("app-key", {
    wsHost: location.hostname, wsPort: port, forceTLS: false, enabledTransports: ["ws"], cluster: "x",
  });
  await new Promise((resolve) => pusher.connection.bind("connected", resolve));
  const result = { complete: 0, lost: [], wrong: [] };
  let next = first;
  async function round(number) {
    const name = `job-${number}`, seen = [];
    const trigger = (data) => fetch(`/trigger?channel=${name}&data=${data}`, { method: "POST" });
    await trigger(1);
    const second = trigger(2);
    const arrived = new Promise((resolve) => {
      const timer = setTimeout(resolve, 20000);
      pusher.subscribe(name).bind("e", (data) => {
        seen.push(data);
        if (seen.length >= 2) { clearTimeout(timer); resolve(); }
      });
    });
    await second;
    await arrived;
    if (seen.length < 2) result.lost.push([name, seen]);
    else if (`${seen}` !== "1,2") result.wrong.push([name, seen]);
    else result.complete++;
    pusher.unsubscribe(name);
  }
  await Promise.all(Array.from({ length: width }, async () => { while (next < first + rounds) await round(next++); }));
  pusher.disconnect();
  return result;
}
</script>"""


class Backend(BaseHTTPRequestHandler):
    """The page, pusher-js, and a backend that triggers what the page asks for."""

    protocol_version = "HTTP/1.1"
    connections = threading.local()

    def log_message(self, *_):
        pass

    def do_GET(self):
        script = self.path == "/pusher.js"
        body = self.server.script if script else PAGE.encode()
        self.answer(body, "text/javascript" if script else "text/html")

    def do_POST(self):
        query = parse_qs(urlsplit(self.path).query)
        body = json.dumps({"name": "e", "channel": query["channel"][0], "data": query["data"][0]})
        assert self.trigger(body.encode()) == 200
        self.answer(b"", "text/plain")

    def trigger(self, body):
        pairs = {
            "auth_key": "app-key",
            "auth_timestamp": str(int(time.time())),
            "auth_version": "1.0",
            "body_md5": hashlib.md5(body).hexdigest(),
        }
        signed = "&".join(f"{name}={value}" for name, value in sorted(pairs.items()))
        text = f"POST\n/apps/1/events\n{signed}"
        signature = hmac.new(b"app-secret", text.encode(), hashlib.sha256).hexdigest()
        if not hasattr(self.connections, "broker"):
            self.connections.broker = HTTPConnection("127.0.0.1", self.server.broker_port)
        connection = self.connections.broker
        connection.request("POST", f"/apps/1/events?{signed}&auth_signature={signature}", body)
        response = connection.getresponse()
        response.read()
        return response.status

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True


def test_a_page_that_triggers_and_then_subscribes_misses_nothing(browsers, tmp_path):
    if not (path := os.environ.get("PUSHER_JS")):
        pytest.skip("PUSHER_JS names no bundle of pusher-js")
    rounds = int(os.environ.get("OPENING_ROUNDS", "1000"))
    file = tmp_path / "fanfare.yaml"
    file.write_text(CONFIGURATION)
    with Broker(configuration=file) as broker, Server(("127.0.0.1", 0), Backend) as server:
        server.script = Path(path).read_bytes()
        server.broker_port = broker.port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browsers[0].open(f"http://127.0.0.1:{server.server_port}/")
        result = {"complete": 0, "lost": [], "wrong": []}
        # In portions, each shorter than the browser lets a script run.
        for portion in range(0, rounds, 500):
            count = min(500, rounds - portion)
            part = browsers[0].run(f"return race({broker.port}, {portion}, {count}, 16)")
            result["complete"] += part["complete"]
            result["lost"] += part["lost"]
            result["wrong"] += part["wrong"]
        server.shutdown()
    print(result)
    assert result == {"complete": rounds, "lost": [], "wrong": []}
