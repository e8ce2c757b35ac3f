"""The servers that are compared: how each is started, addressed and ended."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scenarios import Scenario

NCHAN_MODULE = Path("/usr/lib/nginx/modules/ngx_nchan_module.so")
START_SECONDS = 10
STOP_SECONDS = 5
SETTLE_SECONDS = 5
CORES = sorted(os.sched_getaffinity(0))


@contextmanager
def on_cores(cores: list[int]) -> Iterator[None]:
    """Keeps the processes that are started meanwhile to these cores."""
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, CORES)


@dataclass(frozen=True)
class Workspace:
    """Where programs, scratch files and the certificate of the TLS scenarios are."""

    programs: Path
    scratch: Path
    #: Whether servers of one thread have a core to themselves.
    is_pinned: bool = False

    @property
    def certificate(self) -> Path:
        return self.scratch / "certificate.pem"

    @property
    def private_key(self) -> Path:
        return self.scratch / "key.pem"

    def prepare(self) -> None:
        self.scratch.mkdir(parents=True, exist_ok=True)
        if self.certificate.exists():
            return
        subprocess.run(
            ["openssl", "req", "-x509", "-nodes", "-days", "3650", "-subj", "/CN=localhost",
             "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", self.private_key, "-out", self.certificate],
            check=True, capture_output=True,
        )


def cpu_seconds(pid: int) -> float:
    """What a process and its children have used."""
    total = 0.0
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            total += int((task / "schedstat").read_text().split()[0]) / 1e9
            children = (task / "children").read_text().split()
        except OSError:  # The thread has just ended.
            continue
        total += sum(cpu_seconds(int(child)) for child in children)
    return total


class Server:
    """A program that listens on 127.0.0.1; `port` + 1 is its TLS port, if it has one."""

    has_tls = False
    has_deflate = False
    #: Whether it is a variant of the broker, which only some scenarios are about.
    is_variant = False
    #: Whether it is another product, neither a broker of ours nor the limit.
    is_peer = False

    def __init__(self, name: str, port: int, workspace: Workspace) -> None:
        self.name = name
        self.port = port
        self.workspace = workspace
        self.process: subprocess.Popen[bytes] | None = None
        #: What its environment was given when it was started.
        self.settings: dict[str, str] = {}

    def command(self) -> list[str]:
        """What to run, after writing the configuration that it needs."""
        raise NotImplementedError

    def load_arguments(self, scenario: Scenario) -> list[str]:
        """How the load generator speaks to it."""
        raise NotImplementedError

    def takes(self, scenario: Scenario) -> bool:
        return (
            (self.has_tls or not scenario.tls)
            and (self.has_deflate or not scenario.deflate)
            and (scenario.variants or not self.is_variant)
            and not scenario.brokers_only
        )

    def url(self, scenario: Scenario, path: str = "") -> str:
        if scenario.tls:
            return f"wss://127.0.0.1:{self.port + 1}{path}"
        return f"ws://127.0.0.1:{self.port}{path}"

    @property
    def has_one_thread(self) -> bool:
        """Whether one thread does its work."""
        return not self.is_variant

    @property
    def cores(self) -> list[int]:
        """Where it runs."""
        return CORES[:1] if self.is_alone else CORES

    @property
    def load_cores(self) -> list[int]:
        """Where what loads it runs."""
        return CORES[1:] if self.is_alone else CORES

    @property
    def is_alone(self) -> bool:
        """Whether it has a core to itself."""
        return self.workspace.is_pinned and self.has_one_thread and len(CORES) > 1

    def start(self) -> None:
        if self.answers():
            raise SystemExit(f"Port {self.port}, which {self.name} needs, is in use.")
        log = self.workspace.scratch / f"{self.name}.log"
        with log.open("wb") as output, on_cores(self.cores):
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=os.environ | self.settings,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{self.name} did not start; it says why in {log}.")
            time.sleep(0.05)

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def restart(self, settings: dict[str, str] | None = None) -> None:
        """Starts it anew, with variables of the environment of its own."""
        self.stop()
        self.settings = settings or {}
        self.start()

    def prepare(self, scenario: Scenario) -> None:
        """Starts it anew where a scenario needs a fresh process, or other settings."""
        settings = dict(scenario.settings)
        if scenario.fresh or self.settings != settings:
            self.restart(settings)

    def settle(self) -> None:
        """Waits until it has done with the run before: thousands of clients leave at its end."""
        assert self.process is not None
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            before = cpu_seconds(self.process.pid)
            time.sleep(0.1)
            if cpu_seconds(self.process.pid) - before < 0.005:
                return

    def answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class Broker(Server):
    """A broker that speaks the Pusher protocol, started by a command of the caller's."""

    has_tls = True
    has_deflate = True

    def __init__(
        self, name: str, port: int, workspace: Workspace, template: str, app: dict[str, str], variant: bool
    ) -> None:
        super().__init__(name, port, workspace)
        self.template = template
        self.app = app
        self.is_variant = variant

    def command(self) -> list[str]:
        return shlex.split(
            self.template.format(
                port=self.port, tls_port=self.port + 1,
                certificate=self.workspace.certificate, private_key=self.workspace.private_key,
            )
        )

    @property
    def program(self) -> str:
        """Its executable, which is a load generator as well."""
        return self.command()[0]

    def takes(self, scenario: Scenario) -> bool:
        return scenario.variants or not self.is_variant

    def load_arguments(self, scenario: Scenario) -> list[str]:
        app = [part for name, value in self.app.items() for part in (f"--{name}", value)]
        mode = [] if scenario.overload else ["--mode", "pusher"]
        return [*mode, "--url", self.url(scenario), *app]


