"""docs/deployment.md: proxies with the configurations that it prints, and the names of the metrics in it and in the dashboard."""

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request

import pusher
import pytest

from cluster.servers import RedisServer
from documents import block_with, blocks_in
from ports import accepts, free_port
from programs import BUILD, ROOT, Broker, await_true
from pusher_socket import PusherSocket

GUIDE = "docs/deployment.md"
PATH = f"{os.environ['PATH']}:/usr/sbin"


def replaced(text, **changes):
    """The text with each change made exactly once."""
    for old, new in changes.items():
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in the configuration"
        text = text.replace(old, str(new))
    return text


def nginx(broker, certificate, port, folder):
    folders = "".join(f"{name}_temp_path {folder}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    text = replaced(
        block_with("worker_rlimit_nofile", GUIDE, "nginx"),
        **{
            "127.0.0.1:6001": f"127.0.0.1:{broker.port}",
            "listen 443": f"listen 127.0.0.1:{port}",
            "server_name push.example.com": "server_name localhost",
            "/etc/letsencrypt/live/push.example.com/fullchain.pem": certificate.certificate,
            "/etc/letsencrypt/live/push.example.com/privkey.pem": certificate.key,
            "/run/nginx.pid": f"{folder}/nginx.pid",
            # A test's own: where it may write, and what its machine allows.
            "http {": f"http {{ access_log off; {folders}",
            "worker_rlimit_nofile 200000;": "",
            "100000;": "256;",
        },
    )
    file = folder / "nginx.conf"
    file.write_text(text)
    return ["nginx", "-e", folder / "error.log", "-p", folder, "-c", file, "-g", "daemon off;"]


def haproxy(broker, certificate, port, folder):
    pair = folder / "pair.pem"
    pair.write_text(certificate.certificate.read_text() + certificate.key.read_text())
    text = replaced(
        block_with("frontend clients", GUIDE, "haproxy"),
        **{
            "127.0.0.1:6001": f"127.0.0.1:{broker.port}",
            "bind :443": f"bind 127.0.0.1:{port}",
            "/etc/haproxy/certs/push.example.com.pem": pair,
            "maxconn 200000": "maxconn 256",
        },
    )
    file = folder / "haproxy.cfg"
    file.write_text(text)
    return ["haproxy", "-db", "-f", file]


def caddy(broker, certificate, port, folder):
    if not shutil.which("caddy", path=PATH):
        pytest.skip("caddy is not installed")
    text = replaced(
        block_with("reverse_proxy", GUIDE, "caddy"),
        **{
            # The test's certificate in the place of one of Let's Encrypt.
            "push.example.com {": f"localhost:{port} {{\n\ttls {certificate.certificate} {certificate.key}",
            "127.0.0.1:6001": f"127.0.0.1:{broker.port}",
        },
    )
    file = folder / "Caddyfile"
    file.write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    return ["caddy", "run", "--config", file, "--adapter", "caddyfile"]


PROXIES = {function.__name__: function for function in (nginx, haproxy, caddy)}


