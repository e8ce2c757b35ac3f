"""What the tests share: a certificate, one broker, and clients of it."""

import signal
import subprocess
from types import SimpleNamespace

import pusher
import pytest

from browser import Page
from programs import Broker
from static_site import EMPTY_PAGE, StaticSite
from two_nodes import TwoNodes

# What a shell runs in the background ignores SIGINT, and what runs without a terminal SIGHUP: the programs would inherit
# it, and they are told to stop by them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate for loopback that only these tests trust."""
    folder = tmp_path_factory.mktemp("tls")
    files = SimpleNamespace(certificate=folder / "certificate.pem", key=folder / "key.pem")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", files.key, "-out", files.certificate),
        ],
        check=True,
        capture_output=True,
    )
    return files


BROKERS = {"one node": Broker, "two nodes": TwoNodes}


def pytest_generate_tests(metafunc):
    """What holds at one broker holds at two nodes: the modules that say so run at both."""
    if "broker" in metafunc.fixturenames and getattr(metafunc.module, "RUNS_AT_TWO_NODES", False):
        metafunc.parametrize("broker", BROKERS, indirect=True, scope="session")


@pytest.fixture(scope="session")
def broker(request, certificate):
    with BROKERS[getattr(request, "param", "one node")](certificate=certificate) as broker:
        yield broker


@pytest.fixture(scope="session")
def site():
    """The address of an empty page, on another origin than the broker's."""
    with StaticSite({"/": EMPTY_PAGE}) as site:
        yield site.url


@pytest.fixture
def trusting(certificate, monkeypatch):
    """Makes the client libraries check the broker's certificate against the tests' own."""
    monkeypatch.setattr("pusher.requests.CERT_PATH", str(certificate.certificate))
    monkeypatch.setenv("WEBSOCKET_CLIENT_CA_BUNDLE", str(certificate.certificate))


@pytest.fixture(params=["plain", "tls"])
def publisher(request, broker, trusting):
    """The official HTTP library, over http and over https."""
    secure = request.param == "tls"
    return pusher.Pusher(
        app_id=broker.app_id,
        key=broker.key,
        secret=broker.secret,
        host="localhost" if secure else "127.0.0.1",
        port=broker.tls_port if secure else broker.port,
        ssl=secure,
    )


@pytest.fixture(scope="session")
def browsers():
    """Three browsers; a test finds them as another has left them, and opens a page of its own."""
    pages = []
    try:
        for _ in range(3):
            pages.append(Page())
        yield pages
    finally:
        for page in pages:
            page.quit()
