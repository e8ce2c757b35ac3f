// The page of the to-dos. Its two lists are bound to two queries of the backend's database and follow every
// write to it.

import { connect } from "/broker.js";
import { LiveList, newRowID, put, remove, update } from "/live-list.js";
import { rowChanges } from "/fanfare-live.js";
import { Rows } from "/rows.js";
import { element, notice, speak } from "/site.js";
import { fillCell } from "./cell.js";
import { doneRows, openRows } from "./queries.js";

/** Times in milliseconds. */
const UNDO_TIME = 8_000;
/** The longest time between the events of two lists about one row. */
const CHANGE_TIME = 2_000;
const MINUTE = 60_000;

const open = new LiveList({ base: "/to-do/open", channel: "to-do-open" });
const done = new LiveList({ base: "/to-do/done", channel: "to-do-done" });
const rows = new Rows(element("rows"), element("row"), fillCell);

// Showing

let filter = "open";
/** The rows that each filter has shown last; null before the first result. */
const shown = { open: null, done: null };

open.onchange = (change) => changed("open", change);
done.onchange = (change) => changed("done", change);

function changed(query, { operations, isOwn }) {
  const touched = isOwn ? [] : operations.map(({ id, row }) => id ?? row.id);
  const pending = pendingIDs();
  show(query, new Set(touched.filter((id) => !pending.has(id))));
  if (!isOwn && operations.length > 0) announce(query, operations);
  closeEditorOfGone();
}

function show(query, touched = new Set()) {
  const before = shown;
  const after = {
    open: open.isLoaded ? openRows(open.rows, done.rows) : null,
    done: done.isLoaded ? doneRows(open.rows, done.rows) : null,
  };
  if (query === filter && after[query]) showState(before[query], after[query]);
  Object.assign(shown, after);
  for (const name of ["open", "done"]) {
    element(`${name}-count`).textContent = after[name]?.length ?? "";
    element(`show-${name}`).setAttribute("aria-pressed", String(name === filter));
  }
  const list = after[filter];
  element("loading").hidden = list !== null;
  element("rows").hidden = !list?.length;
  element("empty").hidden = list?.length !== 0;
  element("empty").textContent = filter === "open" ? "All done. Enjoy the day." : "Nothing is done yet.";
  if (list) rows.show(list, { changed: touched, pending: pendingIDs() });
}

/** Shows the state of the query: initial, update or error. */
function showState(before, after) {
  const line = element("state");
  if (!before) {
    line.dataset.state = "initial";
    line.textContent = `initial: ${after.length} rows`;
    return;
  }
  const isSame = (row, other) => ["title", "due", "isDone"].every((field) => row[field] === other[field]);
  const { deletes, inserts, moves, updates } = rowChanges(before, after, isSame);
  if (deletes.length + inserts.length + moves.length + updates.length === 0 && line.dataset.state !== "error") return;
  line.dataset.state = "update";
  Object.assign(line.dataset, { deletions: deletes.length, insertions: inserts.length, modifications: updates.length });
  line.textContent = `update: ${count(deletes, "deletion")}, ${count(inserts, "insertion")}, `
    + `${count(updates, "modification")}, ${count(moves, "move")}`;
}

const count = (indices, what) => `${indices.length} ${what}${indices.length === 1 ? "" : "s"}`;

function showError({ error } = {}) {
  element("state").dataset.state = "error";
  element("state").textContent = `error: ${error}`;
  element("state").closest("details").open = true;
}

function pendingIDs() {
  return new Set([...open.pendingIDs, ...done.pendingIDs]);
}

/** Announces remote changes to screen readers; the list that a row leaves announces nothing. */
function announce(query, operations) {
  const words = { put: query === "open" ? "is to be done" : "is done", update: "was changed" };
  const sentences = operations.filter(({ op }) => words[op]).map(({ op, row }) => `${row.title} ${words[op]}.`);
  if (sentences.length > 0) speak(sentences.join(" "));
}

// Edits, which are sent to the list that contains the to-do.

const listOf = (id) => [open, done].find((list) => list.row(id));
const toDo = (id) => open.row(id) ?? done.row(id);

