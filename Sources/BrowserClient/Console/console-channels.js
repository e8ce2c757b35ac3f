// The occupied channels: their subscribers, members and cached events.

import { ask, byId, definitions, fillApps, make, numberText, plural, showProblem, timeText, viewLink } from "./console-page.js";

const form = byId("channel-search");
/** Whether the broker shows the data of events: `console.payloads`. */
let showsData = true;

/** Prepares the view. */
export function startChannels({ apps, payloads }) {
  showsData = payloads;
  fillApps(form.elements.app, apps);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    loadChannels();
  });
}

/** Loads the list, from a first page on. */
export async function loadChannels() {
  byId("channel-list").replaceChildren();
  byId("channel-count").textContent = "Loading …";
  try {
    await loadPage();
    showProblem(null);
  } catch (error) {
    byId("channel-count").textContent = "";
    showProblem(error);
  }
}

const pageLength = 200;

async function loadPage(cursor) {
  const app = form.elements.app.value;
  const query = new URLSearchParams({ info: "subscription_count", limit: pageLength });
  if (form.elements.prefix.value) query.set("filter_by_prefix", form.elements.prefix.value);
  if (cursor) query.set("cursor", cursor);
  const { channels, next_cursor: next } = await (await ask(`apps/${encodeURIComponent(app)}/channels?${query}`)).json();
  byId("channel-list").querySelector(".more")?.remove();
  for (const [name, { subscription_count: count }] of Object.entries(channels)) {
    byId("channel-list").append(item(app, name, count));
  }
  const shown = byId("channel-list").children.length;
  byId("channel-count").textContent =
    shown === 0 ? "No channel has subscribers." : `${numberText(shown)} ${shown === 1 ? "channel" : "channels"}${next ? ", and more" : ""}`;
  if (!next) return;
  const more = make("button", { type: "button", class: "quiet", onclick: () => loadPage(next).catch(showProblem) }, "Show more");
  byId("channel-list").append(make("li", { class: "more" }, more));
}

function item(app, name, count) {
  const noun = count === 1 ? "subscriber" : "subscribers";
  const details = make("details", {}, make("summary", {},
    make("span", { class: "channel mono" }, name),
    make("span", { class: "quiet" }, count === undefined ? "" : `${numberText(count)} ${noun}`)));
  const place = make("div");
  details.append(place);
  details.addEventListener("toggle", async () => {
    if (!details.open) return;
    try {
      place.replaceChildren(...(await contents(app, name)));
    } catch (error) {
      place.replaceChildren(make("p", { class: "problem" }, error.message));
    }
  });
  return make("li", {}, details);
}

async function contents(app, name) {
  const path = `apps/${encodeURIComponent(app)}/channels/${encodeURIComponent(name)}`;
  const isPresence = name.startsWith("presence-");
  const isCache = /^(private-|presence-|private-encrypted-)?cache-/.test(name);
  const info = [isPresence ? "user_count" : "subscription_count", ...(isCache && showsData ? ["cache"] : [])];
  const state = await (await ask(`${path}?info=${info.join()}`)).json();
  const rows = [];
  if (!state.occupied) rows.push(["Subscribers", "none"]);
  if (state.subscription_count !== undefined) rows.push(["Subscribers", numberText(state.subscription_count)]);
  if (state.user_count !== undefined) rows.push(["Members", numberText(state.user_count)]);
  if (isPresence) {
    const { users } = await (await ask(`${path}/users`)).json();
    if (users.length) rows.push(["Users", users.map(({ id }) => id).join(", ")]);
  }
  const parts = [definitions(rows)];
  if (isCache && showsData) {
    parts.push(make("p", { class: "quiet" }, state.cache ? `Cached event, for another ${state.cache.ttl} s:` : "No event is cached."));
    if (state.cache) parts.push(make("pre", { tabindex: "0", "aria-label": "Cached event" }, state.cache.data));
  }
  parts.push(make("div", { class: "row" }, viewLink("events", "filters", { channel: name }, "Its events"),
    viewLink("connections", "connection-search", { channel: name }, "Its connections")), why(path));
  return parts;
}

/** A form that asks what became of a message, as "fanfare why" does. */
function why(path) {
  const answer = make("output", { "aria-live": "polite" });
  const form = make("form", { class: "why fields", onsubmit: async (event) => {
    event.preventDefault();
    const { serial, socket } = Object.fromEntries(new FormData(form));
    const query = socket ? `?${new URLSearchParams({ socket_id: socket })}` : "";
    try {
      answer.replaceChildren(...reportLines(serial, await (await ask(`${path}/messages/${serial}/delivery${query}`)).json())
        .map((line) => make("p", {}, line)));
    } catch (error) {
      answer.replaceChildren(make("p", { class: "problem" }, error.message));
    }
  } },
  make("label", {}, "Serial of a message", make("input", { name: "serial", type: "number", min: 1, required: "" })),
  make("label", {}, "Socket ID, or empty for all", make("input", { name: "socket", autocomplete: "off", spellcheck: "false" })),
  make("div", { class: "row" }, make("button", { type: "submit", class: "quiet" }, "Why")));
  return make("div", {}, form, answer);
}

const words = (verdict) => verdict.replaceAll("_", " ");

function reportLines(serial, { verdict, message, counts = {}, connections = [] }) {
  if (!message) return ["No message of the channel has a serial: no client tracks it, and none is kept."];
  if (verdict === "never_published") return [`${serial} was never published: the last message is ${message.last}.`];
  const lines = [message.published
    ? `${serial} was published at ${timeText(message.published)} and is kept.`
    : `${serial} was published and is no longer kept.`];
  for (const [name, count] of Object.entries(counts)) lines.push(`${plural(count, "client")}: ${words(name)}`);
  for (const { socket_id: socket, verdict: found } of connections) lines.push(`${socket}: ${words(found)}`);
  if (lines.length === 1) lines.push("No record of a client of the channel is kept.");
  return lines;
}
