"""The package's programs as child processes, heard line by line."""

import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from ports import free_port

ROOT = Path(__file__).resolve().parents[2]
# Taken out of the environment: to the programs, what begins like this is configuration.
BUILD = Path(os.environ.pop("FANFARE_BUILD", ROOT / ".build" / "debug"))

# Seconds. Debug programs on a busy machine are slow, and waiting costs nothing when they are not.
START_TIME_MAX = 30
STOP_TIME_MAX = 20


class Program:
    """One running program; what it prints, on either stream, is kept for the report of a failure."""

    def __init__(self, name, *arguments, folder=BUILD, through=(), is_typed_at=False, inherited=None):
        path = folder / name
        assert path.exists(), f"{path} is missing: run `swift build --build-tests` first"
        if inherited:
            # As a service manager passes a socket: the descriptor 3, for the process that the program will be.
            passing = f'exec env LISTEN_PID=$$ LISTEN_FDS=1 "$0" "$@" 3<&{inherited.fileno()}'
            through = ("bash", "-c", passing, *through)
        self.name = name
        self.lines = []
        self._new_lines = queue.Queue()
        self._process = subprocess.Popen(
            [*through, path, *map(str, arguments)],
            stdin=subprocess.PIPE if is_typed_at else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            pass_fds=[inherited.fileno()] if inherited else [],
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._new_lines.put(line.rstrip("\n"))
        self._new_lines.put(None)

    def type(self, line):
        """Types a line at a program that was started for that."""
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    @property
    def output(self):
        return "\n".join(self.lines)

    @property
    def new_lines(self):
        """The lines that have come since the last look, without waiting for more."""
        lines = []
        while not self._new_lines.empty():
            lines.append(self._new_lines.get())
        self.lines += [line for line in lines if line is not None]
        return lines

    def await_line(self, pattern, seconds=START_TIME_MAX):
        """The match of the next line that has `pattern` in it."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._new_lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(
                    f"{self.name} printed no line like {pattern!r} in {seconds} s, but:\n{self.output}"
                ) from None
            if line is None:
                code = self._process.wait()
                raise AssertionError(
                    f"{self.name} ended with {code} before a line like {pattern!r}:\n{self.output}"
                )
            self.lines.append(line)
            if match := re.search(pattern, line):
                return match

    def await_lines(self, *patterns, seconds=START_TIME_MAX):
        """Waits until each pattern has had its line, in whatever order they come."""
        missing = list(patterns)
        while missing:
            line = self.await_line("|".join(missing), seconds).string
            missing = [pattern for pattern in missing if not re.search(pattern, line)]

    def await_ready(self, pattern):
        """The match of the line that says that it is ready; what is not will not stay."""
        try:
            return self.await_line(pattern)
        except AssertionError:
            self._process.kill()
            raise

    def wait(self, seconds=START_TIME_MAX):
        """Its exit status, when it has ended by itself."""
        return self._process.wait(seconds)

    @property
    def id(self):
        """Its process."""
        return self._process.pid

    @property
    def has_ended(self):
        return self._process.poll() is not None

    def signal(self, number):
        self._process.send_signal(number)

    def kill(self):
        """Ends it as a loss of power does, in the midst of everything."""
        self._process.kill()
        self._process.wait(STOP_TIME_MAX)

    def stop(self):
        """Ends it as Ctrl-C does; returns its exit status."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        # In steps: a machine that is paused meanwhile has had one of them, not all.
        for _ in range(STOP_TIME_MAX):
            try:
                return self._process.wait(1)
            except subprocess.TimeoutExpired:
                pass
        self.new_lines
        self._process.kill()
        raise AssertionError(f"{self.name} was still there {STOP_TIME_MAX} s after SIGINT:\n{self.output}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Broker(Program):
    """`fanfare serve` on loopback, with the development app or what a configuration file says."""

    app_id, key, secret = "1", "app-key", "app-secret"

    def __init__(self, port=None, certificate=None, configuration=None, through=(), inherited=None):
        configured = ["--config", configuration] if configuration else []
        tls = []
        if certificate:
            tls = ["--tls-port", 0]
            tls += ["--tls-certificate", certificate.certificate, "--tls-key", certificate.key]
        super().__init__("fanfare", "serve", "--port", port or free_port(), *tls, *configured, through=through, inherited=inherited)
        ready = self.await_ready(r"^fanfare [0-9.]+: ready .*")[0]
        self.port = int(re.search(r"\bws://[^ ]*:(\d+)", ready)[1])
        secure = re.search(r"\bwss://[^ ]*:(\d+)", ready)
        self.tls_port = int(secure[1]) if secure else None
        self.url = f"http://127.0.0.1:{self.port}"
        self.tls_url = f"https://localhost:{self.tls_port}"


def broker_with_recovery(folder, port=None, **recovery):
    """A broker whose development app has these settings below `recovery`."""
    file = folder / "broker.json"  # JSON is YAML as well.
    app = {"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret, "recovery": recovery}
    file.write_text(json.dumps({"apps": [app]}))
    return Broker(port=port, configuration=file)


class Demos(Program):
    """`fanfare-demos` on loopback, with a database of its own."""

    def __init__(self, broker_port, port=None, database=None, public_broker=None, pusher_js=None):
        options = {"database": database, "public-broker": public_broker, "pusher-js": pusher_js}
        given = [part for name, value in options.items() if value for part in (f"--{name}", value)]
        broker = f"http://127.0.0.1:{broker_port}"
        super().__init__("fanfare-demos", "--port", port or free_port(), "--broker", broker, *given)
        self.port = int(self.await_ready(r"ready http://[^ ]*:(\d+)")[1])
        self.url = f"http://127.0.0.1:{self.port}"


def run(name, *arguments, seconds=START_TIME_MAX):
    """Runs a program to its end."""
    return subprocess.run(
        [BUILD / name, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def await_true(condition, what, seconds=15, told=None):
    """Asks again and again; fails with what was expected and what was seen last, or what `told` tells of it."""
    deadline = time.monotonic() + seconds
    while not (seen := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {seconds} s: {what}; last seen: {told() if told else seen!r}")
        time.sleep(0.02)
    return seen
