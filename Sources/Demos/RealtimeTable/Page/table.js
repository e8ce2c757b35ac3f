// The page of the Realtime table: an ordered list of users.

import { connect } from "/broker.js";
import { LiveList, anchorAt, move, newRowID, put, remove } from "/live-list.js";
import { hue, initials } from "/me.js";
import { Rows } from "/rows.js";
import { element, notice, speak } from "/site.js";

const list = new LiveList({ base: "/table/rows", channel: "userslist" });
const rows = new Rows(element("rows"), element("row"), fill);

function fill(item, { name }) {
  const label = item.querySelector(".name");
  if (label.textContent === name) return;
  label.textContent = name;
  const badge = item.querySelector(".badge");
  badge.textContent = initials(name);
  badge.style.setProperty("--hue", hue(name));
  item.querySelector(".handle").setAttribute("aria-label", `Move ${name}`);
  item.querySelector(".remove").setAttribute("aria-label", `Remove ${name}`);
}

// The names before the update, to announce removed users.
let names = new Map();

list.onchange = ({ rows: shown, operations, isOwn }) => {
  element("loading").hidden = true;
  element("empty").hidden = shown.length > 0;
  element("rows").hidden = shown.length === 0;
  element("count").textContent = shown.length === 1 ? "1 person" : `${shown.length} people`;
  // Local changes are already shown and announced.
  const others = isOwn ? [] : operations;
  const changed = new Set(others.map(({ id, row }) => id ?? row.id));
  rows.show(shown, { changed, pending: list.pendingIDs });
  for (const operation of others) announce(operation);
  tellFrame(operations, isOwn);
  names = new Map(shown.map(({ id, name }) => [id, name]));
};

/** On the home page this is one of two panes: there the time from one to the other is shown. */
function tellFrame(operations, isOwn) {
  if (operations.length === 0 || parent === window) return;
  const change = JSON.stringify(operations.map(({ op, id, row }) => [op, id ?? row.id]));
  parent.postMessage({ change, isOwn }, location.origin);
}

function announce({ op, id, row }) {
  const name = row?.name ?? names.get(id);
  const number = list.rows.findIndex((other) => other.id === (id ?? row.id)) + 1;
  const words = {
    put: names.has(row?.id) ? `is now number ${number}` : "was added",
    update: "was changed", move: `is now number ${number}`, remove: "was removed",
  };
  if (name) speak(`${name} ${words[op]}.`);
}

element("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = element("name").value.trim();
  if (!name) return element("name").focus();
  if (!list.isLoaded) return notice("The list is still loading.");
  element("name").value = "";
  list.edit([put({ id: newRowID(), name }, list.rows.at(-1)?.id ?? null)]);
});

rows.onmove = (id, index) => {
  speak(`${list.row(id).name} is now number ${index + 1} of ${list.rows.length}.`);
  list.edit([move(id, anchorAt(list.rows, id, index))]);
};

rows.onremove = (id) => {
  speak(`${list.row(id).name} was removed.`);
  list.edit([remove(id)]);
};

connect((client) => {
  list.follow(client);
  client.subscribe("userslist").bind("notice", (data) => notice(data?.text ?? String(data)));
});
