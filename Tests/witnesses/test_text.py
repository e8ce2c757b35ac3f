"""The text editor in three real browsers, with an old client among them, and the broker and backend as they ship."""

import json
import urllib.request
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import Page
from programs import Broker, Demos, await_true, run
from pysher_client import Subscriber

VECTORS = Path(__file__).with_name("text-vectors.json")

# Replays what the CRDT in Swift has done with its twin in JavaScript; answers with the first difference, or null.
REPLAY = """
    const [vectors, done] = arguments;
    import("/text/live-text.js").then(({ TextDocument }) => {
        const canonical = (value) => JSON.stringify(value, (_, part) =>
            part && typeof part === "object" && !Array.isArray(part)
                ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1))) : part);
        const differs = (what, here, there) => canonical(here) !== canonical(there) && `${what}: ${canonical(here)}`;
        for (const [index, { replica, begins, steps, ends }] of vectors.entries()) {
            const text = new TextDocument(replica, begins);
            for (const [number, step] of steps.entries()) {
                const at = `vector ${index} step ${number}`;
                let fault;
                if (step.replace) {
                    const { start, end, text: typed, batch, result } = step.replace;
                    fault = differs(`${at} batch`, text.replace(start, end, typed), batch)
                        || differs(at, text.text, result);
                } else {
                    text.apply(step.apply.batch);
                    fault = differs(at, text.text, step.apply.result);
                }
                if (fault) return done(fault);
            }
            const fault = differs(`vector ${index} end`, text.snapshot(), ends);
            if (fault) return done(fault);
        }
        done(null);
    }).catch((error) => done(String(error)));
"""

# Reads text, mirror and carets at one instant.
STATE = """
    return {
        text: document.querySelector("#editor").value,
        carets: [...document.querySelectorAll("#mirror .caret b")].map((label) => label.textContent),
        saved: document.querySelector("#saved").dataset.state ?? "",
        length: document.querySelector("#length").textContent,
        caret: document.querySelector("#editor").selectionStart,
    }
"""


# A browser that is told to be offline keeps the sockets that are open: so the page's are cut here.
CUTTABLE_SOCKETS = """
    const Native = WebSocket;
    const sockets = [];
    let isCut = false;
    window.WebSocket = class extends Native {
        constructor(url) {
            super(isCut ? "ws://127.0.0.1:9/" : url);
            sockets.push(this);
        }
    };
    window.cutSockets = (cut) => {
        isCut = cut;
        dispatchEvent(new Event(cut ? "offline" : "online"));
        if (cut) for (const socket of sockets) socket.close();
    };
"""


class OldClient(Subscriber):
    """Hears whole texts, as the tutorial's app does."""

    def __init__(self, broker):
        super().__init__(broker, "collabo")
        self.texts = []
        self._channels["collabo"].bind("text_update", lambda data: self.texts.append(json.loads(data)["text"]))


