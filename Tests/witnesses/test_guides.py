"""The page and the endpoints of docs/browsers.md, and README.md's backend, as they are printed: a private channel is joined
through each.

Go is not among the packages that the tests install: its endpoint runs where `go` is.
"""

import json
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import pusher
import pytest

from documents import block_with, blocks_in
from ports import accepts, free_port
from programs import ROOT, Program, await_true, run
from pusher_socket import PusherSocket
from static_site import StaticSite
from swift_program import compile_program

GUIDE = "docs/browsers.md"
BROKER_IN_GUIDE, ENDPOINT_IN_GUIDE = "6001", "3000"
PUSHER_JS_IN_GUIDE = "https://js.pusher.com/8.4.0/pusher.min.js"
STAND_IN = Path(__file__).parent / "pusher_stand_in.js"
PAGE = block_with("<title>Orders</title>", GUIDE, "html")

# What an app's web framework does around the Swift snippet.
SWIFT_SERVER = """
import HTTP1
import HTTPServer
import Net

let service = try HTTPService.start(on: [SocketAddress(ip: "127.0.0.1", port: 3000)!]) { request in
    guard request.path == "/pusher/auth" else { return .text("", status: 404) }
    let answer = answer(to: request.body, of: (id: "42", name: "Ann"))
    return .json(Array(answer.json.utf8), status: Status(answer.status))
}
while true { try await Task.sleep(for: .seconds(3_600)) }
"""


def started(folder, block, name, broker, through):
    """A program of the guide beside its page; the port of its endpoint and the program."""
    port = free_port()
    here = block.replace(BROKER_IN_GUIDE, str(broker.port)).replace(ENDPOINT_IN_GUIDE, str(port))
    (folder / name).write_text(here)
    (folder / "index.html").write_text(PAGE.replace(BROKER_IN_GUIDE, str(broker.port)))
    through = [part.format(port=port) for part in through]
    return port, Program(name, folder=folder, through=("env", "-C", folder, *through))


def node(folder, broker):
    return started(folder, block_with("server.mjs", GUIDE, "js"), "server.mjs", broker, ["node"])


def python(folder, broker):
    return started(folder, block_with("server.py", GUIDE, "python"), "server.py", broker, [sys.executable])


def ruby(folder, broker):
    return started(folder, block_with("server.rb", GUIDE, "ruby"), "server.rb", broker, ["ruby"])


def php(folder, broker):
    block = block_with("server.php", GUIDE, "php")
    return started(folder, block, "server.php", broker, ["php", "-S", "127.0.0.1:{port}"])


def go(folder, broker):
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    block = block_with("server.go", GUIDE, "go")
    port, program = started(folder, block, "server.go", broker, ["true"])
    program.wait()
    subprocess.run(["go", "build", "-o", "server", "server.go"], cwd=folder, check=True, timeout=100)
    return port, Program("server", folder=folder, through=("env", "-C", folder))


def swift(folder, broker):
    port = free_port()
    source = block_with("GrantRequest", GUIDE, "swift") + SWIFT_SERVER
    source = source.replace(BROKER_IN_GUIDE, str(broker.port)).replace(ENDPOINT_IN_GUIDE, str(port))
    path = compile_program(source, folder, "endpoint")
    return port, Program(path.name, folder=path.parent)


ENDPOINTS = {function.__name__: function for function in (node, python, ruby, php, go, swift)}


@pytest.fixture(scope="module", params=ENDPOINTS)
def endpoint(request, broker, tmp_path_factory):
    """The address of an endpoint of the guide."""
    port, program = ENDPOINTS[request.param](tmp_path_factory.mktemp(request.param), broker)
    with program:
        await_true(lambda: accepts(port), f"{request.param} listens", seconds=30, told=lambda: program.new_lines)
        yield f"http://127.0.0.1:{port}"


