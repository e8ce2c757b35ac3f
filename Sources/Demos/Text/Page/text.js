// The page: a text area synchronised with the shared text, remote carets, and the present users.

import { request } from "/backend.js";
import { connect } from "/broker.js";
import { me, pageID } from "/me.js";
import { People } from "/people.js";
import { element, handBack, notice, showContinuity, showProblem, speak } from "/site.js";
import { Unsent } from "/fanfare-live.js";
import { Carets } from "./carets.js";
import { difference, LiveText } from "./live-text.js";
import { Undo } from "./undo.js";

/** Times in milliseconds. */
const CURSOR_PAUSE = 120;           // a broker allows ten client events a second
const CURSOR_REPEAT = 10_000;
const CURSOR_SILENCE_MAX = 25_000;

const editor = element("editor");
const unsent = new Unsent("text", pageID);
const undo = new Undo();

const text = new LiveText({
  snapshot: () => request("GET", "snapshot"),
  recovery: (serial, epoch) => request("GET", `operations?after=${serial}&epoch=${epoch}`),
  send: (batch) => request("POST", "operations", batch),
}, unsent.adopt());
const carets = new Carets(element("mirror"), () => text.document, (user) => people?.hue(user) ?? 0);

// Remote edits: the text area keeps caret and selection at their position in the text.

text.onsplices = (splices) => {
  for (const { start, end, text: inserted } of splices) editor.setRangeText(inserted, start, end, "preserve");
  // A text area may change a text, such as its line ends; that must not become an edit.
  if (editor.value !== text.text) editor.value = text.text;
  showText();
};

text.onrefusal = handBack;

// Local edits

editor.addEventListener("input", () => {
  const [change] = difference(text.text, editor.value, editor.selectionEnd);
  if (!change) return;
  const removed = text.text.slice(change.start, change.end);
  const place = text.document.anchor(change.start);
  const batch = text.replace(change.start, change.end, change.text);
  if (batch) {
    undo.record(batch, removed, place);
  } else {
    notice("The text is full: the limit is 100,000 characters.");
    editor.value = text.text;
  }
  showText();
  sendCursor();
});

// During a composition only the input method may change the text area.
editor.addEventListener("compositionstart", () => text.hold());
editor.addEventListener("compositionend", () => setTimeout(() => text.release()));
editor.addEventListener("blur", () => text.release());

editor.addEventListener("beforeinput", (event) => {
  if (event.inputType !== "historyUndo" && event.inputType !== "historyRedo") return;
  event.preventDefault();
  undoOrRedo(event.inputType === "historyRedo");
});

editor.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return;
  event.preventDefault();
  undoOrRedo(key === "y" || event.shiftKey);
});

function undoOrRedo(again) {
  const caret = again ? undo.redo(text) : undo.undo(text);
  if (caret === null) return;
  editor.value = text.text;
  editor.setSelectionRange(caret, caret);
  showText();
  sendCursor();
}

// Showing

const segmenter = Intl.Segmenter ? new Intl.Segmenter() : null;

/** Counts grapheme clusters; in a long text, code points. */
function characterCount(string) {
  return segmenter && string.length < 20_000 ? [...segmenter.segment(string)].length : [...string].length;
}

function showText() {
  const count = characterCount(text.text);
  element("length").textContent = count === 1 ? "1 character" : `${count.toLocaleString("en")} characters`;
  carets.draw();
}

text.onstate = () => {
  if (text.isLoaded && element("page").hidden) {
    element("loading").hidden = true;
    element("page").hidden = false;
    editor.value = text.text;
    editor.focus({ preventScroll: true });
    editor.setSelectionRange(text.text.length, text.text.length);
    showText();
  }
  unsent.keep(text.unsent);
  const saved = element("saved");
  showFailure();
  const isWorking = text.isConnected && text.failure === null;
  const state = text.unsent.length === 0 ? "saved" : isWorking ? "saving" : "offline";
  if (saved.dataset.state === state && state !== "saved") return;
  saved.dataset.state = state;
  saved.textContent = !text.isLoaded ? "" : {
    saved: "Saved", saving: "Saving …", offline: "Not saved: your edits are kept and sent later",
  }[state];
};

