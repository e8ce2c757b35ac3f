// The console: a client of the broker's own app, as any page is one of its app.

import { Fanfare } from "../fanfare.js";
import { loadChannels, startChannels } from "./console-channels.js";
import { loadConfiguration, startConfiguration } from "./console-configuration.js";
import { loadConnections, startConnections } from "./console-connections.js";
import { showEvents, startEvents } from "./console-events.js";
import { loadLimits, startLimits } from "./console-limits.js";
import { loadHistory, showLoad, startOverview } from "./console-overview.js";
import { ask, byId, showProblem } from "./console-page.js";
import { startSnippets } from "./console-snippets.js";
import { loadWebhooks, startWebhooks } from "./console-webhooks.js";

const VIEWS = ["overview", "events", "channels", "connections", "webhooks", "limits", "configuration", "snippets"];
/** What loads a view when it is shown: nobody looks at the others. */
const LOADS = {
  channels: loadChannels,
  connections: loadConnections,
  webhooks: loadWebhooks,
  limits: loadLimits,
  configuration: loadConfiguration,
};
const STATES = {
  connecting: "Connecting …",
  connected: "Live",
  waiting: "Not connected; trying again",
  stopped: "Not connected",
};

/** Shows the view that the address names. */
function showView() {
  const wanted = location.hash.slice(1);
  if (wanted === "main") return;
  const view = VIEWS.includes(wanted) ? wanted : VIEWS[0];
  for (const name of VIEWS) byId(`view-${name}`).hidden = name !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${view}`) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "center" });
    } else link.removeAttribute("aria-current");
  }
  document.title = `${byId(`title-${view}`).textContent} – Fanfare console`;
  LOADS[view]?.();
}

/** A broker that has started again has another key, which the next page gets; without a session it gets the form. */
async function reloadIfReplaced(key) {
  const session = await (await ask("session")).json();
  if (session.key !== key) location.reload();
}

function connect({ key, channel: name, path }) {
  const fanfare = new Fanfare(key, {
    host: location.hostname,
    port: Number(location.port) || (location.protocol === "https:" ? 443 : 80),
    tls: location.protocol === "https:",
    path,
    recovery: false,
    authorize: async ({ socketID, channel }) => {
      const body = new URLSearchParams({ socket_id: socketID, channel_name: channel });
      return (await ask("authorize", { method: "POST", body })).json();
    },
  });
  fanfare.onstate = (state) => {
    byId("connection").dataset.state = state;
    byId("connection").textContent = STATES[state] ?? state;
    if (state === "stopped") reloadIfReplaced(key).catch(showProblem);
    // The listener of a broker that has started again refuses the former key without a code. While it is away, this fails.
    if (state === "waiting") reloadIfReplaced(key).catch(() => {});
  };
  fanfare.onerror = showProblem;
  fanfare.subscribe(name)
    .bind("pusher:subscription_succeeded", () => loadHistory().then(() => showProblem(null), showProblem))
    .bind("pusher:subscription_error", ({ error }) => showProblem(error))
    .bind("load", showLoad)
    .bind("events", showEvents);
  fanfare.connect();
}

try {
  const session = await (await ask("session")).json();
  startOverview(session);
  startEvents(session);
  startChannels(session);
  startConnections(session);
  startWebhooks();
  startLimits();
  startConfiguration();
  startSnippets(session);
  byId("sign-out").hidden = !session.hasPassword;
  byId("sign-out").addEventListener("click", async () => {
    await ask("logout", { method: "POST" });
    location.reload();
  });
  addEventListener("hashchange", showView);
  showView();
  connect(session);
} catch (error) {
  showProblem(error);
}
