// The page: the list, kept in step with the backend by the events of the channel.
//
// Loads follow subscriptions: whatever happens after a load arrives as an event. While the two could overlap,
// and whenever an event does not fit what is shown, the list is loaded once more.

import { Fanfare } from "./fanfare.js";
import { backend, Refused } from "./backend.js";
import { UserList } from "./list.js";
import { Rows } from "./rows.js";

/** Times in milliseconds. */
const SETTLING_TIME = 1_500;
const MISMATCH_PAUSE = 300;
const RETRY_PAUSES = [1_000, 2_000, 4_000, 8_000];
const NOTICE_TIME = 5_000;

const deviceID = crypto.randomUUID?.() ?? `page-${Math.random().toString(36).slice(2)}`;
const element = (id) => document.getElementById(id);

const list = new UserList(deviceID);
const rows = new Rows(element("rows"), element("row"));
let fanfare = null;
let channel = null;

// Showing

function show(changed) {
  const shown = list.rows;
  element("loading").hidden = true;
  element("empty").hidden = shown.length > 0;
  element("rows").hidden = shown.length === 0;
  element("count").textContent = shown.length === 1 ? "1 person" : `${shown.length} people`;
  rows.show(shown, changed);
}

/** Shows what is wrong until it is right again; `text` null takes it away. */
function showProblem(name, title, text, action) {
  let box = document.querySelector(`[data-problem="${name}"]`);
  if (text === null) return box?.remove();
  if (!box) {
    box = document.createElement("div");
    box.className = "problem";
    box.dataset.problem = name;
    box.innerHTML = "<p><strong></strong> <span></span></p><button type=button>Try now</button>";
    element("problems").append(box);
  }
  box.querySelector("strong").textContent = title;
  box.querySelector("span").textContent = text;
  box.querySelector("button").onclick = action;
}

function notice(text) {
  const box = document.createElement("div");
  box.className = "notice";
  box.textContent = text;
  element("notices").append(box);
  setTimeout(() => box.remove(), NOTICE_TIME);
}

function speak(text) {
  element("spoken").textContent = text;
}

// Loading the list

let isLoading = false;
let mustLoadAgain = false;
let loadedAt = 0;
let failedLoads = 0;
let loadTimer = null;

/** Loads the list as it is from now on: one that is under way may have been answered before. */
function load() {
  clearTimeout(loadTimer);
  if (isLoading) {
    mustLoadAgain = true;
    return;
  }
  isLoading = true;
  loadOnce().finally(() => {
    isLoading = false;
    if (mustLoadAgain) {
      mustLoadAgain = false;
      load();
    }
  });
}

function loadLater(pause) {
  clearTimeout(loadTimer);
  loadTimer = setTimeout(load, pause);
}

async function loadOnce() {
  const confirmed = list.confirmedChanges;
  try {
    list.replace(await backend.users(), confirmed);
  } catch (error) {
    const pause = RETRY_PAUSES[Math.min(failedLoads, RETRY_PAUSES.length - 1)];
    failedLoads += 1;
    showProblem("backend", "The list cannot be loaded.", `${error.message} Trying again …`, load);
    return loadLater(pause);
  }
  failedLoads = 0;
  loadedAt = performance.now();
  showProblem("backend", "", null);
  show();
}

// The backend's events

function receive(event, data) {
  // Anybody who may publish can send anything.
  if (typeof data !== "object" || data === null) return;
  const isTouched = ({ id }) => id === (data.src_id ?? data.id);
  const before = list.rows.find(isTouched);
  const agrees = list.receive(event, data);
  const after = list.rows.find(isTouched);
  // This page has shown, and told, its own changes already.
  const isOwn = data.deviceId === deviceID;
  show(new Set(after && !isOwn ? [after.key] : []));
  if (!isOwn) tell(before, after);
  // An event that comes about with a load may be part of what was loaded, or not.
  const mayOverlap = isLoading || performance.now() - loadedAt < SETTLING_TIME;
  if (!agrees || mayOverlap) loadLater(agrees ? SETTLING_TIME : MISMATCH_PAUSE);
}

function tell(before, after) {
  if (!after) return before && speak(`${before.name} was removed.`);
  const number = list.rows.indexOf(after) + 1;
  speak(before ? `${after.name} is now number ${number}.` : `${after.name} was added.`);
}

// This page's own changes, sent one after the other so that they take effect in that order

let lastCommit = Promise.resolve();

function commit(change) {
  show();
  lastCommit = lastCommit.then(() => commitOne(change));
}

async function commitOne(change) {
  // What was to be changed may itself have been refused: then there is nothing left to ask for.
  const { kind, row, anchor } = change;
  if ((kind !== "add" && row.id === null) || anchor?.id === null) {
    list.withdraw(change);
    return show();
  }
  try {
    list.confirm(change, await backend.commit(change, deviceID));
    // Without the broker no event will tell; then the list has to be asked for.
    if (!channel?.isSubscribed) load();
  } catch (error) {
    list.withdraw(change);
    show();
    notice(error.message);
    if (error instanceof Refused) load();
  }
}

element("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = element("name").value.trim();
  if (!name) return element("name").focus();
  element("name").value = "";
  commit(list.add(name));
});

rows.onmove = (key, index) => {
  const change = list.move(key, index);
  speak(`${change.row.name} is now number ${index + 1} of ${list.rows.length}.`);
  commit(change);
};

rows.onremove = (key) => {
  const change = list.remove(key);
  speak(`${change.row.name} was removed.`);
  commit(change);
};

// The connection to the broker

const STATES = { connecting: "Connecting", connected: "Live", waiting: "Reconnecting", stopped: "Not live" };

function showState(state, { reason } = {}) {
  const connection = element("connection");
  // Between two attempts the word stays, or it would flicker.
  const isRetry = state === "connecting" && connection.dataset.state === "waiting";
  if (!isRetry) {
    connection.dataset.state = state;
    connection.textContent = STATES[state];
  }
  const because = reason ? ` (${reason})` : "";
  if (state === "connected") showProblem("broker", "", null);
  if (state === "waiting") {
    showProblem("broker", "Live updates are paused.",
      `The broker at ${fanfare.url} cannot be reached${because}. Trying again …`, () => fanfare.connect());
  }
  if (state === "stopped") {
    showProblem("broker", "Live updates have stopped.",
      `The broker at ${fanfare.url} refused this page${because}.`, () => fanfare.connect());
  }
}

async function start() {
  load();
  let config;
  try {
    config = await backend.config();
  } catch {
    return setTimeout(start, RETRY_PAUSES[1]);
  }
  const { key, host, port, tls } = config;
  fanfare = new Fanfare(key, { host: host ?? location.hostname, port, tls });
  fanfare.onstate = showState;
  fanfare.onerror = ({ message }) => notice(`The broker says: ${message}`);
  channel = fanfare.subscribe("userslist");
  channel.bind("pusher:subscription_succeeded", load);
  for (const event of ["addUser", "removeUser", "moveUser"]) {
    channel.bind(event, (data) => receive(event, data));
  }
  channel.bind("notice", (data) => notice(data?.text ?? String(data)));
  fanfare.connect();
}

// A page that was asleep may have missed the end of its connection.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && loadedAt > 0) load();
});

start();
