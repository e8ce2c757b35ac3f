// The overview: the present load, and small charts of the last hour.

import { ask, byId, bytesText, make, millisecondsText, numberText, plural } from "./console-page.js";

const HOUR = 3_600_000;
/** The time between two points of a chart, in milliseconds. */
const STEP = 10_000;

/** A tile: its name, the index of its number in a sample, and how it is shown; a `rate` is of a number that only grows. */
const TILES = [
  { name: "Connections", index: 1 },
  { name: "Channels of all apps", index: 2 },
  { name: "Events a second", index: 4, isRate: true },
  { name: "Client messages a second", index: 3, isRate: true },
  { name: "Deliveries a second", index: 5, isRate: true },
  { name: "Queued for slow readers", index: 6, text: bytesText },
  // How long a request waits until its loop takes it, of the loop where it waits longest.
  { name: "Wait for a busy loop", index: 7, text: millisecondsText },
  // The longest of the events since the last sample: that wait, and the turn of the loop until its sends are made.
  { name: "From trigger to send", index: 8, text: millisecondsText },
];

let history = [];
let last = null;
const tiles = new Map();
/** The numbers that the tiles show. */
const shown = new Map();

let version = "";

/** Makes the tiles. */
export function startOverview(session) {
  ({ version } = session);
  for (const tile of TILES) {
    const value = make("strong", {}, "–");
    const chart = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    chart.setAttribute("viewBox", "0 0 360 52");
    chart.setAttribute("preserveAspectRatio", "none");
    chart.setAttribute("role", "img");
    const scale = make("div", { class: "scale", "aria-hidden": "true" });
    byId("tiles").append(make("figure", { class: "tile" }, make("figcaption", {}, tile.name, value), chart, scale));
    tiles.set(tile, { value, chart, scale });
  }
}

/** Loads the samples of the last hour, after each connection. */
export async function loadHistory() {
  history = await (await ask("samples")).json();
  last = history.at(-1) ?? null;
  draw();
}

/** Shows a sample that has just been taken, and the limits that were met. */
export function showLoad(load) {
  const { sample, limits, refusals } = load;
  showFacts(load);
  showRefusals(refusals);
  const before = last;
  last = sample;
  for (const [tile, { value }] of tiles) {
    const number = tile.isRate ? rate(before, sample, tile.index) : sample[tile.index];
    if (number === null) continue;
    shown.set(tile, number);
    value.textContent = (tile.text ?? numberText)(number);
  }
  if (!history.length || sample[0] - history.at(-1)[0] >= STEP) {
    history.push(sample);
    history = history.filter(([time]) => time > sample[0] - HOUR);
  }
  draw();
  showLimits(limits);
}

/** The growth a second between two samples; null if there is none to tell. */
function rate(before, after, index) {
  if (!before || after[0] <= before[0]) return null;
  return Math.max(0, (after[index] - before[index]) / ((after[0] - before[0]) / 1_000));
}

function draw() {
  // The present is the end of each chart, also between two of its points.
  const samples = last === null || last === history.at(-1) ? history : [...history, last];
  for (const [tile, { chart, scale }] of tiles) {
    const points = samples.flatMap((sample, index) => {
      const number = tile.isRate ? rate(samples[index - 1], sample, tile.index) : sample[tile.index];
      return number === null ? [] : [[sample[0], number]];
    });
    if (!points.length) continue;
    const text = tile.text ?? numberText;
    // What is shown above is a point too: it is measured over a second, those of the chart over ten.
    const numbers = [...points.map(([, number]) => number), ...(shown.has(tile) ? [shown.get(tile)] : [])];
    const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
    const [start, end] = [points[0][0], points.at(-1)[0]];
    const place = ([time, number]) =>
      `${(360 * (time - start)) / Math.max(1, end - start)},${50 - (46 * number) / Math.max(1, most)}`;
    const line = points.map(place).join(" ");
    chart.replaceChildren(shape("polygon", `0,52 ${line} 360,52`), shape("polyline", line));
    const minutes = Math.max(1, Math.round((end - start) / 60_000));
    const period = minutes === 1 ? "the last minute" : `the last ${minutes} minutes`;
    chart.setAttribute("aria-label", `${tile.name} in ${period}: from ${text(least)} to ${text(most)}`);
    chart.onpointermove = ({ clientX }) => {
      const { left, width } = chart.getBoundingClientRect();
      const wanted = start + ((end - start) * (clientX - left)) / Math.max(1, width);
      const [time, number] = points.reduce((best, point) =>
        (Math.abs(point[0] - wanted) < Math.abs(best[0] - wanted) ? point : best));
      scale.replaceChildren(make("span", {}, clockText(time)), make("span", {}, text(number)));
    };
    const rest = () => scale.replaceChildren(make("span", {}, `${minutes} min`), make("span", {}, `at most ${text(most)}`));
    chart.onpointerleave = rest;
    // The value under the pointer stays until it moves.
    if (!chart.matches(":hover")) rest();
  }
}