class TextPage(Page):
    """A page of the text editor, with the words of somebody who writes."""

    def __init__(self):
        super().__init__()
        self._driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": CUTTABLE_SOCKETS})

    @property
    def state(self):
        return self._driver.execute_script(STATE)

    @property
    def text(self):
        return self.state["text"]

    @property
    def people(self):
        return [person.text for person in self._driver.find_elements(By.CSS_SELECTOR, "#people li")]

    def await_text(self, text):
        await_true(lambda: self.text == text or None, f"the text {text!r}", seconds=30)

    def await_saved(self):
        await_true(lambda: self.state["saved"] == "saved", "that all is saved", seconds=40)

    def await_loaded(self):
        self.await_live()
        await_true(lambda: not self._find("#page").get_attribute("hidden"), "the text")

    def put_caret(self, offset):
        script = "const e = document.querySelector('#editor'); e.focus(); e.setSelectionRange(arguments[0], arguments[0])"
        self._driver.execute_script(script, offset)

    def type(self, *keys):
        self._find("#editor").send_keys(*keys)

    def reload(self):
        self._driver.refresh()

    def set_offline(self, is_offline):
        if is_offline:
            self._driver.set_network_conditions(offline=True, latency=0, throughput=0)
        else:
            self._driver.delete_network_conditions()
        self._driver.execute_script("cutSockets(arguments[0])", is_offline)

    def replay(self, vectors):
        self._driver.set_script_timeout(30)
        return self._driver.execute_async_script(REPLAY, vectors)

    def caret_offset_of(self, name):
        """How many characters of the mirror stand left of somebody's caret."""
        return self._driver.execute_script(
            """
            const caret = [...document.querySelectorAll("#mirror .caret")]
                .find((caret) => caret.textContent === arguments[0]);
            if (!caret) return null;
            let length = 0;
            const walker = document.createTreeWalker(document.querySelector("#mirror"), NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                if (caret.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_PRECEDING
                    && !node.parentElement.closest(".caret")) length += node.data.length;
            }
            return length;
            """,
            name,
        )

    def be_called(self, name):
        self._driver.execute_script("localStorage.setItem('fanfare-user-name', arguments[0])", name)


@pytest.fixture(scope="module")
def browsers():
    pages = []
    try:
        for _ in range(3):
            pages.append(TextPage())
        yield pages
    finally:
        for page in pages:
            page.quit()


@pytest.fixture
def demos(broker):
    with Demos(broker.port) as demos:
        yield demos


@pytest.fixture
def pages(browsers, demos):
    """Three pages of one text, of Ada, Grace and Mary."""
    post(demos, "one two three", "setup")
    for page, name in zip(browsers, ("Ada", "Grace", "Mary")):
        page.open(demos.url + "/text/")
        page.be_called(name)
        page.reload()
    for page in browsers:
        page.await_loaded()
        page.await_text("one two three")
    yield browsers
    for page in browsers:
        assert page.script_errors() == []


def post(demos, text, device):
    """What an old client sends at each key."""
    body = json.dumps({"text": text, "from": device}).encode()
    request = urllib.request.Request(demos.url + "/update_text", body, {"Content-Type": "application/json"})
    answer = json.load(urllib.request.urlopen(request, timeout=10))
    assert answer == {"success": 200}


def stored(demos):
    snapshot = json.load(urllib.request.urlopen(demos.url + "/text/snapshot", timeout=10))
    return "".join(run[2] for run in snapshot["runs"] if isinstance(run[2], str))


def await_one_text(pages, demos, *parts):
    """Waits until all have the same text with all these parts in it."""

    def agree():
        texts = {page.text for page in pages} | {stored(demos)}
        return len(texts) == 1 and all(part in next(iter(texts)) for part in parts) and next(iter(texts))

    return await_true(agree, f"one text with {parts}", seconds=40)


def test_the_twin_in_javascript_does_what_swift_does(browsers, demos):
    page = browsers[0]
    page.open(demos.url + "/text/")
    assert page.replay(json.loads(VECTORS.read_text())) is None


def test_three_type_at_the_same_time_and_see_each_other(pages, demos):
    words = ("alpha ", "bravo ", "gamma ")
    for page, offset in zip(pages, (0, 4, 13)):
        page.put_caret(offset)
    # Letter by letter, in turns.
    for letters in zip(*words):
        for page, letter in zip(pages, letters):
            page.type(letter)
    text = await_one_text(pages, demos, *words)
    assert text == "alpha one bravo two threegamma "
    for page, others in zip(pages, (["Grace", "Mary"], ["Ada", "Mary"], ["Ada", "Grace"])):
        await_true(lambda: sorted(page.state["carets"]) == others, f"the carets of {others}")
        await_true(lambda: len(page.people) == 3, "three people: " + str(page.people))
        assert page.state["length"] == "31 characters"
        page.await_saved()
    # A caret is where its owner's is, and one's own has stayed behind one's own letters.
    await_true(lambda: pages[0].caret_offset_of("Grace") == 16, "Grace's caret")
    assert [page.state["caret"] for page in pages] == [6, 16, 31]