@pytest.fixture(params=PROXIES)
def proxy(request, broker, certificate, tmp_path):
    """The port of a proxy in front of the broker."""
    port = free_port()
    command = PROXIES[request.param](broker, certificate, port, tmp_path)
    environment = {**os.environ, "PATH": PATH, "HOME": str(tmp_path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        await_true(lambda: accepts(port), f"{request.param} listens")
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def test_clients_and_backends_meet_behind_a_proxy(proxy, broker, trusting):
    backend = pusher.Pusher(broker.app_id, broker.key, broker.secret, ssl=True, host="localhost", port=proxy)

    def answers():
        # HAProxy sends nothing to the broker before its first check.
        try:
            return backend.channels_info() is not None
        except Exception:  # Of the library or of what it is built on.
            return False

    await_true(answers, "the API behind the proxy")
    with PusherSocket(f"wss://localhost:{proxy}", broker.key, trusts_anybody=True) as socket:
        socket.subscribe("news")
        backend.trigger("news", "headline", {"number": 1})
        event = socket.receive()
        assert (event["event"], json.loads(event["data"])) == ("headline", {"number": 1})


def test_the_configuration_and_the_unit_are_sound(tmp_path):
    file = tmp_path / "fanfare.yaml"
    file.write_text(block_with("# /etc/fanfare/fanfare.yaml", GUIDE, "yaml"))
    checked = subprocess.run([BUILD / "fanfare", "check", "--config", file], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    for name in re.findall(r"config/[\w./-]*\w", (ROOT / GUIDE).read_text()):
        assert (ROOT / name).exists(), name


def test_the_file_for_production_takes_its_key_and_secret_from_the_environment():
    file = ROOT / "config" / "fanfare.yaml"
    secrets = {"FANFARE_APPS_0_KEY": "a-key", "FANFARE_APPS_0_SECRET": "a-secret-of-this-test"}
    for environment, status in ((secrets, 0), ({}, 1)):
        checked = subprocess.run(
            [BUILD / "fanfare", "check", "--config", file], env={**os.environ, **environment}, capture_output=True, text=True
        )
        assert checked.returncode == status, checked.stdout + checked.stderr
    assert "apps.0.key is missing" in checked.stderr and "apps.0.secret is missing" in checked.stderr


def test_the_hook_for_certbot_hands_over_what_was_renewed(certificate, tmp_path):
    renewed, target = tmp_path / "live", tmp_path / "tls"
    renewed.mkdir()
    (renewed / "fullchain.pem").write_text(certificate.certificate.read_text())
    (renewed / "privkey.pem").write_text(certificate.key.read_text())
    hook = replaced(block_with("RENEWED_LINEAGE", GUIDE, "sh"), **{"/etc/fanfare/tls": target})
    # Only root may give files away.
    hook = hook.replace("-o root -g fanfare ", "")
    done = subprocess.run(["sh", "-c", hook], env={**os.environ, "RENEWED_LINEAGE": str(renewed)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (target / "fullchain.pem").read_text() == certificate.certificate.read_text()
    assert (target / "privkey.pem").stat().st_mode & 0o777 == 0o640
    assert len(list(target.iterdir())) == 2


def metrics_of(configuration, folder, *awaited, provoke=lambda: None):
    """The names of the metrics of a broker with this configuration, when `awaited` are among them."""
    port = free_port()
    file = folder / f"broker-{port}.json"  # JSON is YAML as well.
    app = {"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret}
    file.write_text(json.dumps({"apps": [app], "metrics": {"port": port}, **configuration}))
    with Broker(configuration=file) as broker:
        with PusherSocket(f"ws://127.0.0.1:{broker.port}", broker.key) as socket:
            socket.subscribe("news", position={})
            provoke()

            def names():
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
                    return set(re.findall(r"^(fanfare_\w+)", answer.read().decode(), re.M))

            await_true(lambda: names() >= set(awaited), f"{awaited}", told=lambda: sorted(names()))
            return names()


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """The names of all metrics: a broker alone has a file of channels, one in a cluster has Redis."""
    folder = tmp_path_factory.mktemp("metrics")
    file = {"recovery": {"database": str(folder / "history.sqlite")}}
    alone = metrics_of(file, folder, "fanfare_recovery_window_seconds")
    redis = RedisServer()
    try:
        cluster = {"engine": "redis", "redis": {"urls": [f"redis://127.0.0.1:{redis.port}"]}}
        cut = lambda: redis.command("CLIENT", "KILL", "TYPE", "pubsub")
        return alone | metrics_of(
            {"cluster": cluster}, folder, "fanfare_cluster_connection_faults_total", provoke=cut
        )
    finally:
        redis.end()


def expressions():
    """What the dashboard's panels and the rules for alerts ask, by where it stands."""
    dashboard = json.loads((ROOT / "docs/grafana.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for rule in re.findall(r"- alert: (\w+)\n\s+expr: (.*)", block_with("- alert:", GUIDE, "yaml")):
        yield rule


def test_each_metric_of_dashboard_and_alerts_exists(metrics):
    asked = list(expressions())
    assert len(asked) > 40
    unknown = [(where, name) for where, text in asked for name in re.findall(r"fanfare_\w+", text) if name not in metrics]
    assert unknown == []
    for where, text in asked:
        assert "fanfare" in text, f"{where} asks nothing of the broker"


def test_each_metric_is_in_the_dashboard(metrics):
    """Except those of faults so rare that a panel would be empty for ever."""
    rare = {
        "fanfare_store_damaged_sessions_total", "fanfare_cluster_attached_channels", "fanfare_cluster_webhooks_waiting",
        "fanfare_cluster_webhooks_dropped_total", "fanfare_cluster_divergences_total",
        "fanfare_cluster_caught_up_messages_total", "fanfare_cluster_gaps_reported_total",
        "fanfare_cluster_refused_replies_total", "fanfare_store_damaged_rows_total", "fanfare_store_misplaced",
        "fanfare_clock_steps_total", "fanfare_webhooks_damaged_total",
    }
    shown = {name for _, text in expressions() for name in re.findall(r"fanfare_\w+", text)}
    assert metrics - shown - rare == set()


def test_the_guides_name_no_metric_that_does_not_exist(metrics):
    for document in sorted((ROOT / "docs").glob("*.md")):
        named = set(re.findall(r"\bfanfare_(?!hits)[a-z]\w+", document.read_text()))
        assert {name for name in named if name not in metrics} == set(), document.name


def test_the_languages_of_the_blocks_are_those_that_are_tested():
    assert [len(blocks_in(GUIDE, language)) for language in ("nginx", "haproxy", "caddy")] == [1, 1, 1]


def test_prometheus_understands_each_expression(tmp_path):
    """By its own tool, which is not among the packages that the tests install."""
    if not shutil.which("promtool", path=PATH):
        pytest.skip("promtool is not installed")
    rules = tmp_path / "alerts.yml"
    rules.write_text(block_with("- alert:", GUIDE, "yaml"))
    configuration = tmp_path / "prometheus.yml"
    configuration.write_text(block_with("scrape_configs", GUIDE, "yaml"))
    panels = tmp_path / "panels.yml"
    records = [
        {"record": f"panel:{number}", "expr": text.replace("$__rate_interval", "5m").replace("$instance", ".*")}
        for number, (_, text) in enumerate(expressions())
    ]
    panels.write_text(json.dumps({"groups": [{"name": "panels", "rules": records}]}))
    for command in (["rules", rules], ["rules", panels], ["config", configuration]):
        done = subprocess.run(["promtool", "check", *command], capture_output=True, text=True, env={**os.environ, "PATH": PATH})
        assert done.returncode == 0, done.stdout + done.stderr
