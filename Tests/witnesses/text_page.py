"""The page of the text editor, and what an old client sends."""

import json
import urllib.request


from browser import Page
from programs import await_true

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


class TextPage(Page):
    """A page of the text editor, and what a writer does with it."""

    def __init__(self):
        super().__init__()
        self._driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": CUTTABLE_SOCKETS})

    @property
    def state(self):
        return self._driver.execute_script(STATE)

    @property
    def written(self):
        return self.state["text"]

    @property
    def people(self):
        # In one step, as the page may draw the list anew at any time.
        return self._driver.execute_script(
            "return [...document.querySelectorAll('#people li')].map((person) => person.innerText.trim())"
        )

    def await_text(self, text):
        await_true(lambda: self.written == text or None, f"the text {text!r}", seconds=30)

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
        """How many characters of the mirror stand left of the caret."""
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


def post(demos, text, device):
    """What an old client sends at each key."""
    body = json.dumps({"text": text, "from": device}).encode()
    request = urllib.request.Request(demos.url + "/update_text", body, {"Content-Type": "application/json"})
    answer = json.load(urllib.request.urlopen(request, timeout=10))
    assert answer == {"success": 200}