/** Calls with the list of a row, or with nothing if it is gone: a row that changes lists is briefly in neither. */
function withListOf(id, body) {
  const list = listOf(id);
  if (list) body(list);
  else setTimeout(() => body(listOf(id)), CHANGE_TIME);
}

function edit({ id, title }, fields) {
  withListOf(id, (list) => {
    if (list) list.edit([update({ id, ...fields })]);
    else notice(`“${title}” was deleted on another screen.`);
  });
}

element("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const title = element("title").value.trim();
  if (!title) return element("title").focus();
  if (!open.isLoaded) return notice("The list is still loading.");
  const row = { id: newRowID(), title, due: element("due").value || null, isDone: false, doneAt: null };
  open.edit([put(row, open.rows.at(-1)?.id ?? null)]);
  element("title").value = "";
  element("title").focus();
});

element("rows").addEventListener("change", ({ target }) => {
  const id = idOf(target);
  const row = target.matches(".check") && id && toDo(id);
  if (!row) return;
  focusNeighbour(id);
  edit(row, { isDone: target.checked });
  if (target.checked) offerUndo(row);
  else element("undo").hidden = true;
});

rows.onremove = (id) => {
  speak(`${toDo(id).title} was deleted.`);
  listOf(id)?.edit([remove(id)]);
};

function idOf(target) {
  return Number(target.closest("li[data-id]")?.dataset.id);
}

/** Focuses a neighbour of the row that is about to leave the list, for keyboard users. */
function focusNeighbour(id) {
  const list = shown[filter];
  const index = list.findIndex((row) => row.id === id);
  const neighbour = list[index + 1] ?? list[index - 1];
  if (neighbour) document.querySelector(`li[data-id="${neighbour.id}"] .check`)?.focus({ preventScroll: true });
  else element("title").focus();
}

let undoTimer = null;

function offerUndo(row) {
  clearTimeout(undoTimer);
  const bar = element("undo");
  bar.hidden = false;
  bar.querySelector("span").textContent = `“${row.title}” is done.`;
  bar.querySelector("button").onclick = () => {
    bar.hidden = true;
    edit(row, { isDone: false });
  };
  undoTimer = setTimeout(() => { bar.hidden = true; }, UNDO_TIME);
}

// Editing

const editor = element("editor");
let edited = null;

element("rows").addEventListener("click", ({ target }) => {
  const row = target.closest(".edit") && toDo(idOf(target));
  if (!row) return;
  edited = row;
  element("edit-title").value = row.title;
  element("edit-due").value = row.due ?? "";
  editor.showModal();
});

editor.addEventListener("close", () => {
  const row = edited;
  edited = null;
  if (editor.returnValue !== "save" || !row) return;
  const title = element("edit-title").value.trim();
  const due = element("edit-due").value || null;
  // Only the changed fields: the others may have been changed elsewhere.
  const fields = { ...(title && title !== row.title && { title }), ...(due !== row.due && { due }) };
  if (Object.keys(fields).length > 0) edit(row, fields);
});

element("edit-cancel").addEventListener("click", () => editor.close("cancel"));
editor.addEventListener("cancel", () => { editor.returnValue = "cancel"; });

function closeEditorOfGone() {
  if (!edited || toDo(edited.id)) return;
  const { id, title } = edited;
  withListOf(id, (list) => {
    if (edited?.id !== id || list) return;
    editor.close("cancel");
    notice(`“${title}” was deleted on another screen.`);
  });
}

// The filter

for (const name of ["open", "done"]) {
  element(`show-${name}`).addEventListener("click", () => {
    filter = name;
    if (shown[name]) showState(null, shown[name]);
    show(name);
  });
}

// Updates relative dates at midnight.
setInterval(() => shown[filter] && show(filter), MINUTE);

connect((client) => {
  for (const [channel, list] of [["to-do-open", open], ["to-do-done", done]]) {
    list.follow(client);
    client.subscribe(channel).bind("list_failed", (failure) => {
      if (list === (filter === "open" ? open : done)) showError(failure);
      list.load();
    });
  }
});
