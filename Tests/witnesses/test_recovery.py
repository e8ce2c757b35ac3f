"""Real clients behind a network that fails and a broker that dies; `make recovery` is the same, with a thousand times more."""

import os
import signal

import pytest

from recovery.checker import PART_LENGTH_MIN as PART
from recovery.checker import Findings, check
from recovery.clients import ADD_ON, FANFARE_JS, PYSHER, SDK, STOCK, TOKEN, Site
from recovery.faults import MEMORY, SPOOL, SQLITE, Fault
from recovery.ledger import Ledger
from recovery.relay import KINDS, RESET
from recovery.run import NOTICED, Run, Size, damaged

PUSHER_JS = os.environ.get("PUSHER_JS")
NETWORK = Fault("all of the network", network=KINDS)


@pytest.fixture(scope="module")
def site():
    site = Site(PUSHER_JS)
    yield site
    site.close()


def outcomes(fault, counts, site=None, pages=(), **size):
    small = {"channels": 4, "rate": 200, "deliveries": 4_000, "faults": 20, "lifetime": 1.0}
    size = Size(counts, **{**small, "first_restart": 2.0, "restart_pause": (1.0, 2.0), **size})
    run = Run(fault, size, site, dict(zip((FANFARE_JS, ADD_ON, TOKEN), pages)), seed=19)
    return {outcome.kind: outcome for outcome in run.outcomes()}


def await_kept(outcomes):
    assert [text for outcome in outcomes.values() for text in outcome.violations] == []


# The checker and the relay: what breaks a promise must be noticed.


@pytest.mark.parametrize(
    "log, expected",
    [
        ([[1, 9, 1]], {}),
        ([[1, 5, 1], ["gap", "truncated"], [8, 9, 8]], {"gaps": 1, "told": 2}),
        ([[1, 5, 1], [8, 9, 8]], {"lost": 2}),
        ([[1, 8, 1]], {"lost": 1}),
        ([["gap", "truncated"], [1, 5, 1], [7, 9, 7]], {"gaps": 1, "lost": 1}),
        ([[1, 5, 1], ["gap", "truncated"]], {"gaps": 1, "lost": 4}),
        ([[1, 5, 1], [5, 9, 5]], {"repeated": 1}),
        ([[1, 5, 1], [7, 7, 7], [6, 6, 6], [8, 9, 8]], {"out_of_order": 1}),
        ([[1, 5, 1], [3, 9, 3]], {"repeated": 3, "out_of_order": 3}),
        ([["open"], [1, 5, None], ["open"], [3, 9, None]], {"repeated": 3}),
        ([["open"], [1, 5, None], ["ping", 0], [6, 7, None], ["open"], [5, 9, None]], {"repeated": 3}),
        (
            [["open"], [1, 5, None], ["ping", 0], [6, 7, None], ["ping", 0], ["open"], [5, 9, None]],
            {"repeated": 3, "confirmed_repeated": 1},
        ),
        # Within a long replay the broker does not wait for answers; a ping behind little more shows that it has them.
        (
            [["open"], [1, 5, None], ["ping", PART], [6, 7, None], ["ping", PART], ["open"], [5, 9, None]],
            {"repeated": 3},
        ),
        (
            [
                ["open"], [1, 3, None], ["ping", PART], [4, 5, None], ["ping", PART], [6, 7, None], ["ping", PART - 1],
                ["open"], [5, 9, None],
            ],
            {"repeated": 3, "confirmed_repeated": 1},
        ),
        # A later connection says nothing of the pings before it.
        (
            [["open"], [1, 5, None], ["ping", 0], ["open"], [6, 7, None], ["ping", 0], ["open"], [5, 9, None]],
            {"repeated": 3},
        ),
        ([[1, 5, 1], [6, 9, 7]], {"misnumbered": 4}),
    ],
)
def test_the_checker_finds(log, expected):
    ledger = Ledger(["news"])
    ledger.begin("news", 9)
    for number in range(1, 10):
        ledger.acknowledge("news", number, ("stream", number))
    assert check(log, "news", ledger) == Findings(due=9, **expected)


