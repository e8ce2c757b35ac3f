"""A broker with an archive is killed under load: what was answered reaches everybody who tracks the channel, once.

KILLS=1000 kills it a thousand times in place of twenty.
"""

import contextlib
import hashlib
import hmac
import http.client
import json
import os
import random
import re
import sqlite3
import threading
import time

import pytest
import websocket

from programs import START_TIME_MAX, Broker, await_true, run

CHANNELS = ["stored-orders", "stored-news"]
KILLS = int(os.environ.get("KILLS", 20))


def configuration(folder, **settings):
    """A file with the development app, whose channels `stored-…` are in the archive."""
    rule = {"channel_prefix": "stored-", "store": "sqlite", "keep": "always", "messages_max": 1000000}
    rule.update(bytes_max="1024 MiB", age_max=86400)
    app = {"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret}
    app["recovery"] = {"rules": [rule], "replay_messages_max": 1000000, "replay_bytes_max": "256 MiB"}
    file = folder / "fanfare.json"  # JSON is YAML as well.
    settings.setdefault("recovery", {"database": str(folder / "history.sqlite")})
    file.write_text(json.dumps({"apps": [app], "loops": 2, **settings}))
    return file


class Backend:
    """Triggers each event until it is answered with 200, under a key of its own."""

    def __init__(self, port):
        self._port = port
        self._connection = None

    def trigger(self, channel, data, key, deadline):
        """Triggers an event; returns its position, or None if the time is over."""
        while time.monotonic() < deadline:
            try:
                status, answer = self._post(channel, data, key)
            except (OSError, http.client.HTTPException):
                self._connection = None
                time.sleep(0.01)
                continue
            if status == 200:
                return answer["channels"][channel]["position"]
            assert status == 503, answer
        return None

    def _post(self, channel, data, key):
        event = {"name": "e", "channel": channel, "data": data, "info": "position"}
        body = json.dumps({**event, "idempotency_key": key})
        path = f"/apps/{Broker.app_id}/events"
        query = (
            f"auth_key={Broker.key}&auth_timestamp={int(time.time())}&auth_version=1.0"
            f"&body_md5={hashlib.md5(body.encode()).hexdigest()}"
        )
        text = f"POST\n{path}\n{query}"
        code = hmac.new(Broker.secret.encode(), text.encode(), hashlib.sha256).hexdigest()
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        self._connection.request("POST", f"{path}?{query}&auth_signature={code}", body)
        answer = self._connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if answer.status == 200 else content


class Tracker:
    """A client that tracks its position on one channel over all of its connections."""

    def __init__(self, port, channel, position=None):
        self._url = f"ws://127.0.0.1:{port}/app/{Broker.key}?protocol=7"
        self.channel = channel
        self.position = position
        self.streams, self.gaps, self.events = set(), [], []
        self.faults = []
        self.connections = 0
        self._is_over = False
        self._socket = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._is_over:
            with contextlib.suppress(OSError, websocket.WebSocketException):
                self._socket = websocket.create_connection(self._url, timeout=START_TIME_MAX)
                while text := self._socket.recv():
                    self._receive(json.loads(text))
            time.sleep(0.01)

    def _receive(self, message):
        name = message["event"]
        if name == "pusher:connection_established":
            data = {"channel": self.channel, "position": self.position or {}}
            self._socket.send(json.dumps({"event": "pusher:subscribe", "data": data}))
        elif name == "pusher_internal:subscription_succeeded":
            start = json.loads(message["data"])
            if "gap" in start:
                self.gaps.append(start["gap"])
            self.connections += 1
            self.position = start["position"]
            self.streams.add(self.position["stream"])
        elif message.get("serial"):
            if message["serial"] != self.position["serial"] + 1:
                self.faults.append((self.position, message))
            self.position = {**self.position, "serial": message["serial"]}
            self.events.append(message["data"])

    def close(self):
        self._is_over = True
        self._socket.close()
        self._thread.join()


class Load:
    """Publishers that together trigger a number of events a second, on all channels."""

    def __init__(self, port, publishers=8, rate=1000):
        self.answered = {channel: {} for channel in CHANNELS}
        self._is_over = threading.Event()
        self._pause = publishers / rate
        self._threads = [
            threading.Thread(target=self._run, args=(port, number)) for number in range(publishers)
        ]
        self.start = time.monotonic()
        for thread in self._threads:
            thread.start()

    def _run(self, port, number):
        backend = Backend(port)
        count = 0
        due = time.monotonic()
        while not self._is_over.is_set():
            channel, data = CHANNELS[count % len(CHANNELS)], f"{number}.{count}"
            position = backend.trigger(channel, data, data, time.monotonic() + 60)
            assert position is not None, f"{data} was not answered in a minute"
            self.answered[channel][data] = position
            count += 1
            due = max(due + self._pause, time.monotonic() - 1)
            time.sleep(max(0, due - time.monotonic()))

    def stop(self):
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        self.rate = sum(map(len, self.answered.values())) / (time.monotonic() - self.start)


def check_file(database, answered):
    """The file is whole: each channel has the serials from 1 on, and each answered event at its position."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for channel, events in answered.items():
            (row, stream) = connection.execute(
                "SELECT id, stream FROM streams WHERE channel = ?", [channel]
            ).fetchone()
            rows = connection.execute(
                "SELECT serial, text FROM messages WHERE stream = ? ORDER BY serial", [row]
            ).fetchall()
            assert [serial for serial, _ in rows] == list(range(1, len(rows) + 1))
            texts = dict(rows)
            for data, position in events.items():
                assert position["stream"] == stream
                text = texts[position["serial"]].decode(errors="replace")
                assert f'"{data}"' in text, (data, position, text)


@pytest.mark.timeout(120 + 2 * KILLS)
def test_kills_lose_nothing_and_repeat_nothing(tmp_path):
    file = configuration(tmp_path)
    broker = Broker(configuration=file)
    port = broker.port
    trackers = [Tracker(port, channel) for channel in CHANNELS * 2]
    await_true(lambda: all(tracker.connections for tracker in trackers), "all have subscribed")
    load = Load(port)
    try:
        for _ in range(KILLS):
            time.sleep(random.uniform(0.05, 0.6))
            broker.kill()
            broker = Broker(port=port, configuration=file)
        time.sleep(0.5)
        load.stop()
        for tracker in trackers:
            count = len(load.answered[tracker.channel])
            await_true(
                lambda: len(tracker.events) >= count,
                f"{count} events on {tracker.channel}",
                told=lambda: len(tracker.events),
            )
        for tracker in trackers:
            answered = load.answered[tracker.channel]
            assert tracker.gaps == [] and tracker.faults == []
            assert len(tracker.streams) == 1
            # Each once, in the order of the positions that their publishers were told.
            assert tracker.events == sorted(answered, key=lambda data: answered[data]["serial"])
        resumes = sum(tracker.connections - 1 for tracker in trackers)
        total = sum(map(len, load.answered.values()))
        print(f"{KILLS} kills, {total} events at {load.rate:.0f} a second, {resumes} resumes")
        assert resumes >= KILLS
    finally:
        load.stop()
        for tracker in trackers:
            tracker.close()
        broker.stop()
    check_file(tmp_path / "history.sqlite", load.answered)


def test_why_tells_of_messages_that_only_the_file_has(tmp_path):
    file = configuration(tmp_path)
    deadline = time.monotonic() + 60

    def why(serial, *arguments):
        told = run("fanfare", "why", "stored-orders", serial, "--url", broker.url, *arguments)
        assert told.returncode == 0, told.stderr
        return told.stdout.splitlines()

    with Broker(configuration=file) as broker:
        backend = Backend(broker.port)
        for number in range(3):
            backend.trigger("stored-orders", f"{number}", f"k{number}", deadline)
        here = why(2)
        assert re.fullmatch(r"2 was published at \d\d:\d\d:\d\d\.\d{3} and is kept\.", here[0])
    # Nothing of the channel is in memory: nobody has subscribed since the start.
    with Broker(configuration=file) as broker:
        assert why(2) == here
        assert why(4) == ["4 was never published: the last message is 3."]
        assert why(2, "--socket", "1.1") == [here[0], "No record of 1.1 is kept."]


def test_a_spool_keeps_what_is_in_memory(tmp_path):
    file = tmp_path / "fanfare.json"
    app = {"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret}
    spool = tmp_path / "spool"
    file.write_text(json.dumps({"apps": [app], "recovery": {"spool": str(spool)}}))
    deadline = time.monotonic() + 60
    with Broker(configuration=file) as broker:
        tracker = Tracker(broker.port, "news")
        await_true(lambda: tracker.connections == 1, "it has subscribed")
        backend = Backend(broker.port)
        for number in range(5):
            backend.trigger("news", f"{number}", f"k{number}", deadline)
        await_true(lambda: len(tracker.events) == 5, "the events have come")
        tracker.close()
        backend.trigger("news", "5", "k5", deadline)
    assert spool.exists()
    with Broker(configuration=file) as again:
        assert not spool.exists()
        late = Tracker(again.port, "news", tracker.position)
        await_true(lambda: late.events == ["5"], "what was missed", told=lambda: late.__dict__)
        assert late.gaps == [] and late.streams == tracker.streams
        # A repeat of the last event publishes nothing.
        position = Backend(again.port).trigger("news", "5", "k5", deadline)
        assert position == {**tracker.position, "serial": 6}
        late.close()
