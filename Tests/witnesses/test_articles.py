"""The Swift programs of the articles, run against a broker, an app's backend and the demos.

`ProgramsTests` holds that the files in `Tests/DocumentationTests/Programs` are the articles' programs. Not run are those of
the guides (`test_swift_guides.py`, `test_away.py`, `test_guides.py`), of FanfareTesting (a Swift test), those for UIKit and SwiftUI
(type-checked against stubs), the
one of shared texts, which needs an app around it, and one that only declares an actor.
"""

import json
import re
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs

import pusher
import pytest

from programs import ROOT, Demos, Program, await_true
from swift_program import compile_program

PROGRAMS = ROOT / "Tests" / "DocumentationTests" / "Programs"
NOT_RUN = re.compile(r"Guide.*|FanfareTestingArticle|SharedTextArticle|FanfareClientIsolation")
STAY = 'print("(returned)")\nwhile true { try await Task.sleep(for: .seconds(3_600)) }\n'
# As in FanfareAPIEncryption and EncryptionOfBackends.
MASTER_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


@pytest.fixture(scope="module")
def library(broker):
    """The official HTTP library, with the master key of the encryption's articles."""
    return pusher.Pusher(
        app_id=broker.app_id,
        key=broker.key,
        secret=broker.secret,
        host="127.0.0.1",
        port=broker.port,
        ssl=False,
        encryption_master_key_base64=MASTER_KEY,
    )


@pytest.fixture(scope="module")
def backend(library):
    """The app's endpoints for authorization: each connection is another user, named Ann."""
    users = count(1)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            socket_id = form["socket_id"][0]
            user = str(next(users))
            if "channel_name" in form:
                member = {"user_id": user, "user_info": {"name": "Ann"}}
                signed = library.authenticate(form["channel_name"][0], socket_id, member)
            else:
                signed = library.authenticate_user(socket_id, {"id": f"user{user}"})
            # The library gives some values as bytes.
            content = json.dumps(signed, default=bytes.decode).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()


