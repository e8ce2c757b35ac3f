"""Kept HTTP connections: a request that is sent when the idle timeout ends is answered, through a relay that delays."""

import asyncio
import http.client
import json
import subprocess
import threading
import time

import pytest

from ports import free_port
from programs import Broker

IDLE = 2  # seconds of limits.request_idle_timeout
DELAY = 0.04  # seconds, each way
# Around the timeout, with the delay before and after it.
PAUSES = [IDLE + (step - 5) * 0.02 for step in range(11)]


class DelayingRelay:
    """Passes bytes, and the end of a connection, on after a delay."""

    def __init__(self, port):
        self.port, self._target = free_port(), port
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait()

    def _run(self, ready):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(self._relay, "127.0.0.1", self.port))
        ready.set()
        self._loop.run_forever()

    async def _relay(self, reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))

    async def _pass(self, reader, writer):
        try:
            while data := await reader.read(65536):
                self._loop.call_later(DELAY, writer.write, data)
        except ConnectionError:
            pass
        self._loop.call_later(DELAY, writer.close)

    def stop(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


@pytest.fixture
def relay(tmp_path):
    file = tmp_path / "fanfare.yaml"
    file.write_text(f"limits: {{request_idle_timeout: {IDLE}}}\n")
    with Broker(configuration=file) as broker:
        relay = DelayingRelay(broker.port)
        yield relay
        relay.stop()


def ask(connection):
    connection.request("GET", "/health")
    answer = connection.getresponse()
    answer.read()
    return answer


def test_python(relay):
    failed, kept = [], []

    def one(pause):
        connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=20)
        announced = ask(connection).headers["Keep-Alive"]
        kept.append(announced)
        time.sleep(pause)
        try:
            # http.client reconnects by itself, if it was told that the answer was the last.
            assert ask(connection).status == 200
        except OSError as error:
            failed.append((pause, error))

    threads = [threading.Thread(target=one, args=(pause,)) for pause in PAUSES for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert set(kept) == {f"timeout={IDLE - 1}"}


NODE = """
const http = require("http");
const [port, pauses] = [process.argv[1], JSON.parse(process.argv[2])];
const ask = (agent) => new Promise((resolve, reject) => {
  http.get({ port, host: "127.0.0.1", path: "/health", agent }, (answer) => {
    answer.resume().on("end", () => resolve(answer.statusCode));
  }).on("error", reject);
});
const one = async (pause) => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  await ask(agent);
  await new Promise((resolve) => setTimeout(resolve, pause * 1000));
  try { await ask(agent); return null; } catch (error) { return `${pause}: ${error.message}`; } finally { agent.destroy(); }
};
Promise.all(pauses.flatMap((pause) => Array.from({ length: 4 }, () => one(pause))))
  .then((failed) => console.log(JSON.stringify(failed.filter(Boolean))));
"""


def test_node(relay):
    run = subprocess.run(
        ["node", "-e", NODE, str(relay.port), json.dumps(PAUSES)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == []


def test_the_answer_in_the_grace_is_the_last(relay):
    connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=20)
    assert ask(connection).headers["Connection"] is None
    time.sleep(IDLE + 0.2)
    answer = ask(connection)
    assert (answer.status, answer.headers["Connection"], answer.headers["Keep-Alive"]) == (200, "close", None)
