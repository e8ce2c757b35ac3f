// The page of the films: rows change in batches, which the page shows as a table view's batch updates.

import { request } from "/backend.js";
import { connect } from "/broker.js";
import { LiveList, anchorAt, move, newRowID, put, remove, update } from "/live-list.js";
import { Rows } from "/rows.js";
import { element, notice, speak } from "/site.js";
import { newFilms, shuffled } from "./catalogue.js";

const list = new LiveList({ base: "/films/rows", channel: "films" });
const rows = new Rows(element("rows"), element("row"), fill);

function fill(item, { title, year }, index) {
  item.querySelector(".badge").textContent = index + 1;
  item.querySelector(".year").textContent = year;
  const input = item.querySelector(".title");
  if (input.dataset.title === title) return;
  input.dataset.title = title;
  // Does not overwrite the user's typing; Escape restores the current title.
  if (document.activeElement !== input) input.value = title;
  input.setAttribute("aria-label", `Title of ${title}`);
  item.querySelector(".handle").setAttribute("aria-label", `Move ${title}`);
  item.querySelector(".remove").setAttribute("aria-label", `Remove ${title}`);
}

/** Whether the rows of the first load are shown, of which none is a change. */
let hasBegun = false;

list.onchange = ({ rows: shown, changes, isOwn }) => {
  element("loading").hidden = true;
  element("empty").hidden = shown.length > 0;
  element("rows").hidden = shown.length === 0;
  const { inserts, updates, moves } = changes;
  const touched = [...inserts, ...updates, ...moves.map(({ to }) => to)].map((index) => shown[index].id);
  rows.show(shown, { changed: new Set(hasBegun ? touched : []), pending: list.pendingIDs });
  element("cells").textContent = rows.cellCount;
  element("revision").textContent = list.revision;
  if (hasBegun) showBatch(changes, isOwn);
  hasBegun = true;
};

// The batch

const ROWS = [
  ["deletes", "Removed", "positions before the change"],
  ["inserts", "Added", "positions after it"],
  ["moves", "Moved", "from a position before, to one after"],
  ["updates", "Renamed", "positions after it"],
];

function showBatch(changes, isOwn) {
  const count = ROWS.reduce((sum, [name]) => sum + changes[name].length, 0);
  if (count === 0) return;
  element("batch").replaceChildren(...ROWS.map(([name, label, hint]) => {
    const line = document.createElement("div");
    const indices = changes[name].map((index) => (name === "moves" ? `${index.from + 1}→${index.to + 1}` : index + 1));
    line.dataset.kind = name;
    line.append(part("dt", label), part("dd", indices.join(", ") || "–"), part("small", hint));
    return line;
  }));
  element("origin").textContent = isOwn ? "made here" : "made elsewhere";
  const words = ROWS.filter(([name]) => changes[name].length).map(([name, label]) => `${label} ${changes[name].length}`);
  if (!isOwn) speak(`${words.join(", ")}.`);
}

function part(tag, text) {
  const item = document.createElement(tag);
  item.textContent = text;
  return item;
}

// The actions; each is one batch

/** Puts films one behind the other, the first behind `after`. */
function putAll(films, after) {
  return films.map((film, index) => put(film, index === 0 ? after : films[index - 1].id));
}

const ACTIONS = {
  "insert-three": () => putAll(newFilms(list.rows, 3), null),

  "append-and-drop": () => [
    ...putAll(newFilms(list.rows, 3), list.rows.at(-1)?.id ?? null),
    ...list.rows.slice(0, 3).map(({ id }) => remove(id)),
  ],

  shuffle() {
    const ids = shuffled(list.rows.map(({ id }) => id));
    return ids.map((id, index) => move(id, ids[index - 1] ?? null));
  },
};

for (const [name, operations] of Object.entries(ACTIONS)) {
  element(name).addEventListener("click", () => {
    if (!list.isLoaded) return notice("The list is still loading.");
    list.edit(operations());
  });
}

element("reset").addEventListener("click", async () => {
  try {
    await request("POST", "/films/reset");
  } catch (error) {
    return notice(error.message);
  }
  list.load();
});

element("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const title = element("title").value.trim();
  if (!title) return element("title").focus();
  if (!list.isLoaded) return notice("The list is still loading.");
  element("title").value = "";
  const film = { id: newRowID(), title, year: new Date().getFullYear() };
  list.edit([put(film, list.rows.at(-1)?.id ?? null)]);
});

rows.onmove = (id, index) => {
  speak(`${list.row(id).title} is now number ${index + 1} of ${list.rows.length}.`);
  list.edit([move(id, anchorAt(list.rows, id, index))]);
};

rows.onremove = (id) => {
  speak(`${list.row(id).title} was removed.`);
  list.edit([remove(id)]);
};

const filmOf = (input) => list.rows.find(({ id }) => String(id) === input.closest("li").dataset.id);

element("rows").addEventListener("change", ({ target }) => {
  const film = filmOf(target);
  const title = target.value.trim();
  if (film && title && title !== film.title) list.edit([update({ ...film, title })]);
});

element("rows").addEventListener("focusout", ({ target }) => {
  if (target.matches(".title")) target.value = filmOf(target)?.title ?? target.value;
});

element("rows").addEventListener("keydown", ({ key, target }) => {
  if (!target.matches(".title")) return;
  if (key === "Escape") target.value = filmOf(target)?.title ?? target.value;
  if (key === "Escape" || key === "Enter") target.blur();
});

connect((client) => list.follow(client));
