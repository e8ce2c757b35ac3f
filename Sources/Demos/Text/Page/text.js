// The page: a text area in step with the shared text, the others' carets, and who is here.

import { request } from "/backend.js";
import { connect } from "/broker.js";
import { hue, initials, me, pageID } from "/me.js";
import { element, notice, speak } from "/site.js";
import { Carets } from "./carets.js";
import { difference, LiveText } from "./live-text.js";
import { Undo } from "./undo.js";
import { Unsent } from "./unsent.js";

/** Times in milliseconds. */
const CURSOR_PAUSE = 120;           // a broker takes ten client events a second
const CURSOR_REPEAT = 10_000;
const CURSOR_SILENCE_MAX = 25_000;

const editor = element("editor");
const unsent = new Unsent(pageID);
const undo = new Undo();

const text = new LiveText({
  snapshot: () => request("GET", "snapshot"),
  recovery: (serial, epoch) => request("GET", `operations?after=${serial}&epoch=${epoch}`),
  send: (batch) => request("POST", "operations", batch),
}, unsent.adopt());
const carets = new Carets(element("mirror"), () => text.document);

// Edits made elsewhere: the text area keeps caret and selection where they are in the text.

text.onsplices = (splices) => {
  for (const { start, end, text: inserted } of splices) editor.setRangeText(inserted, start, end, "preserve");
  // What a text area does to a text, such as to its line ends, must not pass for somebody's edit.
  if (editor.value !== text.text) editor.value = text.text;
  showText();
};

text.onrefusal = (reason) => notice(reason);

// Edits made here

editor.addEventListener("input", () => {
  const [change] = difference(text.text, editor.value, editor.selectionEnd);
  if (!change) return;
  const removed = text.text.slice(change.start, change.end);
  const place = text.document.anchor(change.start);
  const batch = text.replace(change.start, change.end, change.text);
  if (batch) {
    undo.note(batch, removed, place);
  } else {
    notice("The text is full: it takes 100,000 characters at most.");
    editor.value = text.text;
  }
  showText();
  tellCursor();
});

// While letters are being composed, the text area is the input method's alone.
editor.addEventListener("compositionstart", () => text.hold());
editor.addEventListener("compositionend", () => setTimeout(() => text.release()));
editor.addEventListener("blur", () => text.release());

editor.addEventListener("beforeinput", (event) => {
  if (event.inputType !== "historyUndo" && event.inputType !== "historyRedo") return;
  event.preventDefault();
  takeBack(event.inputType === "historyRedo");
});

editor.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return;
  event.preventDefault();
  takeBack(key === "y" || event.shiftKey);
});

function takeBack(again) {
  const caret = again ? undo.redo(text) : undo.undo(text);
  if (caret === null) return;
  editor.value = text.text;
  editor.setSelectionRange(caret, caret);
  showText();
  tellCursor();
}

// Showing

const segmenter = Intl.Segmenter ? new Intl.Segmenter() : null;

/** What a reader calls characters; of a long text, its code points will do. */
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
  const state = text.unsent.length === 0 ? "saved" : text.isConnected ? "saving" : "offline";
  if (saved.dataset.state === state && state !== "saved") return;
  saved.dataset.state = state;
  saved.textContent = !text.isLoaded ? "" : {
    saved: "Saved", saving: "Saving …", offline: "Offline: your edits are kept and sent later",
  }[state];
};

// Who is here, and where

let room = null;
let cursorTimer = null;
let isCursorDue = false;

/** Tells where the caret is, as soon as it may. */
function tellCursor() {
  isCursorDue = true;
  if (cursorTimer !== null) return;
  const tell = () => {
    cursorTimer = null;
    if (!isCursorDue || !room?.isSubscribed || !text.isLoaded) return;
    isCursorDue = false;
    const { selectionStart, selectionEnd, selectionDirection } = editor;
    const [from, to] = selectionDirection === "backward" ? [selectionEnd, selectionStart] : [selectionStart, selectionEnd];
    const cursor = { anchor: text.document.anchor(from), focus: text.document.anchor(to) };
    room.trigger("client-cursor", { page: pageID, name: me.name, ...cursor });
    cursorTimer = setTimeout(tell, CURSOR_PAUSE);
  };
  cursorTimer = setTimeout(tell, 0);
}

document.addEventListener("selectionchange", () => {
  if (document.activeElement === editor) tellCursor();
});
setInterval(tellCursor, CURSOR_REPEAT);
setInterval(() => carets.remove((_, { heardAt }) => Date.now() - heardAt > CURSOR_SILENCE_MAX), 5_000);

/** Anybody in the room can send anything. */
const isAnchor = (value) => Array.isArray(value) && ["start", "end", "before", "after"].includes(value[0]);

function receiveCursor(data, { userID }) {
  if (typeof data?.page !== "string" || data.page === pageID) return;
  if (data.gone) return carets.remove((page) => page === data.page);
  if (!isAnchor(data.anchor) || !isAnchor(data.focus)) return;
  const name = String(data.name ?? "Somebody").slice(0, 60);
  carets.set(data.page, {
    user: userID ?? data.page, name, anchor: data.anchor, focus: data.focus, heardAt: Date.now(),
  });
}

function showPeople() {
  const others = [...room.members].filter(([id]) => id !== room.me);
  const people = [[room.me ?? me.id, { name: `${me.name} (you)` }], ...others];
  element("people").replaceChildren(...people.map(([id, info]) => {
    const person = document.createElement("li");
    person.style.setProperty("--hue", hue(id));
    const badge = document.createElement("span");
    badge.className = "initials";
    badge.ariaHidden = "true";
    const name = String(info?.name ?? "Somebody");
    badge.textContent = initials(name.replace(" (you)", ""));
    person.append(badge, name);
    return person;
  }));
}

connect((client) => {
  const channel = client.subscribe("collabo");
  channel.bind("pusher:subscription_succeeded", () => text.connected());
  channel.bind("text_operations", (entry) => {
    if (Number.isInteger(entry?.serial)) text.receive(entry);
  });
  room = client.subscribe("presence-text");
  room.bind("pusher:subscription_succeeded", () => {
    showPeople();
    tellCursor();
  });
  room.bind("pusher:member_added", ({ info }) => {
    showPeople();
    speak(`${info?.name ?? "Somebody"} is here.`);
    // Who has just come has not heard where anybody is.
    tellCursor();
  });
  room.bind("pusher:member_removed", ({ id, info }) => {
    showPeople();
    speak(`${info?.name ?? "Somebody"} has left.`);
    carets.remove((_, { user }) => user === id);
  });
  room.bind("client-cursor", receiveCursor);
  // A browser may keep a page that was left, with its connection: the others would see somebody who is gone.
  addEventListener("pagehide", () => {
    room.trigger("client-cursor", { page: pageID, gone: true });
    client.disconnect();
  });
  addEventListener("pageshow", ({ persisted }) => persisted && client.connect());
  const show = client.onstate;
  client.onstate = (state, detail) => {
    if (state !== "connected" && state !== "connecting") text.disconnected();
    show(state, detail);
  };
});