function durationText(seconds) {
  for (const [unit, length] of [["day", 86_400], ["hour", 3_600], ["minute", 60]]) {
    if (seconds >= length) return plural(Math.floor(seconds / length), unit);
  }
  return plural(seconds, "second");
}

/** What the broker is, and what has happened since its start. */
function showFacts({ uptime, memory, keptBytes, fileBytes, fileFailures, gaps, deadLetters, refusals }) {
  const refused = refusals.reduce((sum, { count }) => sum + count, 0);
  byId("facts").replaceChildren(...[
    ["Version", version],
    ["Up for", durationText(uptime)],
    ["Memory", memory === undefined ? undefined : bytesText(memory)],
    ["Kept messages, in memory", bytesText(keptBytes)],
    ["Kept messages, file", fileBytes === undefined ? undefined : bytesText(fileBytes)],
    ["Gaps reported to clients", numberText(gaps), gaps],
    ["Requests and connections refused", numberText(refused), refused],
    ["Webhooks given up", numberText(deadLetters), deadLetters],
    ["Writes to the file failed", fileFailures === undefined ? undefined : numberText(fileFailures), fileFailures],
  ].filter(([, text]) => text !== undefined).map(([name, text, isBad]) =>
    make("figure", { class: "tile" }, make("figcaption", {}, name, make("strong", isBad ? { class: "problem" } : {}, text)))));
}

/** What refusals mean: statuses of requests, and close codes of connections. */
const MEANINGS = {
  400: "the request is wrong", 401: "the signature, the key or the clock of a backend is wrong", 403: "not allowed",
  404: "no such app", 409: "the same key with other content", 412: "the position is not the last one",
  413: "too long", 429: "too many requests", 503: "overloaded, or Redis or the file is not available",
  4001: "no app has this key", 4003: "the app is disabled", 4004: "the app has too many connections",
  4005: "the path is wrong: listen.path_prefix", 4006: "the protocol version is wrong", 4007: "the protocol version is not supported",
  4008: "no protocol version given", 4009: "the origin is not allowed", 4100: "over capacity",
};

function showRefusals(refusals) {
  byId("refusals").hidden = refusals.length === 0;
  byId("no-refusals").hidden = refusals.length > 0;
  byId("refusals").tBodies[0].replaceChildren(...refusals.map(({ app, code, count }) =>
    make("tr", {}, make("td", {}, app ?? "–"), make("td", { class: "mono" }, String(code)), make("td", {}, MEANINGS[code] ?? ""),
      make("td", { class: "number" }, numberText(count)))));
}

const clockText = (time) => new Date(time).toLocaleTimeString("sv-SE");

function shape(name, points) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  element.setAttribute("points", points);
  return element;
}

function showLimits(limits) {
  byId("limits-met").hidden = limits.length === 0;
  byId("no-limits").hidden = limits.length > 0;
  byId("limits-met").tBodies[0].replaceChildren(
    ...limits.map(({ limit, key, count }) =>
      make("tr", {}, make("td", {}, limit), make("td", { class: "mono" }, key.replace("apps.N", "apps (any)")), make("td", { class: "number" }, numberText(count))),
    ),
  );
}