function showFailure() {
  const isUnsaved = text.failure !== null && text.unsent.length > 0;
  const retry = () => text.retry();
  showProblem("edit", "Your changes are not saved yet.", isUnsaved ? `${text.failure} Retrying …` : null, retry);
  const isOutdated = text.failure !== null && !isUnsaved;
  showProblem("backend", "The text may be out of date.", isOutdated ? `${text.failure} Retrying …` : null, retry);
}

// Present users and their carets

let presence = null;
/** Who is present; null before the connection. */
let people = null;
let cursorTimer = null;
let isCursorDue = false;

/** Sends the caret's position, within the rate limit. */
function sendCursor() {
  isCursorDue = true;
  if (cursorTimer !== null) return;
  const send = () => {
    cursorTimer = null;
    if (!isCursorDue || !presence?.isSubscribed || !text.isLoaded) return;
    isCursorDue = false;
    const { selectionStart, selectionEnd, selectionDirection } = editor;
    const [from, to] = selectionDirection === "backward" ? [selectionEnd, selectionStart] : [selectionStart, selectionEnd];
    const cursor = { anchor: text.document.anchor(from), focus: text.document.anchor(to) };
    presence.trigger("client-cursor", { page: pageID, name: me.name, ...cursor });
    cursorTimer = setTimeout(send, CURSOR_PAUSE);
  };
  cursorTimer = setTimeout(send, 0);
}

document.addEventListener("selectionchange", () => {
  if (document.activeElement === editor) sendCursor();
});
setInterval(sendCursor, CURSOR_REPEAT);
setInterval(() => carets.remove((_, { heardAt }) => Date.now() - heardAt > CURSOR_SILENCE_MAX), 5_000);

/** Validates an anchor: any member of the channel can send any data. */
const isAnchor = (value) => Array.isArray(value) && ["start", "end", "before", "after"].includes(value[0]);

function receiveCursor(data, { userID }) {
  if (typeof data?.page !== "string" || data.page === pageID) return;
  if (data.gone) return carets.remove((page) => page === data.page);
  if (!isAnchor(data.anchor) || !isAnchor(data.focus)) return;
  const name = String(data.name ?? "A user").slice(0, 60);
  carets.set(data.page, {
    user: userID ?? data.page, name, anchor: data.anchor, focus: data.focus, heardAt: Date.now(),
  });
}

connect((client) => {
  const channel = client.subscribe("collabo");
  let missed = 0;
  channel.bind("text_operations", (entry, { isMissed }) => {
    if (!Number.isInteger(entry?.serial)) return;
    const before = text.text;
    text.receive(entry);
    if (isMissed && text.text !== before) missed += 1;
  });
  channel.bind("pusher:continuity", (continuity) => {
    text.connected({ mayHaveMissed: continuity.kind !== "resumed" });
    showContinuity(continuity, missed);
    missed = 0;
  });
  presence = client.subscribe("presence-text");
  people = new People(element("people"), presence);
  const showPeople = () => {
    people.show();
    carets.draw();
  };
  presence.bind("pusher:subscription_succeeded", () => {
    showPeople();
    sendCursor();
  });
  presence.bind("pusher:member_added", ({ info }) => {
    showPeople();
    speak(`${info?.name ?? "A user"} is here.`);
    // A new member does not know the carets yet.
    sendCursor();
  });
  presence.bind("pusher:member_removed", ({ id, info }) => {
    showPeople();
    speak(`${info?.name ?? "A user"} has left.`);
    carets.remove((_, { user }) => user === id);
  });
  presence.bind("client-cursor", receiveCursor);
  // A browser may cache a page with its connection: other users would still see its caret.
  addEventListener("pagehide", () => {
    presence.trigger("client-cursor", { page: pageID, gone: true });
    client.disconnect();
  });
  addEventListener("online", () => text.retry());
  addEventListener("pageshow", ({ persisted }) => persisted && client.connect());
  const show = client.onstate;
  client.onstate = (state, detail) => {
    if (state !== "connected" && state !== "connecting") text.disconnected();
    show(state, detail);
  };
});
