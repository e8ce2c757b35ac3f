"""One trigger by the official HTTP library reaches every kind of client, over ws and over wss."""

import json

import pytest

from browser import Page
from programs import Program, await_true
from pysher_client import Subscriber
from table_page import TableDemos, TablePage


@pytest.fixture
def pages(broker):
    """The Realtime table in two browsers: one hears the broker over ws, the other over wss."""
    with (
        TableDemos(broker.port) as plain,
        TableDemos(broker.port, public_broker=f"wss://localhost:{broker.tls_port}") as secure,
    ):
        pages = [TablePage(Page()), TablePage(Page(trusts_anybody=True))]
        try:
            for page, backend in zip(pages, (plain, secure)):
                page.open(backend.url + "/table/")
                page.await_live()
                page.await_names("John Doe")
            yield pages
        finally:
            for page in pages:
                page.quit()


def test_one_trigger_reaches_everybody(broker, publisher, certificate, pages):
    trust = ("--trust", certificate.certificate)
    with (
        Program("fanfare", "listen", "userslist", "--json", "--url", broker.url) as listener,
        Program("fanfare", "listen", "userslist", "--json", "--url", broker.tls_url, *trust) as secure_listener,
        Subscriber(broker, "userslist") as pysher,
        Subscriber(broker, "userslist", secure=True) as secure_pysher,
    ):
        for program in (listener, secure_listener):
            program.await_line("subscribed to userslist")
        notice = {"text": "Good evening, Hedy"}
        publisher.trigger("userslist", "notice", notice)
        for program in (listener, secure_listener):
            event = json.loads(program.await_line("notice").string)
            assert json.loads(event["data"]) == notice
        for page in pages:
            await_true(lambda: "Good evening, Hedy" in page.notices, "the notice")
        publisher.trigger("userslist", "greeting", "good evening")
        for subscriber in (pysher, secure_pysher):
            assert subscriber.next() == ("userslist", "greeting", "good evening")
