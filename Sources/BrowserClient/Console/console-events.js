// The events as they flow, with filters, and a form to send one.

import { ask, byId, copy, definitions, fillApps, make, numberText, showProblem } from "./console-page.js";
import { curlText, triggerText } from "./console-snippets.js";

/** The number of events that the page keeps; the oldest go. */
const KEPT_MAX = 200;

let session;
let records = [];
let omitted = 0;
let seen = 0;
/** What came while the page was paused. */
let waiting = [];
let isPaused = false;

/** Prepares the view. */
export function startEvents(given) {
  session = given;
  const [filters, form] = [byId("filters"), byId("send-form")];
  fillApps(filters.elements.app, session.apps);
  fillApps(form.elements.app, session.apps);
  filters.addEventListener("input", redraw);
  filters.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("submit", send);
  byId("pause").addEventListener("click", togglePause);
  byId("clear").addEventListener("click", () => {
    [records, waiting, omitted, seen] = [[], [], 0, 0];
    redraw();
  });
}

/** Shows a batch of what happened, and how many events were left out of it. */
export function showEvents(batch) {
  seen += batch.records.length + batch.omitted;
  omitted += batch.omitted;
  if (isPaused) waiting = [...waiting, ...batch.records].slice(-KEPT_MAX);
  else add(batch.records);
  showCounts();
}

function add(added) {
  records = [...records, ...added].slice(-KEPT_MAX);
  const list = byId("event-list");
  const shown = added.filter(isWanted);
  list.prepend(...shown.toReversed().map(item));
  while (list.children.length > KEPT_MAX) list.lastElementChild.remove();
  byId("no-events").hidden = list.children.length > 0;
}

function redraw() {
  byId("event-list").replaceChildren(...records.filter(isWanted).toReversed().map(item));
  const isEmpty = byId("event-list").children.length === 0;
  byId("no-events").hidden = !isEmpty;
  byId("no-events").textContent = records.length
    ? "None of the last events match the filters."
    : "Nothing has happened since this page was opened.";
  showCounts();
}

function isWanted(record) {
  const { app, kind, ...texts } = Object.fromEntries(new FormData(byId("filters")));
  if (app && record.app !== app) return false;
  if (kind === "events" ? record.event === undefined : kind && record.kind !== kind) return false;
  return Object.entries(texts).every(([name, text]) => !text || (record[name] ?? "").includes(text));
}

function togglePause() {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", isPaused);
  byId("pause").textContent = isPaused ? "Continue" : "Pause";
  if (!isPaused) add(waiting.splice(0));
  showCounts();
}

function showCounts() {
  byId("flow").textContent = isPaused
    ? `Paused; ${numberText(waiting.length)} of the last events wait.`
    : `${numberText(seen)} since the page was opened; the last ${KEPT_MAX} are kept.`;
  byId("omitted").hidden = omitted === 0;
  byId("omitted").textContent =
    `${numberText(omitted)} were left out: more happened at once than can be shown. The numbers in the overview are complete.`;
}

/** The elements of one event. */
function item(record) {
  const time = new Date(record.at);
  const clock = `${time.toLocaleTimeString("en-GB")}.${String(record.at % 1_000).padStart(3, "0")}`;
  const isEvent = record.event !== undefined;
  const details = make("details", {}, make("summary", {},
    make("time", { datetime: time.toISOString() }, clock),
    make("span", { class: isEvent ? "kind event" : `kind ${record.kind}` }, record.kind),
    make("span", { class: "channel mono" }, record.channel ?? record.request ?? ""),
    make("span", { class: record.reason ? "event-name" : "event-name mono" }, record.event ?? record.reason ?? ""),
    make("span", { class: "who mono" }, record.user ?? record.socket ?? record.address ?? "")));
  // Most events are never opened.
  details.addEventListener("toggle", () => details.append(...contents(record)), { once: true });
  return make("li", {}, details);
}

function contents(record) {
  const parts = [definitions([["App", record.app], ["User", record.user],
    [record.kind === "event" ? "Not sent to" : "Socket ID", record.socket],
    ["What", record.subject], ["Why", record.reason], ["To do", record.advice], ["Code", record.code],
    ["Request", record.request], ["Address", record.address], ["Client", record.library],
    ["Length", record.length === undefined ? undefined : `${numberText(record.length)} bytes`]])];
  if (record.event === undefined) return parts;
  if (record.data === undefined) {
    parts.push(make("p", { class: "quiet" }, "The data is not shown: console.payloads is off."));
    return parts;
  }
  const isCut = new TextEncoder().encode(record.data).length < record.length;
  parts.push(make("pre", { tabindex: "0", "aria-label": "Data" }, pretty(record.data) + (isCut ? " …" : "")));
  if (isCut) parts.push(make("p", { class: "quiet" }, "Only the beginning is shown."));
  else if (record.kind === "event") {
    parts.push(make("div", { class: "row" },
      make("button", { type: "button", class: "quiet", onclick: () => copy(triggerText(session, record), "Command") },
        "Copy as fanfare trigger"),
      make("button", { type: "button", class: "quiet", onclick: () => copy(curlText(session, record), "Command") },
        "Copy as curl")));
  }
  return parts;
}

function pretty(data) {
  try {
    return JSON.stringify(JSON.parse(data), null, 2);
  } catch {
    return data;
  }
}

async function send(event) {
  event.preventDefault();
  const { app, channel, event: name, data } = Object.fromEntries(new FormData(event.target));
  byId("sent").textContent = "";
  try {
    await ask(`apps/${encodeURIComponent(app)}/events`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ name, channels: [channel], data }),
    });
    byId("sent").textContent = "Sent.";
    showProblem(null);
  } catch (error) {
    showProblem(error);
  }
}
