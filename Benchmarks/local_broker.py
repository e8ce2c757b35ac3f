"""A broker on loopback for one measurement, and `fanfare bench` against it."""

import atexit
import contextlib
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PORT = 18150


@functools.cache
def load_generator(program: str) -> str:
    """A copy of the program: memory that the broker shared with it would count by half."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return shutil.copy(program, folder)


@dataclass(frozen=True)
class CPU:
    """Seconds of processor time, of a broker that has written what it has accepted."""

    #: Of the threads that serve clients.
    loops: float
    #: Of all others: of the one that writes the file.
    others: float

    def __sub__(self, other: "CPU") -> "CPU":
        return CPU(self.loops - other.loops, self.others - other.others)


class Broker:
    """A broker on loopback for one measurement."""

    def __init__(self, program: str, loops: int, settings: dict[str, str], port: int = PORT):
        self.url = f"ws://127.0.0.1:{port}"
        self._load_generator = load_generator(program)
        self.environment = {
            **os.environ,
            # All clients have one address.
            "FANFARE_LIMITS_CONNECTIONS_PER_ADDRESS_MAX": "100000",
            **{f"FANFARE_{name}": value for name, value in settings.items()},
        }
        self.arguments = [program, "serve", "--port", str(port), "--loops", str(loops), "--log-level", "error"]
        self._process: subprocess.Popen[bytes] | None = None

    def bench(self, name: str, *arguments: object, server: bool = True) -> dict:
        """Runs `fanfare bench`; returns its JSON object."""
        command = self._bench(name, *arguments) + ([] if server else ["--", *self.arguments])
        result = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)
        if not result.stdout:
            raise SystemExit(f"{' '.join(command)}\n{result.stderr}")
        return json.loads(result.stdout)

    @contextlib.contextmanager
    def load(self, name: str, *arguments: object):
        """Runs `fanfare bench` beside what is measured, and ends it afterwards."""
        command = self._bench(name, *arguments)
        with subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as load:
            try:
                yield
            finally:
                load.kill()

    def _bench(self, name: str, *arguments: object) -> list[str]:
        return [self._load_generator, "bench", name, "--url", self.url, "--json", "-", *map(str, arguments)]

    @property
    def memory(self) -> int:
        """Bytes, with shared pages divided among their processes."""
        text = Path(f"/proc/{self._process.pid}/smaps_rollup").read_text()
        return 1024 * int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1])

    @property
    def cpu(self) -> "CPU":
        """What its threads have used so far."""
        loops = others = 0.0
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            name, _, rest = (task / "stat").read_text().partition(" (")[2].rpartition(") ")
            user, system = rest.split()[11:13]
            seconds = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
            if name.startswith("loop "):
                loops += seconds
            else:
                others += seconds
        return CPU(loops, others)

    def kill(self) -> None:
        """Ends it as a loss of power does."""
        self._process.kill()

    def __enter__(self) -> "Broker":
        self._process = subprocess.Popen(self.arguments, env=self.environment, stdout=subprocess.DEVNULL)
        for _ in range(200):
            if subprocess.run([self._load_generator, "bench", "churn", "--url", self.url, "--cycles", "1"],
                              capture_output=True).returncode == 0:
                return self
            time.sleep(0.05)
        raise SystemExit("The broker does not start.")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(60)
