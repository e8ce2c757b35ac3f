"""Encrypted channels of pusher-js with the broker's add-on: what a page misses behind a cut arrives, decrypted.

With the unmodified bundle that PUSHER_JS_WITH_ENCRYPTION names, `dist/web/pusher-with-encryption.min.js` of its package.
"""

import base64
import hashlib
import os
from pathlib import Path

import pusher
import pytest

from frame_line import FrameLine
from programs import Broker, await_true, run
from pusher_page import PusherPage
from static_site import StaticSite

BUNDLE = os.environ.get("PUSHER_JS_WITH_ENCRYPTION")
MASTER_KEY = bytes(range(32))
NAMES = ["private-encrypted-news", "private-encrypted-cache-news"]
SECRETS = {
    name: base64.b64encode(hashlib.sha256(name.encode() + MASTER_KEY).digest()).decode() for name in NAMES
}


@pytest.fixture(scope="module")
def script():
    """The URL of pusher-js."""
    if not BUNDLE:
        pytest.skip("PUSHER_JS_WITH_ENCRYPTION names no bundle of pusher-js with encryption")
    with StaticSite({"/pusher.js": Path(BUNDLE).read_text()}) as site:
        yield f"{site.url}/pusher.js"


@pytest.fixture
def line(script, broker):
    with FrameLine(broker.port) as line:
        yield line


@pytest.fixture
def page(browsers, site, script, broker, line):
    return PusherPage(browsers[0], site, script, broker, line.port, sharedSecrets=SECRETS)


@pytest.fixture
def backend(broker):
    return pusher.Pusher(
        Broker.app_id, Broker.key, Broker.secret, host="127.0.0.1", port=broker.port, ssl=False,
        encryption_master_key_base64=base64.b64encode(MASTER_KEY).decode(),
    )


@pytest.fixture(autouse=True)
def purged(script, broker):
    """Each test begins with channels that keep nothing."""
    for name in NAMES:
        purge(broker, name)


def purge(broker, name):
    purged = run("fanfare", "history", name, "--purge", "--url", broker.url)
    assert purged.returncode == 0, purged.stderr


@pytest.mark.parametrize("name", NAMES)
def test_each_event_arrives_once_over_several_cuts(page, line, backend, name):
    page.follow(name, "new", "pusher:gap", "pusher:continuity")
    for cut in range(3):
        backend.trigger(name, "new", {"number": 10 * cut})
        page.await_new([{"number": number} for number in range(10 * cut + 1)])
        line.cut()
        for number in range(1, 10):
            backend.trigger(name, "new", {"number": 10 * cut + number})
        page.await_new([{"number": number} for number in range(10 * cut + 10)])
    assert page.heard_of("pusher:gap") == []
    assert [data.get("replayed") for data in page.heard_of("pusher:continuity")] == [None, 9, 9, 9]
    # The broker has seen no plaintext.
    assert not any("number" in text for text in line.texts)


def test_a_hole_is_found_and_filled(page, line, backend):
    name = NAMES[0]
    page.follow(name, "new", "pusher:gap")
    line.loses = lambda text: '"serial":2' in text and line.texts.count(text) == 1
    for number in range(1, 6):
        backend.trigger(name, "new", number)
    page.await_new([1, 2, 3, 4, 5])
    assert len(page.run("return errors")) == 1 and page.heard_of("pusher:gap") == []


def test_a_purge_is_told_and_the_page_goes_on_in_the_other_stream(page, line, broker, backend):
    name = NAMES[0]
    page.follow(name, "new", "pusher:gap")
    backend.trigger(name, "new", 1)
    page.await_new([1])
    purge(broker, name)
    backend.trigger(name, "new", 2)
    page.await_new([1, 2])
    line.cut()
    backend.trigger(name, "new", 3)
    page.await_new([1, 2, 3])
    assert [gap["reason"] for gap in page.heard_of("pusher:gap")] == ["unknown_stream"]


def test_a_state_is_joined_to_the_decrypted_events(page, line, backend):
    name = NAMES[0]
    page.follow(name, "new")
    page.run(
        """
        pusher.channel(given[0]).state(async ({ kind }) => {
            loads.push(kind);
            await new Promise((resolve) => { window.finish = resolve; });
        });
        """,
        name,
    )
    await_true(lambda: page.run("return loads") == ["began"], "that the state is asked for")
    for number in (1, 2):
        backend.trigger(name, "new", number)
    await_true(lambda: page.position(name)["serial"] == 2, "that they have arrived")
    assert page.new == []
    page.run("finish()")
    page.await_new([1, 2])
    line.cut()
    backend.trigger(name, "new", 3)
    page.await_new([1, 2, 3])
    assert page.run("return loads") == ["began"]
