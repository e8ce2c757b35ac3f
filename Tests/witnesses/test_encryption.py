"""End-to-end encryption: the official library's values, and what passes through the broker unread.

The broker has no keys and decrypts nothing; what it must do is to let subscribers in by the
library's signature, and to relay each event byte by byte.
"""

import base64
import hashlib
import json

import nacl.secret
import pusher
import pusher.crypto
import pytest

from pysher_client import Subscriber
from pysher_session import Session

MASTER_KEY = bytes(range(32))
NONCE = bytes(range(24))
ROOM = "private-encrypted-foobar"
CACHE = "private-encrypted-cache-foobar"

# Channel, key, shared secret; the last two from the tests of the Python and the Node library.
SECRETS = [
    (ROOM, MASTER_KEY, "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY="),
    (CACHE, MASTER_KEY, "ZIyrVD+0Bk6W0N6MalhVZjcRCf/fF2zNDPkN9Kb3hoA="),
    (
        "private-encrypted-channel",
        base64.b64decode("OHRXNUZRTG5pUTFzQlFGd3J3N3Q2VFZFc0paZDEweVk="),
        "VmIsNZtCSteh8kazd2toc+ofhohBtUouQRSDtRvuyVI=",
    ),
    (
        "private-encrypted-bla",
        base64.b64decode("zyrm8pvV2C9fJcBfhyXzvxbJVN/H7QLmbe0xJi1GhPU="),
        "nlr49ISQHz91yS3cy/yWmW8wFMNeTnNL5tNHnbPJcLQ=",
    ),
]

# Channel, what is encrypted, ciphertext with NONCE.
CIPHERTEXTS = [
    (ROOM, '{"message":"hello world"}', "JudJzMunSIiVrODAo+lfpUsGJzgoj596PYEg0Ekt7UbHsg5iiqAaZxI="),
    (ROOM, "hello", "6gnoZC69SuIyTXBA7pQwWlhBJjE0"),
    (ROOM, '"hello"', "sUrxfRK5mFPVVEDkKiGFPRJMLzE3k9w="),
    (ROOM, '{"n":"Żółć"}', "Zi+pHYVatX6gdaAjv7z6EEsGJH9h3jummxDfcOXPo1c="),
    (CACHE, '{"message":"hello world"}', "pn0ErQfEQdDTREz1QszlGC28iuDlirPszzb3eE6neIEtEX3RZtT52lI="),
]


@pytest.fixture
def sealing(broker):
    """The official HTTP library with a master key."""
    return pusher.Pusher(
        app_id=broker.app_id,
        key=broker.key,
        secret=broker.secret,
        host="127.0.0.1",
        port=broker.port,
        ssl=False,
        encryption_master_key_base64=base64.b64encode(MASTER_KEY).decode(),
    )


def opened(channel, data):
    """What an event holds, for who knows the channel's secret."""
    event = json.loads(data)
    secret = hashlib.sha256(channel.encode() + MASTER_KEY).digest()
    ciphertext = base64.b64decode(event["ciphertext"])
    return nacl.secret.SecretBox(secret).decrypt(ciphertext, base64.b64decode(event["nonce"]))


@pytest.mark.parametrize("channel, key, secret", SECRETS)
def test_the_shared_secret_is_the_digest_of_channel_and_key(channel, key, secret):
    expected = hashlib.sha256(channel.encode() + key).digest()
    assert pusher.crypto.generate_shared_secret(channel.encode(), key) == expected
    assert base64.b64encode(expected).decode() == secret


@pytest.mark.parametrize("channel, text, ciphertext", CIPHERTEXTS)
def test_texts_have_these_ciphertexts(channel, text, ciphertext):
    event = pusher.crypto.encrypt(channel, text, MASTER_KEY, NONCE)
    assert event == {"nonce": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "ciphertext": ciphertext}
    assert opened(channel, json.dumps(event)) == text.encode()


