// The page: the list, kept in step with the backend by the events of the channel.
//
// Loads follow subscriptions: whatever happens after a load arrives as an event. While the two could overlap,
// and whenever an event does not fit what is shown, the list is loaded once more.

import { Refused, request } from "/backend.js";
import { connect } from "/broker.js";
import { pageID as deviceID } from "/me.js";
import { element, notice, showProblem, speak } from "/site.js";
import { UserList } from "./list.js";
import { Rows } from "./rows.js";

/** Times in milliseconds. */
const SETTLING_TIME = 1_500;
const MISMATCH_PAUSE = 300;
const RETRY_PAUSES = [1_000, 2_000, 4_000, 8_000];

const list = new UserList(deviceID);
const rows = new Rows(element("rows"), element("row"));
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
    list.replace(await request("GET", "/users"), confirmed);
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

function send({ kind, row, anchor, src, dest, index }) {
  switch (kind) {
    case "add":
      return request("POST", "/add", { name: row.name, deviceId: deviceID });
    case "remove":
      return request("POST", "/delete", { id: row.id, index, deviceId: deviceID });
    case "move":
      return request("POST", "/move", { src, dest, src_id: row.id, dest_id: anchor.id, deviceId: deviceID });
  }
}

async function commitOne(change) {
  // What was to be changed may itself have been refused: then there is nothing left to ask for.
  const { kind, row, anchor } = change;
  if ((kind !== "add" && row.id === null) || anchor?.id === null) {
    list.withdraw(change);
    return show();
  }
  try {
    list.confirm(change, await send(change));
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

load();
connect((client) => {
  channel = client.subscribe("userslist");
  channel.bind("pusher:subscription_succeeded", load);
  for (const event of ["addUser", "removeUser", "moveUser"]) {
    channel.bind(event, (data) => receive(event, data));
  }
  channel.bind("notice", (data) => notice(data?.text ?? String(data)));
});

// A page that was asleep may have missed the end of its connection.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && loadedAt > 0) load();
});
