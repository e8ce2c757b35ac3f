"""Redis servers, replicas and Sentinels on loopback."""

import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from ports import free_port

#: Seconds until a server listens, or a replica has the data of its primary.
START_TIME_MAX = 60
#: The name by which the Sentinels know the primary.
PRIMARY_NAME = "main"


def program(name):
    """The file of a Redis program, which may be installed under the name of another of its uses."""
    found = shutil.which(name) or shutil.which("redis-check-rdb")
    assert found, f"{name} is missing: config/scripts/install.sh test installs it"
    return found


class RedisServer:
    """A server whose file has every write, so that a killed one comes back with all of them."""

    def __init__(self, replica_of=None):
        """`replica_of`: the primary, another server."""
        self.port = free_port()
        self._folder = tempfile.TemporaryDirectory()
        self._process = None
        self.start(replica_of)

    def start(self, replica_of=None):
        options = {
            "port": self.port, "bind": "127.0.0.1", "dir": self._folder.name, "save": "", "appendonly": "yes",
            "appendfsync": "always", "stream-node-max-bytes": "1024", "repl-diskless-sync-delay": "0",
            "logfile": str(Path(self._folder.name) / "log"),
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        if replica_of:
            arguments += ["--replicaof", f"127.0.0.1 {replica_of.port}"]
        self._process = subprocess.Popen(
            ["redis-server", *arguments], executable=program("redis-server"), stdout=subprocess.DEVNULL
        )
        await_reply(lambda: self.command("PING") == "PONG", f"Redis at port {self.port}")
        if replica_of:
            await_reply(
                self._is_in_step, f"the link of the replica at port {self.port} to {replica_of.port}", self._state
            )

    def _is_in_step(self):
        """Whether it has the data of its primary; or is one itself, since Sentinels may promote it at once."""
        state = self.command("INFO", "replication")
        return "master_link_status:up" in state or "role:master" in state and "connected_slaves:1" in state

    def _state(self):
        """What it says of itself, and the end of its log."""
        log = (Path(self._folder.name) / "log").read_text().splitlines()
        return "\n".join([self.command("INFO", "replication"), *log[-30:]])

    def command(self, *arguments):
        """The reply as redis-cli prints it; empty if the server does not answer."""
        done = subprocess.run(
            ["redis-cli", "-p", str(self.port), *map(str, arguments)],
            capture_output=True, text=True, timeout=START_TIME_MAX, check=False,
        )
        return done.stdout.strip()

    @property
    def is_primary(self):
        return "role:master" in self.command("INFO", "replication")

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def end(self):
        self.kill()
        self._folder.cleanup()


class Sentinels:
    """Three Sentinels that promote a replica when the primary is down for a second."""

    def __init__(self, primary):
        self._folder = tempfile.TemporaryDirectory()
        self.ports = [free_port() for _ in range(3)]
        self._processes = []
        for port in self.ports:
            folder = Path(self._folder.name) / str(port)
            folder.mkdir()
            file = folder / "sentinel.conf"
            file.write_text(
                f"port {port}\nbind 127.0.0.1\ndir {folder}\nlogfile {folder}/log\n"
                f"sentinel monitor {PRIMARY_NAME} 127.0.0.1 {primary.port} 2\n"
                f"sentinel down-after-milliseconds {PRIMARY_NAME} 1000\n"
                f"sentinel failover-timeout {PRIMARY_NAME} 6000\n"
            )
            self._processes.append(
                subprocess.Popen(
                    ["redis-sentinel", str(file)], executable=program("redis-sentinel"), stdout=subprocess.DEVNULL
                )
            )
        await_reply(self._are_acquainted, "the Sentinels")

    def _are_acquainted(self):
        return all(
            (line := self._ask(port, "MASTER", PRIMARY_NAME)) and "num-other-sentinels\n2" in line
            and "num-slaves\n1" in line for port in self.ports
        )

    def _ask(self, port, *arguments):
        done = subprocess.run(
            ["redis-cli", "-p", str(port), "SENTINEL", *arguments],
            capture_output=True, text=True, timeout=START_TIME_MAX, check=False,
        )
        return done.stdout

    @property
    def primary_port(self):
        lines = self._ask(self.ports[0], "GET-MASTER-ADDR-BY-NAME", PRIMARY_NAME).split()
        return int(lines[1]) if len(lines) == 2 else None

    def fail_over(self):
        """Asks for a failover of a primary that works; returns whether one begins."""
        return self._ask(self.ports[0], "FAILOVER", PRIMARY_NAME).strip() == "OK"

    def end(self):
        for process in self._processes:
            process.kill()
            process.wait()
        self._folder.cleanup()


def await_reply(condition, what, state=lambda: ""):
    """Waits until a condition holds; if it does not in time, the error has the state."""
    deadline = time.monotonic() + START_TIME_MAX
    while not condition():
        assert time.monotonic() < deadline, f"not ready in {START_TIME_MAX} s: {what}\n{state()}"
        time.sleep(0.05)
