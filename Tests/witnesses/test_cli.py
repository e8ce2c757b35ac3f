"""The command-line program against a broker in another process."""

import json
import os
import pty
import signal
import subprocess
from types import SimpleNamespace

import pytest

from ports import accepts, free_port
from programs import BUILD, STOP_TIME_MAX, Broker, Program, await_true, run


def trigger(url, *arguments):
    return run("fanfare", "trigger", *arguments, "--url", url)


def test_listen_prints_what_trigger_sends(broker):
    with Program("fanfare", "listen", "news", "--json", "--url", broker.url) as listener:
        listener.await_line("subscribed to news")
        sent = trigger(broker.url, "greeting", '{"text": "hello"}', "--channel", "news")
        assert sent.returncode == 0, sent.stderr
        event = json.loads(listener.await_line("greeting").string)
    assert (event["channel"], event["event"]) == ("news", "greeting")
    assert event["data"] == '{"text": "hello"}'


def test_listen_and_trigger_over_tls(broker, certificate):
    trust = ("--trust", certificate.certificate)
    with Program("fanfare", "listen", "news", "--url", broker.tls_url, *trust) as listener:
        listener.await_line("subscribed to news")
        sent = trigger(broker.tls_url, "greeting", "hello", "--channel", "news", *trust)
        assert sent.returncode == 0, sent.stderr
        assert listener.await_line("greeting").string.endswith("news greeting hello")


def test_listen_keeps_the_order(broker):
    with Program("fanfare", "listen", "news", "--json", "--url", broker.url) as listener:
        listener.await_line("subscribed to news")
        for number in range(5):
            assert trigger(broker.url, "step", number, "--channel", "news").returncode == 0
        received = [json.loads(listener.await_line("step").string)["data"] for _ in range(5)]
    assert received == ["0", "1", "2", "3", "4"]


def test_a_certificate_of_ours_is_one_that_a_listener_can_trust(tmp_path):
    files = SimpleNamespace(certificate=tmp_path / "certificate.pem", key=tmp_path / "key.pem")
    made = run(
        "fanfare", "keys", "certificate", "--certificate", files.certificate, "--key", files.key
    )
    assert made.returncode == 0, made.stderr
    trust = ("--trust", files.certificate)
    with Broker(certificate=files) as broker:
        with Program("fanfare", "listen", "news", "--url", broker.tls_url, *trust) as listener:
            listener.await_line("subscribed to news")


def test_trigger_says_when_nobody_answers():
    # Port 9 is "discard"; nothing listens there.
    failed = trigger("http://127.0.0.1:9", "greeting", "{}", "--channel", "news")
    assert failed.returncode != 0
    assert "cannot be reached" in failed.stderr


def test_trigger_says_when_the_secret_is_wrong(broker):
    failed = trigger(broker.url, "greeting", "{}", "--channel", "news", "--secret", "wrong")
    assert failed.returncode != 0
    assert "401" in failed.stderr


def test_serve_says_when_its_port_is_taken(broker):
    failed = run("fanfare", "serve", "--port", broker.port)
    assert failed.returncode != 0
    assert str(broker.port) in failed.stderr


def test_serve_refuses_the_network_with_development_credentials():
    failed = run("fanfare", "serve", "--host", "0.0.0.0", "--port", 0)
    assert failed.returncode != 0
    assert "app" in failed.stderr


@pytest.mark.parametrize("program", [("fanfare", "serve"), ("fanfare-demos",)])
def test_a_malformed_app_is_not_printed(program):
    refused = run(*program, "--app", "1:hush")
    assert refused.returncode == 64 and "--app must be ID:KEY:SECRET" in refused.stderr
    assert "hush" not in refused.stdout + refused.stderr


def test_help_has_examples():
    for command in ("serve", "trigger", "listen"):
        shown = run("fanfare", command, "--help").stdout
        assert "Examples:" in shown and f"fanfare {command}" in shown


def test_a_broker_with_a_file_stops_when_it_loses_its_terminal(tmp_path):
    # With a file SIGHUP asks for a reload, unless it came because the terminal is gone.
    file = tmp_path / "fanfare.yaml"
    file.write_text('apps: [{id: 7, key: one, secret: first-secret}]\n')
    terminal, end = pty.openpty()
    broker = subprocess.Popen(
        [BUILD / "fanfare", "serve", "--port", "0", "--config", file],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=end,
        text=True,
    )
    os.close(end)
    try:
        assert "ready" in broker.stdout.readline()
        os.close(terminal)
        broker.send_signal(signal.SIGHUP)
        assert broker.wait(STOP_TIME_MAX) == 0
    finally:
        broker.kill()
        broker.wait()


@pytest.mark.parametrize("kind", ["another port", "TLS alone", "a prefix", "a socket", "every network"])
def test_health_asks_where_the_broker_listens(tmp_path, certificate, kind):
    port = free_port()
    pair = {"certificate": str(certificate.certificate), "key": str(certificate.key)}
    settings = {
        "another port": {"listen": {"port": port}},
        "TLS alone": {"listen": {"port": None}, "tls": {"port": port, "certificates": [pair]}},
        "a prefix": {"listen": {"port": port, "path_prefix": "/realtime"}},
        "a socket": {"listen": {"port": None, "unix_socket": str(tmp_path / "s.sock")}},
        "every network": {"listen": {"host": "::", "port": port}},
    }[kind]
    app = {"id": "1", "key": "k", "secret": "a-secret-of-this-test"}
    file = tmp_path / "fanfare.yaml"
    file.write_text(json.dumps({**settings, "apps": [app]}))  # JSON is YAML as well.
    with Program("fanfare", "serve", "--config", file) as broker:
        broker.await_ready("ready on")
        healthy = run("fanfare", "health", "--config", file)
        assert (healthy.returncode, healthy.stderr) == (0, "")
    away = run("fanfare", "health", "--config", file)
    assert away.returncode == 1 and away.stderr


def test_health_is_not_that_of_another_server(tmp_path):
    port = free_port()
    file = tmp_path / "fanfare.yaml"
    file.write_text(f"listen: {{port: {port}}}\n")
    (tmp_path / "health").write_text("OK\n")
    server = subprocess.Popen(
        ["python3", "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", tmp_path],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        await_true(lambda: accepts(port), "the other server")
        other = run("fanfare", "health", "--config", file)
    finally:
        server.terminate()
        server.wait()
    assert other.returncode == 1
    assert "is not answered by a broker" in other.stderr