class Rawfan(Server):
    """The limit: it hands pre-built frames to the kernel, and does nothing else."""

    def __init__(self, name: str, port: int, workspace: Workspace, mode: str, threads: int = 1) -> None:
        super().__init__(name, port, workspace)
        self.mode = mode
        self.threads = threads
        self.is_variant = threads > 1

    def command(self) -> list[str]:
        return [str(self.workspace.programs / "rawfan"), str(self.port), self.mode, str(self.threads)]

    def load_arguments(self, scenario: Scenario) -> list[str]:
        return ["--mode", "pusher", "--url", self.url(scenario)]


class SecureRawfan(Rawfan):
    """The limit of what is encrypted by OpenSSL: its one port speaks nothing but TLS."""

    has_tls = True

    def command(self) -> list[str]:
        return [*super().command(), str(self.workspace.certificate), str(self.workspace.private_key)]

    def takes(self, scenario: Scenario) -> bool:
        return scenario.tls

    def url(self, scenario: Scenario, path: str = "") -> str:
        return f"wss://127.0.0.1:{self.port}{path}"


class Peer(Server):
    """Another product."""

    is_peer = True


NCHAN_CONFIGURATION = """\
daemon off;
{user}worker_processes 1;
worker_rlimit_nofile {descriptors};
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
load_module {module};
events {{ worker_connections 19000; use epoll; multi_accept on; }}
http {{
  access_log off;
  tcp_nodelay on;
  keepalive_timeout 300s;
  keepalive_requests 100000000;
  client_body_temp_path {folder}/body;
  client_body_buffer_size 64k;
  nchan_shared_memory_size 512M;
  nchan_message_buffer_length 256;
  nchan_message_timeout 10s;
  gzip_comp_level 1;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    listen 127.0.0.1:{tls_port} ssl backlog=4096;
    ssl_certificate {certificate};
    ssl_certificate_key {private_key};
    ssl_protocols TLSv1.2 TLSv1.3;
    location ~ ^/sub/(.+)$ {{
      nchan_subscriber websocket;
      nchan_channel_id $1;
      nchan_subscriber_first_message newest;
    }}
    location ~ ^/pub/(.+)$ {{ nchan_publisher http; nchan_channel_id $1; }}
    location ~ ^/compressed/(.+)$ {{
      nchan_publisher http;
      nchan_channel_id $1;
      nchan_deflate_message_for_websocket on;
    }}
  }}
}}
"""


class Nchan(Peer):
    """nginx with the nchan module; one worker, as the others have one thread."""

    has_tls = True
    has_deflate = True

    def command(self) -> list[str]:
        folder = self.workspace.scratch / self.name
        folder.mkdir(exist_ok=True)
        configuration = folder / "nginx.conf"
        configuration.write_text(
            NCHAN_CONFIGURATION.format(
                folder=folder, port=self.port, tls_port=self.port + 1, module=NCHAN_MODULE,
                certificate=self.workspace.certificate, private_key=self.workspace.private_key,
                user="user root;\n" if os.geteuid() == 0 else "", descriptors=20000,
            )
        )
        return [program("nginx") or "nginx", "-p", str(folder), "-c", str(configuration)]

    def load_arguments(self, scenario: Scenario) -> list[str]:
        publish = "/compressed/%c" if scenario.deflate else "/pub/%c"
        return ["--mode", "raw", "--url", self.url(scenario, "/sub/%c"),
                "--pub", "http", "--pub-path", publish]


