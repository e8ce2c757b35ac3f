"""The command-line program against a broker in another process."""

import json

from programs import Program, run


def test_listen_prints_what_trigger_sends(broker):
    port = ("--port", broker.port)
    with Program("fanfare", "listen", "news", "--json", *port) as listener:
        listener.await_line("subscri")
        sent = run("fanfare", "trigger", "news", "greeting", '{"text": "hello"}', *port)
        assert sent.returncode == 0, sent.stderr
        event = json.loads(listener.await_line("greeting").string)
    assert (event["channel"], event["event"]) == ("news", "greeting")
    assert json.loads(event["data"]) == {"text": "hello"}


def test_trigger_says_when_nobody_answers(broker):
    # Port 9 is "discard"; nothing listens there.
    failed = run("fanfare", "trigger", "news", "greeting", "{}", "--port", 9)
    assert failed.returncode != 0
    assert "9" in failed.stderr


def test_serve_says_when_its_port_is_taken(broker):
    failed = run("fanfare", "serve", "--port", broker.port)
    assert failed.returncode != 0
    assert str(broker.port) in failed.stderr


def test_serve_refuses_the_network_with_development_credentials():
    failed = run("fanfare", "serve", "--host", "0.0.0.0", "--port", 0)
    assert failed.returncode != 0
    assert "--app" in failed.stderr


def test_help_has_examples():
    for command in ("serve", "trigger", "listen"):
        assert "fanfare " + command in run("fanfare", command, "--help").stdout
