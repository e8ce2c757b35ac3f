// The webhooks: endpoints, counters, and what could not be delivered.

import { actionButton, ask, byId, definitions, make, numberText, plural, showProblem, timeText } from "./console-page.js";

/** Loads the view. */
export async function loadWebhooks() {
  try {
    show(await (await ask("webhooks")).json());
    showProblem(null);
  } catch (error) {
    showProblem(error);
  }
}

function show({ endpoints, counters, deadLetters, deadLetterCount, problem }) {
  byId("webhook-counters").replaceChildren(...[
    ["Delivered", counters.delivered], ["Attempts that failed", counters.failed], ["Waiting", counters.queued],
    ["Given up", counters.dead], ["Lost before they were queued", counters.dropped],
  ].map(([name, count]) => make("figure", { class: "tile" }, make("figcaption", {}, name, make("strong", {}, numberText(count))))));
  byId("no-endpoints").hidden = endpoints.length > 0;
  byId("endpoints").replaceChildren(...endpoints.map((given) => {
    const own = endpoints.filter(({ app }) => app === given.app);
    return endpoint(given, own.length > 1 ? `, number ${own.indexOf(given) + 1}` : "");
  }));
  showLetters(deadLetters, deadLetterCount);
  if (problem) throw new Error(problem);
}

/** What an endpoint's webhooks came to: in words, and whether the last attempt failed. */
function endpointState({ delivered, failed, dead, queued = 0, isFailing }) {
  if (isFailing) return ["fails", queued && `${numberText(queued)} waiting`, dead && `${numberText(dead)} given up`].filter(Boolean).join(", ");
  if (!delivered && !failed) return queued ? `${numberText(queued)} waiting` : "nothing sent yet";
  return `works, ${numberText(delivered)} delivered${queued ? `, ${numberText(queued)} waiting` : ""}`;
}

/** An item; the number tells endpoints apart whose URLs differ in what is hidden. */
function endpoint({ app, url, events, prefix, suffix, headers, batching, ...report }, number) {
  const { delivered, failed, dead, queued, lastError, lastErrorTime, isFailing } = report;
  const channels = prefix || suffix ? `${prefix}…${suffix}` : "all";
  return make("li", {}, make("details", {},
    make("summary", {}, make("span", { class: "mono" }, url), make("span", { class: isFailing ? "problem" : "quiet" }, endpointState(report)),
      make("span", { class: "quiet" }, `app ${app}${number}`)),
    definitions([["Events", events.join(", ")], ["Channels", channels],
      ["Fields added", headers.length ? `${headers.join(", ")} (values hidden)` : "none"],
      ["Batching", batching ? "yes" : "no"], ["Delivered", delivered], ["Attempts that failed", failed],
      ["Given up", dead], ["Waiting", queued],
      ["Last error", lastError && `${lastError}, ${timeText(lastErrorTime)}`]])));
}

function showLetters(letters, count) {
  byId("replay-all").hidden = !letters?.length;
  byId("letters").replaceChildren(...(letters ?? []).map(letter));
  byId("letter-count").textContent = letters === undefined
    ? "None are kept: webhooks.database is none, so undelivered webhooks are lost."
    : count === 0 ? "None." : `${plural(count, "dead letter")}${count > letters.length ? `, of which the last ${letters.length} are shown` : ""}.`;
}

function letter({ id, app, url, cause, detail, events, time, givenUp, attempts, isReplayed }) {
  const said = make("output", { "aria-live": "polite" }, isReplayed ? "About to be sent again." : "");
  const change = (path, done) => async () => {
    await ask(`webhooks/${path}`, { method: "POST", body: new URLSearchParams({ id }) });
    said.textContent = done;
  };
  return make("li", {}, make("details", {},
    make("summary", {}, make("time", { datetime: new Date(givenUp).toISOString() }, timeText(givenUp)),
      make("span", { class: "mono" }, url), make("span", { class: "problem" }, detail)),
    definitions([["Number", id], ["App", app], ["Created", timeText(time)], ["Why", `${cause}: ${detail}`], ["Attempts since the broker’s start", attempts]]),
    make("pre", { tabindex: "0", "aria-label": "Events" }, events),
    make("div", { class: "row" },
      actionButton("Send again", "Send it again as a new webhook?", change("replay", "About to be sent again.")),
      actionButton("Delete", "Delete it permanently?", change("delete", "Deleted.")), said)));
}

/** Prepares the view. */
export function startWebhooks() {
  byId("replay-all").append(actionButton("Send all again", "Send all dead letters again?", async () => {
    await ask("webhooks/replay", { method: "POST", body: new URLSearchParams({ all: "1" }) });
    await loadWebhooks();
  }));
  byId("reload-webhooks").addEventListener("click", loadWebhooks);
}
