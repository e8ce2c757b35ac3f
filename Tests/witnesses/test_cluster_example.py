"""config/cluster: two nodes behind HAProxy or nginx, with the configurations as they are but for addresses."""

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pusher
import pytest
import websocket

from cluster.servers import RedisServer, Sentinels
from ports import accepts, free_port
from programs import BUILD, ROOT, Program, await_true

EXAMPLE = ROOT / "config" / "cluster"
KEY, SECRET = "replace-this-key", "a-secret-from-the-environment"


class ExampleNode(Program):
    """`fanfare serve` with the example's file, and with its addresses from the environment."""

    def __init__(self, number, sentinels):
        self.port = free_port()
        self.name_in_cluster = f"node-{number}"
        settings = {
            "FANFARE_LISTEN_HOST": "127.0.0.1",
            "FANFARE_LISTEN_PORT": self.port,
            "FANFARE_APPS_0_SECRET": SECRET,
            "FANFARE_CLUSTER_NODE": self.name_in_cluster,
            **{
                f"FANFARE_CLUSTER_REDIS_SENTINELS_{index}": f"redis://127.0.0.1:{port}"
                for index, port in enumerate(sentinels.ports)
            },
        }
        self.environment = [f"{name}={value}" for name, value in settings.items()]
        super().__init__(
            "fanfare", "serve", "--config", EXAMPLE / "fanfare.yaml", through=["env", *self.environment]
        )
        self.await_ready("^fanfare [0-9.]+: ready .*")

    def run(self, *arguments):
        """Another command with the same configuration."""
        return subprocess.run(
            ["env", *self.environment, BUILD / "fanfare", *arguments, "--config", EXAMPLE / "fanfare.yaml"],
            capture_output=True, text=True, timeout=30, check=False,
        )


@pytest.fixture(scope="module")
def nodes():
    primary = RedisServer()
    replica = RedisServer(replica_of=primary)
    sentinels = Sentinels(primary)
    started = []
    try:
        for number in (1, 2):
            started.append(ExampleNode(number, sentinels))
        yield started
    finally:
        for node in started:
            node.kill()
        sentinels.end()
        replica.end()
        primary.end()


def addressed(name, nodes, port):
    """The text of an example with the addresses of this machine."""
    text = (EXAMPLE / name).read_text()
    for node in nodes:
        assert f"{node.name_in_cluster}:6001" in text
        text = text.replace(f"{node.name_in_cluster}:6001", f"127.0.0.1:{node.port}")
    return text.replace("bind :8080", f"bind 127.0.0.1:{port}").replace("listen 8080", f"listen 127.0.0.1:{port}")


@pytest.fixture(params=["haproxy", "nginx"])
def balancer(request, nodes, tmp_path):
    """The port of a load balancer."""
    port = free_port()
    file = tmp_path / "balancer.conf"
    if request.param == "haproxy":
        file.write_text(addressed("haproxy.cfg", nodes, port))
        command = ["haproxy", "-db", "-f", file]
    else:
        # Of a service's own: where it may write.
        folders = "".join(
            f"{name}_temp_path {tmp_path}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        text = addressed("nginx.conf", nodes, port).replace("http {", f"http {{ access_log off; {folders}", 1)
        file.write_text(f"pid {tmp_path}/nginx.pid; {text}")
        command = ["nginx", "-e", tmp_path / "error.log", "-p", tmp_path, "-c", file, "-g", "daemon off;"]
    path = f"{os.environ['PATH']}:/usr/sbin"
    process = subprocess.Popen(command, env={**os.environ, "PATH": path})
    try:
        await_true(lambda: accepts(port), f"{request.param} listens")
        await_true(lambda: health(port) == 200, "a node behind it")
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def health(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def subscriber(port):
    connection = websocket.create_connection(f"ws://127.0.0.1:{port}/app/{KEY}?protocol=7", timeout=20)
    assert "connection_established" in connection.recv()
    connection.send(json.dumps({"event": "pusher:subscribe", "data": {"channel": "news"}}))
    assert "subscription_succeeded" in connection.recv()
    return connection


def test_clients_and_backends_meet_behind_it(balancer, nodes):
    backend = pusher.Pusher("1", KEY, SECRET, ssl=False, host="127.0.0.1", port=balancer)
    # Enough that both nodes have some.
    subscribers = [subscriber(balancer) for _ in range(6)]
    for number in range(4):
        backend.trigger("news", "headline", {"number": number})
        for each in subscribers:
            message = json.loads(each.recv())
            assert (message["event"], json.loads(message["data"])) == ("headline", {"number": number})
    listed = nodes[0].run("nodes", "--json")
    assert listed.returncode == 0, listed.stderr
    listed = [json.loads(line) for line in listed.stdout.splitlines()]
    assert [node["name"] for node in listed] == ["node-1", "node-2"]
    await_true(
        lambda: all(
            json.loads(line)["clients"] > 0 for line in nodes[0].run("nodes", "--json").stdout.splitlines()
        ),
        "clients on both nodes",
    )
    for each in subscribers:
        each.close()


def test_the_servers_are_checked(nodes):
    checked = nodes[0].run("check")
    assert checked.returncode == 0, checked.stdout
    assert "min-replicas-to-write is 0" in checked.stdout
    assert "it has no replica" not in checked.stdout
    assert "appendonly" not in checked.stdout


def test_the_composition_names_what_there_is():
    text = (EXAMPLE / "compose.yaml").read_text()
    for name in ("fanfare.yaml", "haproxy.cfg", "sentinel.conf"):
        assert f"./{name}:" in text
        assert (EXAMPLE / name).exists()
    sentinels = (EXAMPLE / "fanfare.yaml").read_text()
    for number in (1, 2, 3):
        assert f"sentinel-{number}: " in text and f"sentinel-{number}:26379" in sentinels
    assert Path(ROOT / "Dockerfile").exists() and "build: ../.." in text
