// The messages of all pages: the state of the connection, problems and notices.
// A page must have the elements #connection, #problems, #notices and #spoken.

const NOTICE_TIME = 5_000;  // milliseconds

export const element = (id) => document.getElementById(id);

/** Shows a problem until it is solved; `text` null removes it. */
export function showProblem(name, title, text, action) {
  let box = document.querySelector(`[data-problem="${name}"]`);
  if (text === null) return box?.remove();
  if (!box) {
    box = document.createElement("div");
    box.className = "problem";
    box.dataset.problem = name;
    box.innerHTML = "<p><strong></strong> <span></span></p><button type=button>Try now</button>";
    element("problems").append(box);
  }
  box.querySelector("strong").textContent = title;
  box.querySelector("span").textContent = text;
  box.querySelector("button").onclick = action;
}

/** Shows a temporary notice. */
export function notice(text) {
  const box = document.createElement("div");
  box.className = "notice";
  box.textContent = text;
  element("notices").append(box);
  setTimeout(() => box.remove(), NOTICE_TIME);
}

/** Announces a change to screen readers. */
export function speak(text) {
  element("spoken").textContent = text;
}

/** Tells what has happened to a page that was away; `changes` is the number of the changes of others that arrived. */
export function showContinuity({ kind, reason, missed }, changes) {
  if (kind === "resumed" && changes > 0) notice(`${count(changes, "change")} while you were away.`);
  if (kind !== "gap") return;
  const cause = reason === "unknown_stream" ? "The broker has lost its history" : "History expired";
  notice(`${cause}, loaded anew${missed === null ? "" : ` (${count(missed, "event")} missed)`}.`);
}

const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

const STATES = { connecting: "Connecting", connected: "Live", waiting: "Reconnecting", stopped: "Not live" };

/** Shows the state of the connection to the broker. */
export function showConnection(client, state, { reason } = {}) {
  const connection = element("connection");
  // Keeps the text during retries, to avoid flicker.
  const isRetry = state === "connecting" && connection.dataset.state === "waiting";
  if (!isRetry) {
    connection.dataset.state = state;
    connection.textContent = STATES[state];
  }
  const because = reason ? ` (${reason})` : "";
  if (state === "connected") showProblem("broker", "", null);
  if (state === "waiting") {
    showProblem("broker", "Live updates are paused.",
      `The broker at ${client.url} cannot be reached${because}. Retrying …`, () => client.connect());
  }
  if (state === "stopped") {
    showProblem("broker", "Live updates have stopped.",
      `The broker at ${client.url} refused this page${because}.`, () => client.connect());
  }
}