def test_what_three_type_at_one_place_stays_together(pages, demos):
    for page in pages:
        page.put_caret(3)
    for letters in zip("AAAA", "BBBB", "CCCC"):
        for page, letter in zip(pages, letters):
            page.type(letter)
    await_true(lambda: len({page.text for page in pages}) == 1 and len(pages[0].text) == 25, "one text", seconds=40)
    text = await_one_text(pages, demos, "AAAA", "BBBB", "CCCC")
    assert text.startswith("one") and text.endswith(" two three")


def test_a_reload_loses_nothing(pages, demos):
    pages[0].put_caret(0)
    pages[0].type("zero ")
    pages[0].reload()
    pages[0].await_loaded()
    await_one_text(pages, demos, "zero one two three")


def test_edits_made_offline_are_kept_and_put_together(pages, demos):
    here, there, third = pages
    here.set_offline(True)
    here.put_caret(13)
    here.type(" four")
    await_true(lambda: here.state["saved"] in ("offline", "saving"), "that edits are kept")
    there.put_caret(0)
    there.type("zero ")
    third.await_text("zero one two three")
    assert here.text == "one two three four"
    here.set_offline(False)
    assert await_one_text(pages, demos) == "zero one two three four"
    here.await_saved()


def test_an_old_client_and_new_ones_lose_nothing(pages, demos, broker):
    here, there, _ = pages
    with OldClient(broker) as old:
        here.put_caret(0)
        here.type("new ")
        # The old client has not heard of that, and types on from what it has.
        post(demos, "one two three, old", "phone")
        text = await_one_text(pages, demos, "new ", ", old")
        assert text == "new one two three, old"
        await_true(lambda: old.texts and old.texts[-1] == text, "the whole text for old clients")
        there.put_caret(0)
        there.type("very ")
        await_true(lambda: old.texts[-1] == "very " + text, "the whole text once more")
        post(demos, old.texts[-1] + " and last", "phone")
    assert await_one_text(pages, demos, "last") == "very new one two three, old and last"


def test_a_text_of_one_letter_and_of_none_reach_all(pages, demos):
    post(demos, "o", "setup")
    for page in pages:
        page.await_text("o")
    post(demos, "", "setup")
    for page in pages:
        page.await_text("")
        assert page.state["length"] == "0 characters"


def test_undo_takes_back_what_one_did_oneself(pages, demos):
    here, there, _ = pages
    here.put_caret(3)
    here.type(" mine")
    there.await_text("one mine two three")
    there.put_caret(0)
    there.type("theirs ")
    here.await_text("theirs one mine two three")
    here.type(Keys.CONTROL, "z")
    assert await_one_text(pages, demos) == "theirs one two three"
    here.type(Keys.CONTROL, "y")
    assert await_one_text(pages, demos) == "theirs one mine two three"


def test_a_terminal_writes_along(pages, demos, broker):
    done = run(
        "demo-terminal", "text", "--do", "append from a shell",
        "--backend", demos.url, "--broker", f"ws://127.0.0.1:{broker.port}",
    )
    assert done.returncode == 0, done.stderr
    assert await_one_text(pages, demos) == "one two three\nfrom a shell"


def test_the_text_outlives_backend_and_broker(browsers, tmp_path):
    page = browsers[0]
    database = tmp_path / "text.sqlite"
    broker = Broker()
    first = Demos(broker.port, database=database)
    page.open(first.url + "/text/")
    page.await_loaded()
    page.type("kept ")
    page.await_saved()
    assert first.stop() == 0
    page.type("for ")
    with Demos(broker.port, port=first.port, database=database) as second:
        page.await_saved()
        assert broker.stop() == 0
        page.type("good")
        with Broker(port=broker.port):
            page.await_live()
            page.await_saved()
            assert stored(second) == page.text == "kept for good"
