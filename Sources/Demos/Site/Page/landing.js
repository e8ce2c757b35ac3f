// The home page: two panes of one demo, the times between them, and a page of one's own that follows the same list.

import { connect } from "/broker.js";
import { element } from "/site.js";

/** Times in milliseconds. */
const ROUND_TRIP_INTERVAL = 3_000;
const CHANGE_TIME_MAX = 10_000;

async function measureRoundTrip(client) {
  const time = await client.ping();
  // A device that slept, or was offline, answers late: that is no round trip.
  if (time !== null && time > ROUND_TRIP_INTERVAL) return;
  element("round-trip").textContent = time === null ? "–" : milliseconds(time);
}

const milliseconds = (time) => `${time < 10 ? time.toFixed(1) : Math.round(time)} ms`;

connect((client) => {
  let timer = null;
  const show = client.onstate;
  client.onstate = (state, detail) => {
    show(state, detail);
    clearInterval(timer);
    element("round-trip").textContent = "–";
    if (state !== "connected") return;
    measureRoundTrip(client);
    timer = setInterval(() => !document.hidden && measureRoundTrip(client), ROUND_TRIP_INTERVAL);
  };
  const url = new URL(client.url);
  showSnippet(url);
  const broker = `${url.protocol === "wss:" ? "https" : "http"}://${url.host}`;
  element("console").href = `${broker}/`;
});

// The way of a change from one pane to the other

/** When each change was made, by its operations. */
const made = new Map();

addEventListener("message", ({ origin, data }) => {
  if (origin !== location.origin || typeof data?.change !== "string") return;
  const now = performance.now();
  for (const [change, time] of made) if (now - time > CHANGE_TIME_MAX) made.delete(change);
  if (data.isOwn) return void made.set(data.change, now);
  if (!made.has(data.change)) return;
  const time = now - made.get(data.change);
  // A pane that was offline shows the change when it is back.
  if (time <= ROUND_TRIP_INTERVAL) element("shown").textContent = milliseconds(time);
  made.delete(data.change);
});

// The snippet

async function showSnippet({ protocol, host }) {
  const { key } = await (await fetch("/config.json")).json();
  const broker = `${protocol === "wss:" ? "https" : "http"}://${host}`;
  element("snippet").textContent = `<script type="module">
  import { Fanfare } from "${broker}/fanfare.js";
  const fanfare = new Fanfare("${key}");
  fanfare.subscribe("userslist")
    .bind("addUser", ({ name }) => document.body.append(name, " "));
  fanfare.connect();
</script>`;
  element("request").textContent = `curl ${location.origin}/add -d name=Ann -d deviceId=curl`;
}

element("copy").addEventListener("click", async () => {
  // Only secure pages may write to the clipboard: elsewhere the snippet is selected.
  try {
    await navigator.clipboard.writeText(element("snippet").textContent);
    element("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(element("snippet"));
  }
});