# Mosquitto 2.0.11 does not start without a listener for plain MQTT.
MOSQUITTO_CONFIGURATION = """\
{user}persistence false
allow_anonymous true
log_type error
max_queued_messages 100000
set_tcp_nodelay true
listener {mqtt_port} 127.0.0.1
listener {port} 127.0.0.1
protocol websockets
listener {tls_port} 127.0.0.1
protocol websockets
certfile {certificate}
keyfile {private_key}
"""


class Mosquitto(Peer):
    """MQTT over WebSocket, quality of service 0."""

    has_tls = True

    def command(self) -> list[str]:
        configuration = self.workspace.scratch / "mosquitto.conf"
        configuration.write_text(
            MOSQUITTO_CONFIGURATION.format(
                port=self.port, tls_port=self.port + 1, mqtt_port=self.port + 2,
                certificate=self.workspace.certificate, private_key=self.workspace.private_key,
                user="user root\n" if os.geteuid() == 0 else "",
            )
        )
        return [program("mosquitto") or "mosquitto", "-c", str(configuration)]

    def load_arguments(self, scenario: Scenario) -> list[str]:
        return ["--mode", "mqtt-ws", "--url", self.url(scenario, "/mqtt"), "--pub", "ws"]


NATS_CONFIGURATION = """\
host: 127.0.0.1
port: {nats_port}
max_connections: 30000
write_deadline: "30s"
max_pending: 268435456
websocket {{ host: 127.0.0.1, port: {port}, no_tls: true }}
"""


class Nats(Peer):
    """NATS over WebSocket; a Go program, so it has as many threads as the machine has cores."""

    has_one_thread = False

    def command(self) -> list[str]:
        configuration = self.workspace.scratch / "nats.conf"
        configuration.write_text(
            NATS_CONFIGURATION.format(port=self.port, nats_port=self.port + 1)
        )
        return [program("nats-server") or "nats-server", "-c", str(configuration)]

    def load_arguments(self, scenario: Scenario) -> list[str]:
        return ["--mode", "nats-ws", "--url", self.url(scenario), "--pub", "ws"]


def program(name: str) -> str | None:
    """A program of the PATH, of Debian's folder of servers, or of the virtual environment."""
    venv = Path(__file__).parent.parent / ".venv" / "bin"
    return shutil.which(name) or shutil.which(name, path=f"/usr/sbin:{venv}")


def references(workspace: Workspace) -> dict[str, Server]:
    """The servers that can be compared with here: those that are installed."""
    servers: list[Server] = [
        Rawfan("rawfan", 18101, workspace, "send"),
        Rawfan("rawfan-co", 18102, workspace, "coalesce"),
        Rawfan("rawfan-co2", 18103, workspace, "coalesce", threads=2),
        SecureRawfan("rawfan-tls", 18104, workspace, "coalesce"),
    ]
    if program("nginx") and NCHAN_MODULE.exists():
        servers.append(Nchan("nchan", 18111, workspace))
    if program("mosquitto"):
        servers.append(Mosquitto("mosquitto", 18121, workspace))
    if program("nats-server"):
        servers.append(Nats("nats", 18131, workspace))
    return {server.name: server for server in servers}


def versions() -> dict[str, str]:
    """What was measured, and with what: the versions that the programs name."""
    def line(*command: str) -> str:
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=5)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        lines = (result.stdout + result.stderr).strip().splitlines()
        return lines[0] if lines else ""

    def package(name: str) -> str:
        return line("dpkg-query", "--show", "--showformat=${Version}", name)

    found = {
        "fanfare": f"commit {line('git', 'rev-parse', '--short', 'HEAD')}",
        "openssl": line("openssl", "version"),
        "gcc": line("gcc", "-dumpfullversion"),
    }
    if NCHAN_MODULE.exists():
        found["nchan"] = f"{package('libnginx-mod-nchan')}, nginx {package('nginx')}"
    if program("mosquitto"):
        found["mosquitto"] = package("mosquitto")
    if nats := program("nats-server"):
        found["nats"] = line(nats, "--version")
    return found


def stop_on_signals() -> None:
    """Turns SIGTERM into the exception that Ctrl-C is, so that servers are ended."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