def test_the_bytes_of_secret_and_ciphertext():
    secret = bytes.fromhex("83702ee9267e50253e20c7c5b05bdad2babe1a2e2dcd21d1e9609c5996d2f6c6")
    assert base64.b64encode(secret).decode() == SECRETS[0][2]
    other = bytes.fromhex("648cab543fb4064e96d0de8c6a585566371109ffdf176ccd0cf90df4a6f78680")
    assert base64.b64encode(other).decode() == SECRETS[1][2]
    # The tag of 16 bytes comes first.
    assert base64.b64decode(CIPHERTEXTS[0][2]).hex() == (
        "26e749cccba7488895ace0c0a3e95fa54b062738288f9f7a3d8120d0492ded46c7b20e628aa01a6712"
    )


def test_a_key_that_was_not_decoded_gives_another_secret():
    # As pusher-http-swift 0.1.0 derives it: from the base64 text of the key instead of its bytes.
    text = base64.b64encode(MASTER_KEY)
    assert text == b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    secret = pusher.crypto.generate_shared_secret(ROOM.encode(), text)
    assert base64.b64encode(secret) == b"fN130vh8QZEjDVPaeHbUYFLVmabPA6sL1Upz20AScOM="


def test_the_ciphertext_of_the_library_s_own_tests():
    event = pusher.crypto.encrypt(
        "pvUPIk0YG6MnxCEMIUUVFrbDmQwbhICXUcy",
        "kkkT5OOkOkO5kT5TOO5TkOT5TTk5O55T",
        b"OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5",
        b"XAJI0Y6DPBHSAHXTHV3A3ZMF",
    )
    assert event == {
        "nonce": "WEFKSTBZNkRQQkhTQUhYVEhWM0EzWk1G",
        "ciphertext": "tsYJa2JgGDOpVIYFe4aNVWAvZlpB7z7CjN9mpIdbATE0Yc4izN8aM8D6VigBxnIQ",
    }


@pytest.mark.parametrize("channel", [ROOM, CACHE])
def test_an_encrypted_event_reaches_who_has_the_secret(broker, sealing, channel):
    with Subscriber(broker, channel, backend=sealing) as subscriber:
        sealing.trigger(channel, "greeting", {"text": "grüße 🎺"})
        name, event, data = subscriber.next()
    assert (name, event) == (channel, "greeting")
    assert "🎺" not in data
    assert json.loads(opened(channel, data)) == {"text": "grüße 🎺"}


def test_a_batch_may_mix_encrypted_and_plain_channels(broker, sealing):
    with Subscriber(broker, ROOM, "news", backend=sealing) as subscriber:
        sealing.trigger_batch(
            [
                {"channel": ROOM, "name": "greeting", "data": "sealed"},
                {"channel": "news", "name": "greeting", "data": "open"},
            ]
        )
        events = {channel: data for channel, _, data in (subscriber.next() for _ in range(2))}
    assert opened(ROOM, events[ROOM]) == b"sealed"
    assert events["news"] == "open"


def test_the_library_hands_out_the_secret_with_its_signature(sealing):
    answer = sealing.authenticate(ROOM, "1234.1234")
    assert answer["shared_secret"] == b"g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY="


def test_a_signature_with_another_secret_lets_nobody_in(broker, sealing):
    stranger = pusher.Pusher(
        app_id=broker.app_id, key=broker.key, secret="wrong", host="127.0.0.1", port=broker.port,
        ssl=False, encryption_master_key_base64=base64.b64encode(MASTER_KEY).decode(),
    )
    with Session(broker) as session:
        auth = stranger.authenticate(ROOM, session.socket_id)["auth"]
        event, data = session.say("pusher:subscribe", {"channel": ROOM, "auth": auth})
        assert event == "pusher:error"
        assert data["message"].startswith("Invalid signature: Expected HMAC SHA256 hex digest of ")
        assert sealing.channel_info(ROOM) == {"occupied": False}