@pytest.fixture(scope="module")
def demos(broker):
    """The demos, whose users one of the programs shows."""
    with Demos(broker.port) as demos:
        yield demos


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the programs and their databases."""
    return tmp_path_factory.mktemp("articles")


@pytest.fixture(scope="module")
def articles(broker, backend, demos, certificate, folder):
    """One program of all, which runs the one that it is told, and stays when that has returned."""
    replaced = {
        '"https://example.com/pusher/': f'"http://127.0.0.1:{backend}/',
        '.secure(host: "push.example.com")': f'.plain(host: "127.0.0.1", port: {broker.port})',
        '.secure(host: "realtime.example.com")': f'.secure(host: "localhost", port: {broker.tls_port})',
        '.plain(host: "127.0.0.1")': f'.plain(host: "127.0.0.1", port: {broker.port})',
        "6001": str(broker.port),
        "4000": str(demos.port),
        "/etc/company/authority.pem": str(certificate.certificate),
        'path: "': f'path: "{folder}/',
    }
    files, calls = {}, []
    for file in sorted(PROGRAMS.glob("*.swift")):
        if NOT_RUN.fullmatch(file.stem):
            continue
        source = file.read_text()
        for old, new in replaced.items():
            source = source.replace(old, new)
        function = re.search(r"^(?:@MainActor )?func (\w+)\(\)([a-z ]*)\{", source, re.M)
        name, effects = function.groups()
        if "async" in effects:
            # As at the top level of a program, where nothing is released.
            end = source.index("\n}\n", function.end()) + 1
            source = source[:end] + STAY + source[end:]
        files[file.name] = source
        prefix = ("try " if "throws" in effects else "") + ("await " if "async" in effects else "")
        calls.append(f'case "{name}": {prefix}{name}()')
    main = "\n".join(
        ["switch CommandLine.arguments[1] {", *calls, "default: fatalError()", "}"]
        + [STAY]
    )
    program = compile_program(main, folder, "articles", files)
    return lambda name: Program(program.name, name, folder=program.parent, through=("stdbuf", "-oL"))


@pytest.fixture
def subscribed(library):
    """Waits until a channel has a number of subscribers more than `before`."""

    def wait(channel, number=1, before=0):
        expected = before + number
        await_true(lambda: subscriptions(library, channel) >= expected, f"{channel}: {expected} subscribers")

    return wait


def subscriptions(library, channel):
    return library.channel_info(channel, ["subscription_count"]).get("subscription_count", 0)


@pytest.mark.parametrize("name", ["fanfareClientArticle", "pusherSwiftArticle"])
def test_a_subscriber_prints_what_the_backend_triggers(articles, library, subscribed, name):
    before = subscriptions(library, "userslist")
    with articles(name) as subscriber:
        subscribed("userslist", before=before)
        with articles("fanfareAPIArticle") as trigger:
            trigger.await_line(r"^\(returned\)$")
        subscriber.await_line("^Ann$")


def test_a_presence_channel_shows_who_comes_and_goes(articles):
    with articles("presenceArticle") as first:
        first.await_line("^1 in the room$")
        with articles("presenceArticle") as second:
            first.await_lines("^Ann is here$", "^2 in the room$")
            second.await_line("^2 in the room$")
        first.await_lines(r"^\d+ has gone$", "^1 in the room$")


def test_a_client_event_reaches_the_other_subscriber(articles, subscribed):
    with articles("clientEventsArticle") as first:
        subscribed("presence-room")
        with articles("clientEventsArticle"):
            first.await_line("^true$")


def test_events_have_types(articles, library, subscribed):
    with articles("typedEventsArticle") as program:
        subscribed("presence-room")
        library.trigger("presence-room", "message", {"text": "Hello"})
        program.await_line("^Hello$")
        with articles("typedEventsArticle"):
            program.await_lines("^Ann is here$", "^…$")


def test_a_user_signs_in_and_gets_messages(articles, library):
    with articles("usersArticle") as program:
        user = program.await_line("^signed in as (.*)$")[1]

        def is_shown():
            # The client joins the user's channel a moment behind the sign-in.
            library.send_to_user(user, "message", "Hello")
            return any("Hello" in line for line in program.new_lines)

        await_true(is_shown, "the message to the user")


def test_private_channels_are_authorized(articles, subscribed):
    with articles("authorisationArticle") as program:
        program.await_line(r"^\(returned\)$")
        assert program.output == "(returned)"
        subscribed("private-orders")


def test_a_client_decrypts_what_a_backend_encrypts(articles, library, subscribed):
    with articles("encryptionOfBackends") as program:
        secret = program.await_line(r"^(\S+) \{")[1]
        expected = library.authenticate("private-encrypted-orders", "1.1")["shared_secret"]
        assert secret == expected.decode()
    with articles("encryptionOfClients") as client:
        subscribed("private-encrypted-orders")
        with articles("fanfareAPIEncryption") as trigger:
            trigger.await_line(r"^\(returned\)$")
        client.await_line(r'^\{"id":7\}$')


def test_a_backend_reads_positions_and_history(articles):
    with articles("fanfareAPIPositions") as program:
        program.await_lines(r'^\d+ move \{"to":"e4"\}$', r"^\(returned\)$")
        assert "cursor" not in program.output


def test_outboxes_send_what_they_have_stored(articles, broker, folder):
    with articles("fanfareStorageClient") as program:
        program.await_line("^1 messages wait$")
    assert (folder / "client-events.sqlite").exists()
    with sqlite3.connect(folder / "orders.sqlite") as database:
        database.execute('CREATE TABLE "order" (id INTEGER PRIMARY KEY, dish TEXT NOT NULL)')
    listen = ("fanfare", "listen", "orders", "--url", broker.url)
    with Program(*listen) as listener:
        listener.await_line("subscribed to orders")
        with articles("fanfareStorageBackend"):
            listener.await_line("ordered.*Soup")


def test_a_state_and_the_events_behind_it(articles, library):
    with articles("lostConnectionsArticle") as program:
        program.await_line(r'^\["Soup"\]$')
        library.trigger("orders", "ordered", '"Bread"')
        program.await_line(r'^\["Soup", "Bread"\]$')


def test_a_list_is_live(articles):
    with articles("liveCollectionsArticle") as program:
        program.await_line(r'"Ann"\]')


@pytest.mark.parametrize(
    "name, printed",
    [
        ("liveQueriesArticle", r'^\["Water the plants"\]'),
        ("liveRowsArticle", r"^-\[1, 2\] \+\[3\] 0→4$"),
        ("liveTablesArticle", r'^\["Film 4", "Film 5", "Film 6"\]$'),
    ],
)
def test_a_program_without_a_broker_prints_what_it_should(articles, name, printed):
    with articles(name) as program:
        program.await_line(printed)


@pytest.mark.parametrize(
    "name",
    ["authorisationByClosure", "fanfareClientPins", "fanfareClientProxy", "fanfareClientTrust"],
)
def test_a_program_that_only_configures_returns(articles, name):
    with articles(name) as program:
        program.await_line(r"^\(returned\)$")
