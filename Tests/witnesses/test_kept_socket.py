"""A service manager keeps the listening socket over a restart: who connects meanwhile waits, and is not refused.

With the stand-in for pusher-js always; with the unmodified bundle where PUSHER_JS is its path.
"""

import socket
import threading

import pytest

from programs import Broker, Program, await_true
from pusher_page import PusherPage
from pusher_socket import PusherSocket
from test_pusher_recovery import script  # noqa: F401

#: What a restart takes, in seconds, and what a page may take from then on.
RESTART, BACK_MAX = 2, 3


@pytest.fixture
def kept():
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as kept:
        yield kept


@pytest.mark.parametrize("ends", [Broker.stop, Broker.kill])
def test_a_stock_page_is_back_as_soon_as_the_broker(browsers, site, script, kept, ends):  # noqa: F811
    port = kept.getsockname()[1]
    broker = Broker(port=port, inherited=kept)
    page = PusherPage(browsers[0], site, script, broker, port, has_add_on=False)
    former = page.socket_id
    ends(broker)
    page.await_cut()
    page.run("await new Promise((resume) => setTimeout(resume, 1000 * given[0]))", RESTART)
    with Broker(port=port, inherited=kept):
        await_true(lambda: page.socket_id != former and page.state == "connected", "a connection", seconds=BACK_MAX)


@pytest.mark.parametrize("loops", [1, 2])
def test_a_client_that_connects_meanwhile_waits(kept, tmp_path, loops):
    port = kept.getsockname()[1]
    (tmp_path / "broker.yaml").write_text(f"loops: {loops}\n")
    clients, faults = [], []

    def connect():
        try:
            clients.append(PusherSocket(f"ws://127.0.0.1:{port}", Broker.key))
        except Exception as fault:  # Reported by the test.
            faults.append(fault)

    Broker(port=port, inherited=kept).stop()
    waiting = [threading.Thread(target=connect) for _ in range(20)]
    for thread in waiting:
        thread.start()
    with Broker(port=port, configuration=tmp_path / "broker.yaml", inherited=kept):
        for thread in waiting:
            thread.join()
        assert faults == []
        for client in clients:
            client.close()
        assert len(clients) == len(waiting)


def test_a_socket_with_another_address_is_refused(kept):
    broker = Program("fanfare", "serve", "--port", 0, inherited=kept)
    assert broker.wait() == 1
    broker.new_lines
    assert f"A socket was passed that listens on 127.0.0.1:{kept.getsockname()[1]}" in broker.output


def test_what_does_not_listen_is_refused():
    with socket.socket() as unbound:
        broker = Program("fanfare", "serve", "--port", 0, inherited=unbound)
        assert broker.wait() == 1
        broker.new_lines
    assert "Descriptor 3 of LISTEN_FDS is not a listening socket" in broker.output