@pytest.mark.parametrize("pings, confirmed", [(1, 0), (2, 0), (3, 1)])
def test_the_checker_takes_no_last_ping_for_an_answer_where_the_broker_is_stopped(pings, confirmed):
    ledger = Ledger(["news"])
    ledger.begin("news", 7)
    for number in range(1, 8):
        ledger.acknowledge("news", number, ("stream", number))
    log = [["open"], [1, 5, None], *[["ping", 0]] * pings, ["open"], [5, 7, None]]
    assert check(log, "news", ledger, asks_at_end=True) == Findings(due=7, repeated=1, confirmed_repeated=confirmed)


def test_the_checker_expects_nothing_of_what_was_not_acknowledged():
    ledger = Ledger(["news"])
    ledger.begin("news", 3)
    ledger.acknowledge("news", 1, ("stream", 1))
    ledger.acknowledge("news", 3, ("stream", 2))
    assert check([[1, 1, 1], [3, 3, 2]], "news", ledger) == Findings(due=2)
    assert check([[1, 3, 1]], "news", ledger).lost == 0
    with pytest.raises(AssertionError, match="4 was never published"):
        check([[1, 4, 1]], "news", ledger)


@pytest.mark.parametrize("damage, noticed", NOTICED.items())
def test_damage_within_a_connection_is_noticed_and_the_sdk_repairs_it(damage, noticed):
    found = {outcome.kind: outcome for outcome in damaged(damage, {SDK: 2, STOCK: 2})}
    counts = {name: getattr(found[STOCK].findings, name) for name in NOTICED.values()}
    assert [name for name, count in counts.items() if count > 0] == [noticed]
    await_kept({SDK: found[SDK]})


# The clients


def test_nothing_is_lost_behind_a_failing_network(browsers, site):
    await_kept(outcomes(NETWORK, {SDK: 10, FANFARE_JS: 2}, site, browsers))


needs_pusher_js = pytest.mark.skipif(not PUSHER_JS, reason="PUSHER_JS names no bundle of pusher-js")


@needs_pusher_js
def test_nothing_is_lost_with_pusher_js_behind_a_failing_network(browsers, site):
    await_kept(outcomes(NETWORK, {ADD_ON: 3, TOKEN: 3}, site, browsers, deliveries=2_000))


@needs_pusher_js
def test_nothing_is_lost_when_the_page_is_busy_at_the_cut(browsers, site):
    fault = Fault("reset, busy page", network=(RESET,), has_busy_pages=True)
    await_kept(outcomes(fault, {ADD_ON: 3, TOKEN: 3}, site, browsers, deliveries=2_000, faults=20, lifetime=1.5))


def test_nothing_is_lost_with_pysher_and_a_token_behind_a_failing_network():
    found = outcomes(NETWORK, {PYSHER: 5}, deliveries=2_000, faults=15)
    await_kept(found)
    assert found[PYSHER].findings.repeated > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_is_told_where_messages_are_in_memory(number, browsers, site):
    fault = Fault("restart", network=KINDS, signal=number, store=MEMORY)
    found = outcomes(fault, {SDK: 10, FANFARE_JS: 2}, site, browsers)
    await_kept(found)
    assert all(outcome.findings.gaps > 0 for outcome in found.values())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_loses_nothing_where_messages_are_in_a_file(number, browsers, site):
    fault = Fault("restart", network=KINDS, signal=number, store=SQLITE)
    await_kept(outcomes(fault, {SDK: 10, FANFARE_JS: 2}, site, browsers))


# Tokens: sessions are in the file as well, those of a killed broker as they were up to five seconds before.
KEEPING = pytest.mark.parametrize(
    "number, store",
    [(signal.SIGTERM, SQLITE), (signal.SIGTERM, SPOOL), (signal.SIGKILL, SQLITE)],
    ids=["stop, sqlite", "stop, spool", "kill, sqlite"],
)


@KEEPING
def test_a_restart_loses_nothing_with_pysher_and_a_token(number, store):
    fault = Fault("restart", network=KINDS, signal=number, store=store)
    await_kept(outcomes(fault, {PYSHER: 4}, deliveries=1_500, faults=10, first_restart=6.0))


@needs_pusher_js
@KEEPING
def test_a_restart_loses_nothing_with_pusher_js(number, store, browsers, site):
    fault = Fault("restart", network=KINDS, signal=number, store=store)
    await_kept(outcomes(fault, {ADD_ON: 3, TOKEN: 3}, site, browsers, deliveries=1_500, faults=10, first_restart=6.0))
