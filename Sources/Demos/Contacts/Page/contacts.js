// The page: the list, and beside it (on a phone, instead of it) one of the other screens, by the address:
// #/add, or #/ and the id of a contact.

import { element } from "/site.js";
import { AddView } from "./add-view.js";
import { DetailsView } from "./details-view.js";
import { ListView } from "./list-view.js";
import { provideService } from "./provider.js";
import { Table } from "./table.js";

const service = provideService();

// The list

const list = new ListView(service, new Table(element("list")));
list.onsnapshot = ({ revision, people, touched }) => {
  element("count").textContent = people.length === 1 ? "1 person" : `${people.length} people`;
  showTouched(element("list-touched"), revision, touched);
};

element("search").addEventListener("input", ({ target }) => list.search(target.value));

// The other screens

const panes = document.querySelector(".panes");
let screen = null;
/** A deleted contact to be added again. */
let draft;

function open() {
  const place = location.hash.replace(/^#\/?/, "");
  screen?.close();
  panes.dataset.screen = place === "" ? "list" : place === "add" ? "add" : "details";
  list.select(place === "add" ? null : place || null);
  element("screen-touched").textContent = "";
  const table = new Table(element("screen"));
  screen = place === "" ? null : place === "add" ? new AddView(service, table, draft) : new DetailsView(service, table, place);
  draft = undefined;
  if (!screen) return;
  screen.onsnapshot = ({ revision, touched }) => showTouched(element("screen-touched"), revision, touched);
  screen.onend = (next) => {
    // The form ends with an id, the card with a contact to be added again.
    if (next && typeof next === "object") draft = next;
    location.hash = !next ? "#/" : draft ? "#/add" : `#/${next}`;
  };
}

element("screen").addEventListener("submit", (event) => {
  event.preventDefault();
  screen?.save();
});

addEventListener("hashchange", open);
open();

/** Shows the number of cells that the last snapshot has changed. */
function showTouched(line, revision, { inserted, updated, removed, untouched }) {
  Object.assign(line.dataset, { revision, inserted, updated, removed, untouched });
  const parts = [[inserted, "inserted"], [updated, "updated"], [removed, "removed"]]
    .filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  const touched = parts.length > 0 ? parts.join(", ") : "no changes";
  line.textContent = `Snapshot ${revision}: ${touched}, ${untouched} cells left alone`;
}

// Keys

addEventListener("keydown", (event) => {
  const isWriting = event.target.closest?.("input, textarea");
  if (event.key === "Escape" && screen) location.hash = "#/";
  if (event.key === "/" && !isWriting && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    element("search").focus();
  }
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (step && event.target.closest?.("#list a, #search")) {
    event.preventDefault();
    moveFocus(event.target, step);
  }
});

/** Moves the focus from the search to the first person, and from person to person. */
function moveFocus(from, step) {
  const stops = [element("search"), ...document.querySelectorAll("#list .group:not(.leaving) li:not(.leaving) a")];
  stops[stops.indexOf(from) + step]?.focus();
}
