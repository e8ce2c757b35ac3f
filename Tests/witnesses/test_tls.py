"""What the built broker's TLS refuses, judged by OpenSSL's own client; and certificates that are renewed."""

import http.client
import json
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from programs import START_TIME_MAX, Broker


@pytest.fixture(scope="module")
def rsa_broker(tmp_path_factory):
    """A broker whose key is RSA, so that it could speak every old cipher if it were willing."""
    folder = tmp_path_factory.mktemp("rsa")
    files = make_certificate(folder, "rsa", "-newkey", "rsa:2048")
    with Broker(certificate=files) as broker:
        yield broker


def make_certificate(folder, name, *key):
    key = key or ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    files = SimpleNamespace(certificate=folder / f"{name}.pem", key=folder / f"{name}.key")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", f"/CN={name}", *key),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", files.key, "-out", files.certificate),
        ],
        check=True,
        capture_output=True,
    )
    return files


def lenient(version=None, ciphers="ALL:@SECLEVEL=0"):
    """A client that believes every server and speaks whatever its library still can."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers(ciphers)
    context.options &= ~ssl.OP_NO_COMPRESSION
    # What is obsolete is tried all the same.
    if version:
        context.minimum_version = context.maximum_version = version
    return context


def connect(broker, context, session=None):
    plain = socket.create_connection(("127.0.0.1", broker.tls_port), timeout=START_TIME_MAX)
    return context.wrap_socket(plain, server_hostname="localhost", session=session)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_obsolete_versions_are_refused(rsa_broker, version):
    with pytest.raises(ssl.SSLError, match="ALERT_PROTOCOL_VERSION"):
        connect(rsa_broker, lenient(version))


@pytest.mark.parametrize(
    "cipher",
    [
        # Without forward secrecy; without authenticated encryption; with finite fields; without any encryption.
        *("AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA", "ECDHE-RSA-AES128-SHA"),
        *("ECDHE-RSA-AES256-SHA384", "DHE-RSA-AES128-GCM-SHA256", "ADH-AES128-GCM-SHA256", "NULL"),
    ],
)
def test_weak_ciphers_are_refused(rsa_broker, cipher):
    with pytest.raises(ssl.SSLError, match="ALERT_HANDSHAKE_FAILURE"):
        connect(rsa_broker, lenient(ssl.TLSVersion.TLSv1_2, f"{cipher}:@SECLEVEL=0"))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_what_is_agreed_on(rsa_broker, version):
    with connect(rsa_broker, lenient(version)) as client:
        name, protocol, _ = client.cipher()
        assert client.compression() is None
        assert protocol == {"TLSv1_2": "TLSv1.2", "TLSv1_3": "TLSv1.3"}[version.name]
        assert name in {"ECDHE-RSA-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256"}


@pytest.mark.parametrize(
    "cipher",
    [
        *("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384"),
        "ECDHE-RSA-CHACHA20-POLY1305",
    ],
)
def test_strong_ciphers_are_accepted(rsa_broker, cipher):
    with connect(rsa_broker, lenient(ssl.TLSVersion.TLSv1_2, cipher)) as client:
        assert client.cipher()[0] == cipher


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("version", "cipher"),
    [
        *((ssl.TLSVersion.TLSv1, "ALL"), (ssl.TLSVersion.TLSv1_1, "ALL")),
        *((ssl.TLSVersion.TLSv1_2, "AES128-SHA"), (ssl.TLSVersion.TLSv1_2, "ECDHE-RSA-AES128-SHA")),
    ],
)
def test_it_is_the_broker_that_refuses(tmp_path, version, cipher):
    """A server without scruples agrees with the same client."""
    files = make_certificate(tmp_path, "lax", "-newkey", "rsa:2048")
    lax = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    lax.minimum_version = ssl.TLSVersion.TLSv1
    lax.set_ciphers("ALL:@SECLEVEL=0")
    lax.load_cert_chain(files.certificate, files.key)
    client, server = socket.socketpair()
    serving = threading.Thread(target=lambda: lax.wrap_socket(server, server_side=True).close())
    serving.start()
    with lenient(version, f"{cipher}:@SECLEVEL=0").wrap_socket(client) as client:
        assert client.version() == {"TLSv1": "TLSv1", "TLSv1_1": "TLSv1.1"}.get(version.name, "TLSv1.2")
    serving.join()


def test_compression_is_not_agreed_on(rsa_broker):
    """By a ClientHello of TLS 1.2 that offers DEFLATE before no compression (RFC 3749)."""
    suites = bytes.fromhex("c02f")
    extensions = bytes.fromhex("000a00040002001d" "000b00020100" "000d0006000404030804")
    hello = b"\x03\x03" + bytes(32) + b"\x00"
    hello += len(suites).to_bytes(2) + suites + b"\x02\x01\x00"
    hello += len(extensions).to_bytes(2) + extensions
    hello = b"\x01" + len(hello).to_bytes(3) + hello
    with socket.create_connection(("127.0.0.1", rsa_broker.tls_port), START_TIME_MAX) as client:
        client.sendall(b"\x16\x03\x01" + len(hello).to_bytes(2) + hello)
        answer = client.recv(4096)
    # A ServerHello: version, random, session, suite, and then the compression.
    assert answer[0] == 0x16 and answer[5] == 0x02
    end = 44 + answer[43]
    assert answer[end : end + 3] == suites + b"\x00"


def test_renegotiation_is_refused(rsa_broker):
    with subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{rsa_broker.tls_port}", "-tls1_2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as client:
        # "R" at the beginning of a line asks for a new handshake.
        output, _ = client.communicate("R\n", timeout=START_TIME_MAX)
    assert "RENEGOTIATING" in output
    assert "no renegotiation" in output


def test_early_data_is_not_accepted(rsa_broker, tmp_path):
    """What a client sends with its first packet (RFC 8446 §8) could be repeated by whoever overhears it."""
    session = tmp_path / "session.pem"
    address = f"127.0.0.1:{rsa_broker.tls_port}"
    request = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    subprocess.run(
        ["openssl", "s_client", "-connect", address, "-tls1_3", "-ign_eof", "-sess_out", session],
        input=request,
        capture_output=True,
        text=True,
        timeout=START_TIME_MAX,
    )
    early = tmp_path / "early"
    early.write_text(request)
    resumed = subprocess.run(
        [
            *("openssl", "s_client", "-connect", address, "-tls1_3", "-sess_in", session),
            *("-early_data", early),
        ],
        input="",
        capture_output=True,
        text=True,
        timeout=START_TIME_MAX,
    )
    assert "Reused, TLSv1.3" in resumed.stdout
    assert "Early data was not sent" in resumed.stdout


def test_silent_handshakes_cost_the_others_nothing(rsa_broker):
    silent = []
    try:
        for _ in range(200):
            client = socket.create_connection(("127.0.0.1", rsa_broker.tls_port), START_TIME_MAX)
            client.sendall(b"\x16\x03\x01\x02")
            silent.append(client)
        started = time.monotonic()
        for _ in range(5):
            assert health(rsa_broker, lenient()) == 200
        assert time.monotonic() - started < 5
    finally:
        for client in silent:
            client.close()


def health(broker, context):
    connection = http.client.HTTPSConnection("127.0.0.1", broker.tls_port, context=context)
    connection.request("GET", "/health")
    status = connection.getresponse().status
    connection.close()
    return status


# Certificates that change while the broker runs.


@pytest.fixture
def files(tmp_path):
    return make_certificate(tmp_path, "first")


@pytest.fixture
def renewed(tmp_path):
    return make_certificate(tmp_path, "second")


def presented(broker):
    with connect(broker, lenient()) as client:
        return client.getpeercert(binary_form=True)


def encoded(files):
    return ssl.PEM_cert_to_DER_cert(files.certificate.read_text())


def test_files_that_are_replaced_are_presented(files, renewed, tmp_path):
    first, second = encoded(files), encoded(renewed)
    configuration = tmp_path / "fanfare.json"
    configuration.write_text(json.dumps({"log": {"level": "notice"}}))
    with Broker(certificate=files, configuration=configuration) as broker:
        assert presented(broker) == first
        old = http.client.HTTPSConnection("127.0.0.1", broker.tls_port, context=lenient())
        old.request("GET", "/health")
        assert old.getresponse().read() == b"ok (fanfare 0.1.0)\n"
        # As a program does that renews them: one file after the other.
        shutil.copy(renewed.certificate, files.certificate)
        shutil.copy(renewed.key, files.key)
        broker.await_line('"certificates":"renewed"')
        assert presented(broker) == second
        # Who is connected already goes on with what they have seen.
        old.request("GET", "/health")
        assert old.getresponse().read() == b"ok (fanfare 0.1.0)\n"
        assert old.sock.getpeercert(binary_form=True) == first


def test_without_a_configuration_file_a_signal_reads_them_again(files, renewed):
    with Broker(certificate=files) as broker:
        shutil.copy(renewed.certificate, files.certificate)
        shutil.copy(renewed.key, files.key)
        broker.signal(signal.SIGHUP)
        broker.await_line('"certificates":"renewed"')
        assert presented(broker) == encoded(renewed)
        broker.signal(signal.SIGHUP)
        broker.await_line('"certificates":"unchanged"')


@pytest.mark.parametrize("fault", ["no PEM", "another key", "gone"])
def test_a_fault_changes_nothing_and_is_told(files, renewed, fault):
    first = encoded(files)
    with Broker(certificate=files) as broker:
        if fault == "no PEM":
            files.certificate.write_text("nothing of the kind")
        elif fault == "another key":
            shutil.copy(renewed.key, files.key)
        else:
            files.key.unlink()
        broker.signal(signal.SIGHUP)
        told = {
            "no PEM": "certificate must be a certificate in PEM",
            "another key": "key is not the key of",
            "gone": "cannot be read.*No such file",
        }
        broker.await_line(told[fault])
        broker.await_line("is not reloaded")
        assert presented(broker) == first


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_of_the_old_certificate_does_no_harm(files, renewed, version):
    context = lenient(version)

    def session_of(client):
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
        return client.session

    with Broker(certificate=files) as broker:
        with connect(broker, context) as client:
            session = session_of(client)
        with connect(broker, context, session) as client:
            assert client.session_reused
            session = session_of(client)
        shutil.copy(renewed.certificate, files.certificate)
        shutil.copy(renewed.key, files.key)
        broker.signal(signal.SIGHUP)
        broker.await_line('"certificates":"renewed"')
        with connect(broker, context, session) as client:
            assert not client.session_reused
            session = session_of(client)
        with connect(broker, context, session) as client:
            assert client.session_reused
            session_of(client)
