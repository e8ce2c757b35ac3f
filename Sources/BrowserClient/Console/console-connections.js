// The connections: who is connected, from where and with what, and how to end that.

import { actionButton, ask, byId, bytesText, definitions, fillApps, libraryText, make, millisecondsText, numberText, plural, showProblem, viewLink } from "./console-page.js";

const form = byId("connection-search");

/** Prepares the view. */
export function startConnections({ apps }) {
  fillApps(form.elements.app, apps, "All");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    loadConnections();
  });
}

/** Loads the list that the form asks for. */
export async function loadConnections() {
  byId("connection-count").textContent = "Loading …";
  try {
    const query = new URLSearchParams(new FormData(form));
    query.set("client", query.get("client").replace(/^pusher-js/, "js"));
    const { total, matching, connections } = await (await ask(`connections?${query}`)).json();
    byId("connection-list").replaceChildren(...connections.map(item));
    byId("connection-count").textContent = summary(total, matching, connections.length);
    showProblem(null);
  } catch (error) {
    byId("connection-count").textContent = "";
    showProblem(error);
  }
}

function summary(total, matching, shown) {
  if (total === 0) return "No client is connected.";
  const all = `${plural(total, "connection")} in all`;
  if (matching === 0) return `No connection matches; ${all}.`;
  const fitting = matching === total ? all : `${numberText(matching)} matching, ${all}`;
  return shown < matching ? `${fitting}; the first ${numberText(shown)} are shown, ${numberText(matching - shown)} left out.` : `${fitting}.`;
}

function item(connection) {
  const { socket, user, client, address, subscriptions, queued } = connection;
  const details = make("details", {}, make("summary", {},
    make("span", { class: "mono" }, socket),
    make("span", { class: "mono user" }, user ?? ""),
    make("span", { class: "quiet" }, libraryText(client) ?? address ?? ""),
    make("span", { class: "quiet number channels" }, plural(subscriptions, "channel")),
    make("span", { class: queued ? "number problem" : "quiet number" }, queued ? `${bytesText(queued)} queued` : latency(connection))));
  const place = make("div");
  details.append(place);
  details.addEventListener("toggle", async () => {
    if (!details.open) return;
    place.replaceChildren(...(await contents(connection, place)));
  });
  return make("li", {}, details);
}

const latency = ({ roundTrip }) => (roundTrip === undefined ? "" : millisecondsText(roundTrip));

/** The connection as it is now, with all its channels. */
async function contents({ socket }, place) {
  const query = new URLSearchParams({ socket });
  let connection;
  try {
    const { connections } = await (await ask(`connections?${query}`)).json();
    connection = connections.find((found) => found.socket === socket);
  } catch (error) {
    return [make("p", { class: "problem" }, error.message)];
  }
  if (!connection) return [make("p", { class: "quiet" }, "This connection has ended.")];
  const { app, user, address, client, tls, subscriptions, channels, queued, silence } = connection;
  const more = subscriptions > channels.length ? ` and ${numberText(subscriptions - channels.length)} more` : "";
  const parts = [
    definitions([["App", app], ["User", user], ["Address", address && `${address}${tls ? " over TLS" : ""}`], ["Client", libraryText(client)],
      ["Channels", subscriptions ? channels.join(", ") + more : "none"], ["Queued", bytesText(queued)],
      ["Round trip", latency(connection) || undefined], ["Last message", `${plural(silence, "second")} ago`]]),
  ];
  const said = make("output", { "aria-live": "polite" });
  const close = actionButton("Close", "Close it? The client reconnects at once.", async () => {
    await ask(`connections/${socket}`, { method: "DELETE" });
    said.textContent = "Closed.";
  });
  const terminate = user && actionButton(`Close all of ${user}`, `Close all connections of ${user}? They do not reconnect by themselves.`, async () => {
    const path = `apps/${encodeURIComponent(app)}/users/${encodeURIComponent(user)}/terminate_connections`;
    await ask(path, { method: "POST" });
    said.textContent = `The connections of ${user} are closed.`;
  });
  return [...parts, make("div", { class: "row" }, viewLink("events", "filters", { socket }, "Its events"), close, terminate || undefined, said)];
}
