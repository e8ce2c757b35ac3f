"""What the broker does when the machine lets it down: the table of docs/proof/reliability.md names each of these."""

import contextlib
import hashlib
import hmac
import http.client
import json
import os
import queue
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time

import pytest
import websocket

from programs import BUILD, START_TIME_MAX, Broker, Program, await_true
from pysher_client import Subscriber
from webhook_receiver import Receiver
from world import FAILING, FOUND, SILENT, World


def configuration(folder, *urls, **settings):
    """A file with the development app, which tells these endpoints of channels that are occupied."""
    webhooks = [{"url": url, "events": ["channel_occupied"]} for url in urls]
    app = {"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret, "webhooks": webhooks}
    file = folder / "fanfare.json"  # JSON is YAML as well.
    settings.setdefault("webhooks", {"database": str(folder / "webhooks.sqlite")})
    file.write_text(json.dumps({"apps": [app], "loops": 2, **settings}))
    return file


class Client:
    """A client without a library that would reconnect, or hide anything."""

    def __init__(self, broker):
        url = f"ws://127.0.0.1:{broker.port}/app/{broker.key}?protocol=7"
        self._socket = websocket.create_connection(url, timeout=START_TIME_MAX)
        self._messages = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.next("pusher:connection_established")

    def _read(self):
        # Pings are answered on the way.
        with contextlib.suppress(OSError, websocket.WebSocketException):
            while text := self._socket.recv():
                self._messages.put(json.loads(text))
        self._messages.put(None)

    def subscribe(self, channel):
        self._socket.send(json.dumps({"event": "pusher:subscribe", "data": {"channel": channel}}))

    def next(self, event):
        """The next message, which has to be this event."""
        message = self._messages.get(timeout=START_TIME_MAX)
        if message is None:
            raise ConnectionError(f"the connection ended before {event}")
        assert message["event"] == event, message
        return message

    def close(self):
        self._socket.close()


class Backend:
    """Triggers over one kept connection, with signatures of its own making."""

    def __init__(self, broker):
        self._broker = broker
        self._connection = http.client.HTTPConnection("127.0.0.1", broker.port, START_TIME_MAX)
        self._connection.connect()

    def trigger(self, channel, data, at=None):
        """Triggers `greeting`; returns the status and the body of the answer."""
        body = json.dumps({"name": "greeting", "channels": [channel], "data": data})
        path = f"/apps/{self._broker.app_id}/events"
        query = (
            f"auth_key={self._broker.key}&auth_timestamp={at or int(time.time())}&auth_version=1.0"
            f"&body_md5={hashlib.md5(body.encode()).hexdigest()}"
        )
        text = f"POST\n{path}\n{query}"
        code = hmac.new(self._broker.secret.encode(), text.encode(), hashlib.sha256).hexdigest()
        self._connection.request("POST", f"{path}?{query}&auth_signature={code}", body)
        answer = self._connection.getresponse()
        return answer.status, answer.read().decode()


def occupied(receiver, count):
    """The channels that the next webhooks tell of, in order."""
    bodies = [json.loads(receiver.next()[1]) for _ in range(count)]
    return [event["channel"] for body in bodies for event in body["events"]]


def queued(database):
    """The webhooks in the file, once it is found to be whole."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute("SELECT events FROM deliveries").fetchall()
    return [json.loads(row[0])["channel"] for row in rows]


def test_kill_and_restart_under_load(tmp_path):
    database = tmp_path / "webhooks.sqlite"
    with Receiver() as receiver, contextlib.ExitStack() as programs:
        receiver.status = 503
        file = configuration(tmp_path, receiver.url)
        broker = Broker(configuration=file)
        again = programs.enter_context(contextlib.ExitStack())
        again.callback(broker.kill)
        url = broker.url
        listeners = [
            programs.enter_context(Program("fanfare", "listen", "news", "--url", url))
            for _ in range(2)
        ]
        for listener in listeners:
            listener.await_line("subscribed to news")
        subscriber = programs.enter_context(Subscriber(broker, "news"))

        # Load: events without a pause, and a webhook for each of ever more channels.
        is_over = threading.Event()

        def publish():
            with contextlib.suppress(OSError, http.client.HTTPException):
                backend = Backend(broker)
                while not is_over.is_set():
                    backend.trigger("news", "load")

        def occupy():
            with contextlib.suppress(OSError, websocket.WebSocketException):
                client = Client(broker)
                for number in range(5_000):
                    client.subscribe(f"room-{number}")
                    client.next("pusher_internal:subscription_succeeded")

        load = [threading.Thread(target=work) for work in (publish, occupy)]
        for thread in load:
            thread.start()
        await_true(lambda: database.exists() and len(queued(database)) > 100, "webhooks wait")
        broker.kill()
        is_over.set()
        for thread in load:
            thread.join()
        left = queued(database)
        assert len(left) > 100

        receiver.status = 200
        start = time.monotonic()
        broker = again.enter_context(Broker(port=broker.port, configuration=file))
        ready = time.monotonic() - start
        print(f"ready after {ready:.3f} s, with {len(left)} webhooks to send")
        # A debug build on a busy machine is not what is promised.
        if "release" in BUILD.parts:
            assert ready < 1
        for listener in listeners:
            listener.await_line("subscribed to news")
        # At least once: those that were under way may come again.
        missing = set(left)
        deadline = time.monotonic() + START_TIME_MAX
        while missing and time.monotonic() < deadline:
            missing -= set(occupied(receiver, 1))
        assert not missing
        # Everybody is back, also the official client.
        backend = Backend(broker)
        while not subscriber.events.empty():
            subscriber.events.get()

        def reaches_subscriber():
            backend.trigger("news", "back")
            return not subscriber.events.empty() and "back" in subscriber.events.get()[2]

        await_true(reaches_subscriber, "the official client hears events again")
        for listener in listeners:
            listener.await_line("back")


def test_out_of_descriptors(tmp_path):
    through = ("prlimit", "--nofile=40:40")
    file = configuration(tmp_path)
    with Broker(configuration=file, through=through) as broker:
        first = Client(broker)
        first.subscribe("news")
        first.next("pusher_internal:subscription_succeeded")
        backend = Backend(broker)
        others = []
        # A client too many is told by the end of its connection, at once and before the handshake.
        with pytest.raises((websocket.WebSocketException, OSError)):
            for _ in range(40):
                others.append(Client(broker))
        assert len(others) > 5
        before = cpu_time(broker)
        assert backend.trigger("news", "1")[0] == 200
        assert first.next("greeting")["data"] == "1"
        broker.await_line("no descriptor is left, the connection is closed at once; raise the hard limit of 40")
        # What needs a file is refused, and changes nothing.
        broker.signal(signal.SIGHUP)
        broker.await_line("Too many open files")
        broker.await_line("is not reloaded")
        # Those who wait at the door cost nothing: the loop does not spin.
        waiting = [socket.create_connection(("127.0.0.1", broker.port)) for _ in range(5)]
        time.sleep(0.5)
        assert cpu_time(broker) - before < 0.75
        for client in [*others, *waiting]:
            client.close()
        others = []

        def is_let_in():
            with contextlib.suppress(websocket.WebSocketException, OSError):
                others.append(Client(broker))
            return len(others) > 5

        await_true(is_let_in, "there is room again")
        assert backend.trigger("news", "2")[0] == 200
        assert first.next("greeting")["data"] == "2"


def cpu_time(broker):
    """Seconds that the broker has run so far."""
    fields = open(f"/proc/{broker.id}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class FileLimit:
    """A disk with no more room, without one: no file of the broker may grow (setrlimit(2))."""

    through = ()

    def __init__(self, folder):
        self.folder = folder

    def fill(self, broker):
        self._set(broker, 4096)

    def empty(self, broker):
        self._set(broker, resource.RLIM_INFINITY)

    def _set(self, broker, size):
        resource.prlimit(broker.id, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class SmallDisk:
    """A disk of 512 KiB, in a mount namespace of the broker's own; needs root, or namespaces of users."""

    def __init__(self, folder):
        self.folder = folder / "disk"
        self.folder.mkdir()
        mount = f'mount -t tmpfs -o size=512k none "{self.folder}" && exec "$0" "$@"'
        self.through = ("unshare", "--mount", "--map-root-user", "sh", "-c", mount)
        probe = subprocess.run([*self.through, "true"], capture_output=True, text=True)
        if probe.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {probe.stderr.strip()}")

    def fill(self, broker):
        self._filler = f"/proc/{broker.id}/root{self.folder}/filler"
        with contextlib.suppress(OSError), open(self._filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def empty(self, _):
        os.remove(self._filler)


def waiting(broker, disk, folder):
    """The webhooks in the file on the broker's own disk, of which SQLite can only open a copy."""
    for ending in ("", "-wal"):
        name = f"webhooks.sqlite{ending}"
        shutil.copy(f"/proc/{broker.id}/root{disk.folder}/{name}", folder / f"copy-{name}")
    with contextlib.suppress(sqlite3.Error):
        return queued(folder / "copy-webhooks.sqlite")


@pytest.mark.parametrize("disk", [FileLimit, SmallDisk])
def test_disk_full(tmp_path, disk):
    disk = disk(tmp_path)
    with Receiver() as receiver:
        database = {"database": str(disk.folder / "webhooks.sqlite")}
        file = configuration(tmp_path, receiver.url, webhooks=database)
        with Broker(configuration=file, through=disk.through) as broker:
            client = Client(broker)

            def occupy(*channels):
                for channel in channels:
                    client.subscribe(channel)
                    client.next("pusher_internal:subscription_succeeded")

            occupy("before")
            assert occupied(receiver, 1) == ["before"]
            disk.fill(broker)
            receiver.status = 503
            rooms = [f"room-{number}-{'x' * 150}" for number in range(200)]
            occupy(*rooms)
            broker.await_line("the webhook file cannot be used; webhooks wait in memory")
            # They wait in memory, and are sent from there; clients notice nothing.
            receiver.status = 200
            assert sorted(occupied(receiver, len(rooms))) == sorted(rooms)
            occupy("meanwhile")
            assert occupied(receiver, 1) == ["meanwhile"]
            disk.empty(broker)
            broker.await_line("the webhook file can be used again")
            receiver.status = 503
            occupy("after")
            await_true(lambda: waiting(broker, disk, tmp_path) == ["after"], "it waits in the file")
            receiver.status = 200
            assert occupied(receiver, 1) == ["after"]
            client.close()


def test_clock_set_to_another_time(tmp_path):
    world = World(tmp_path)
    with Receiver() as receiver:
        clients = {"activity_timeout": 1, "pong_timeout": 1}
        file = configuration(tmp_path, receiver.url, clients=clients)
        with Broker(configuration=file, through=world.through) as broker:
            client = Client(broker)
            client.subscribe("news")
            client.next("pusher_internal:subscription_succeeded")
            assert occupied(receiver, 1) == ["news"]
            backend = Backend(broker)
            for step in (3_600, -31_536_000):
                receiver.status = 503
                client.subscribe(f"room{step}")
                client.next("pusher_internal:subscription_succeeded")
                # One that answers no ping: it is given up in its time, neither before nor much later.
                silent = socket.create_connection(("127.0.0.1", broker.port))
                silent.settimeout(START_TIME_MAX)
                silent.sendall(
                    f"GET /app/{broker.key}?protocol=7 HTTP/1.1\r\nHost: localhost\r\n"
                    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
                )
                start = time.monotonic()
                old = world.time
                world.set_calendar(step)
                # Signatures go by the calendar, and by nothing else.
                status, text = backend.trigger("news", "late", at=old)
                assert (status, "Timestamp expired" in text) == (401, True)
                assert backend.trigger("news", str(step), at=world.time)[0] == 200
                assert client.next("greeting")["data"] == str(step)
                receiver.status = 200
                assert occupied(receiver, 1) == [f"room{step}"]
                received = b""
                while part := silent.recv(4096):
                    received += part
                    if b"4201" in received:
                        break
                # Two seconds less up to one, as the broker counts whole seconds; at once if it went by the calendar.
                assert 0.5 < time.monotonic() - start < 15
                silent.close()
            # All that time the client that answers pings has stayed.
            world.set_calendar(0)
            assert backend.trigger("news", "last")[0] == 200
            assert client.next("greeting")["data"] == "last"
            client.close()


def test_names_that_cannot_be_looked_up(tmp_path):
    world = World(tmp_path)
    with Receiver(keeps_connections=False) as named, Receiver() as numbered:
        url = f"http://localhost:{named.port}/webhooks"
        file = configuration(tmp_path, url, numbered.url)
        with Broker(configuration=file, through=world.through) as broker:
            client = Client(broker)
            backend = Backend(broker)
            for fate in (FAILING, SILENT):
                world.set_names(fate)
                rooms = [f"room-{fate}-{number}" for number in range(10)]
                for room in rooms:
                    client.subscribe(room)
                    client.next("pusher_internal:subscription_succeeded")
                # Whose host needs no lookup is told at once, and clients notice nothing.
                start = time.monotonic()
                assert sorted(occupied(numbered, len(rooms))) == rooms
                client.subscribe(f"news-{fate}")
                client.next("pusher_internal:subscription_succeeded")
                assert backend.trigger(f"news-{fate}", "1")[0] == 200
                client.next("greeting")
                assert time.monotonic() - start < 4
                assert occupied(numbered, 1) == [f"news-{fate}"]
                if fate == FAILING:
                    broker.await_line("a webhook endpoint fails; webhooks are retried")
                world.set_names(FOUND)
                assert sorted(occupied(named, len(rooms) + 1)) == sorted([*rooms, f"news-{fate}"])
            client.close()