def authorize(endpoint, socket_id, channel):
    """The status and the text that the endpoint answers to the form of pusher-js."""
    form = urlencode({"socket_id": socket_id, "channel_name": channel}).encode()
    try:
        with urllib.request.urlopen(f"{endpoint}/pusher/auth", form, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def granted(endpoint, socket_id, channel):
    status, text = authorize(endpoint, socket_id, channel)
    assert status == 200, text
    return json.loads(text)


def backend_of(broker):
    return pusher.Pusher(broker.app_id, broker.key, broker.secret, host="127.0.0.1", port=broker.port, ssl=False)


def test_a_private_channel_is_joined_through_the_endpoint(endpoint, broker):
    with PusherSocket(f"ws://127.0.0.1:{broker.port}", broker.key) as socket:
        socket.subscribe("private-orders", **granted(endpoint, socket.socket_id, "private-orders"))
        backend_of(broker).trigger("private-orders", "ordered", {"dish": "Soup"})
        event = socket.receive()
        assert (event["event"], json.loads(event["data"])) == ("ordered", {"dish": "Soup"})


def test_a_presence_channel_is_joined_through_the_endpoint(endpoint, broker):
    with PusherSocket(f"ws://127.0.0.1:{broker.port}", broker.key) as socket:
        data = socket.subscribe("presence-room", **granted(endpoint, socket.socket_id, "presence-room"))
        assert data["presence"]["hash"] == {"42": {"name": "Ann"}}


@pytest.mark.parametrize(
    "socket_id, channel, status",
    [
        ("1.1", "private-secrets", 403),
        ("1.1::user::{}", "private-orders", 400),
        ("", "private-orders", 400),
    ],
)
def test_the_endpoint_refuses(endpoint, socket_id, channel, status):
    assert authorize(endpoint, socket_id, channel)[0] == status


def see_orders(browser, broker, port):
    """The page at a port is subscribed, and shows what the command of the guides triggers."""
    browser.open(f"http://127.0.0.1:{port}/")
    await_true(lambda: "Subscribed" in browser.text("body"), "the subscription", told=lambda: browser.text("body"))
    order = ["trigger", "ordered", '{"dish": "Soup"}', "--channel", "private-orders", "--url", broker.url]
    assert run("fanfare", *order).returncode == 0
    await_true(lambda: "Soup" in browser.text("body"), "the dish", told=lambda: browser.text("body"))


@pytest.fixture(scope="module")
def pusher_js():
    """The URL of the stand-in, where there is no internet."""
    with StaticSite({"/pusher.js": STAND_IN.read_text()}) as site:
        yield f"{site.url}/pusher.js"


@pytest.mark.parametrize("language", ["node", "python", "ruby", "php"])
def test_the_page_shows_what_is_ordered(browsers, broker, tmp_path, pusher_js, language):
    port, program = ENDPOINTS[language](tmp_path, broker)
    page = tmp_path / "index.html"
    page.write_text(page.read_text().replace(PUSHER_JS_IN_GUIDE, pusher_js))
    with program:
        await_true(lambda: accepts(port), f"{language} listens", seconds=30, told=lambda: program.new_lines)
        see_orders(browsers[0], broker, port)


def test_the_page_of_the_readme_s_backend_shows_what_is_ordered(browsers, broker, tmp_path, pusher_js):
    block = block_with("createServer", "README.md", "js").replace(PUSHER_JS_IN_GUIDE, pusher_js)
    port, program = started(tmp_path, block, "server.mjs", broker, ["node"])
    with program:
        await_true(lambda: accepts(port), "the backend listens", seconds=30, told=lambda: program.new_lines)
        assert authorize(f"http://127.0.0.1:{port}", "1.1", "private-secrets")[0] == 403
        see_orders(browsers[0], broker, port)


def printed(start):
    """The commands that README.md and the guides show, and that begin like this."""
    documents = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").glob("*.md")))]
    lines = [line for name in documents for block in blocks_in(name, "sh") for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if line.startswith(start)))


@pytest.mark.parametrize("command", printed("fanfare trigger"))
def test_a_command_that_triggers_is_heard_where_it_says(command, broker):
    words = shlex.split(command, comments=True)[1:]
    for option in ("--url", "--app-id", "--key", "--secret"):
        if option in words:
            del words[words.index(option) : words.index(option) + 2]
    channel = words[max(words.index(name) for name in ("--channel", "-c") if name in words) + 1]
    listen = ["listen", channel, "--url", broker.url, "--count", "1", "--secret", broker.secret]
    with Program("fanfare", *listen) as listener:
        listener.await_line(f"subscribed to {channel}")
        assert run("fanfare", *words, "--url", broker.url).returncode == 0
        listener.await_line(words[1])
        assert listener.wait() == 0


def test_the_python_backend_of_the_readme_triggers(broker):
    source = block_with("backend.trigger", "README.md", "python").replace(BROKER_IN_GUIDE, str(broker.port))
    with PusherSocket(f"ws://127.0.0.1:{broker.port}", broker.key) as socket:
        socket.subscribe("userslist")
        subprocess.run([sys.executable, "-c", source], check=True, timeout=60)
        assert json.loads(socket.receive()["data"]) == {"name": "Ann"}


def test_the_python_backend_triggers_on_both_servers_while_an_app_moves(broker):
    source = block_with("def trigger(", "docs/moving.md", "python")
    # Pusher's own servers are not there: its client fails, and must not keep the event from the other.
    for old, new in {
        'cluster="eu"': 'host="127.0.0.1", port=1, ssl=False',
        'host="push.example.com", port=443, ssl=True': f'host="127.0.0.1", port={broker.port}, ssl=False',
        '"482913"': f'"{broker.app_id}"', '"the-same-key"': f'"{broker.key}"', '"the-same-secret"': f'"{broker.secret}"',
    }.items():
        assert old in source
        source = source.replace(old, new)
    with PusherSocket(f"ws://127.0.0.1:{broker.port}", broker.key) as socket:
        socket.subscribe("userslist")
        call = 'trigger(["userslist"], "addUser", {"name": "Ann"})'
        subprocess.run([sys.executable, "-c", f"{source}\n{call}"], check=True, timeout=60)
        assert json.loads(socket.receive()["data"]) == {"name": "Ann"}


@pytest.mark.parametrize("document", ["README.md", "docs/browsers.md", "docs/moving.md"])
def test_the_settings_of_laravel_are_those_of_its_configuration(document):
    """The variables that config/broadcasting.php of Laravel reads, and what Vite passes to a page."""
    names = ["BROADCAST_CONNECTION"]
    for driver in ("PUSHER", "REVERB"):
        names += [f"{driver}_{name}" for name in ("APP_ID", "APP_KEY", "APP_SECRET", "APP_CLUSTER", "HOST", "PORT", "SCHEME")]
    for block in blocks_in(document, "ini"):
        for line in filter(None, block.splitlines()):
            name, value = line.split("=", 1)
            if name.startswith("SOKETI_"):
                continue
            assert name.removeprefix("VITE_") in names
            if name.startswith("VITE_"):
                assert value == f'"${{{name.removeprefix("VITE_")}}}"'
