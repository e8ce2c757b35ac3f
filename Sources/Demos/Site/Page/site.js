// The messages of all pages: the state of the connection, problems and notices.
// A page must have the elements #connection, #problems, #notices and #spoken; #offline is its button to go offline.

const NOTICE_TIME = 8_000;  // milliseconds

export const element = (id) => document.getElementById(id);

/** Shows a problem until it is solved; `text` null removes it. `action` tries again, where that can help. */
export function showProblem(name, title, text, action) {
  let box = problemBox(name);
  if (text === null) {
    box?.remove();
    return showState();
  }
  if (!box) {
    box = document.createElement("div");
    box.className = "problem";
    box.dataset.problem = name;
    box.innerHTML = "<p><strong></strong> <span></span></p><button type=button>Try now</button>";
    element("problems").append(box);
  }
  box.querySelector("strong").textContent = title;
  box.querySelector("span").textContent = text;
  const button = box.querySelector("button");
  button.onclick = () => {
    // Replaced by the outcome; without it nothing would seem to happen while the network is away.
    box.querySelector("span").textContent = "Trying now …";
    action();
  };
  button.hidden = !action;
  showState();
}

const problemBox = (name) => document.querySelector(`[data-problem="${name}"]`);

/** Returns to the user what the backend has refused to take: shown until it is dismissed, to be copied. */
export function handBack(reason, texts) {
  if (texts.length === 0) return notice(reason);
  const box = document.createElement("div");
  box.className = "problem refused";
  box.innerHTML = "<p><strong></strong> What you had entered:</p><textarea readonly rows=3></textarea><button type=button>Dismiss</button>";
  box.querySelector("strong").textContent = reason;
  const field = box.querySelector("textarea");
  field.value = texts.join("\n");
  field.setAttribute("aria-label", "What you had entered");
  field.onfocus = () => field.select();
  box.querySelector("button").onclick = () => box.remove();
  element("problems").append(box);
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
  notice(`${cause}, reloaded${missed === null ? "" : ` (${count(missed, "event")} missed)`}.`);
}

const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

const STATES = {
  connecting: "Connecting", connected: "Live", waiting: "Reconnecting", suspended: "Offline", stopped: "Not live",
};
/** What a connected page says in the place of "Live" while one of these problems is shown. */
const DOUBTS = { edit: "Not saved", backend: "Out of date" };

/** The state of the connection to the broker; null before the first. */
let state = null;

function showState() {
  if (state === null) return;
  const problem = state === "connected" && Object.keys(DOUBTS).find((name) => problemBox(name));
  const connection = element("connection");
  connection.dataset.state = problem ? "doubtful" : state;
  connection.textContent = problem ? DOUBTS[problem] : STATES[state];
}

/** Shows the state of the connection to the broker. */
export function showConnection(client, current, { reason } = {}) {
  // Keeps the text during retries, to avoid flicker.
  const isRetry = current === "connecting" && state === "waiting";
  if (!isRetry) {
    state = current;
    showState();
  }
  const because = reason ? ` (${reason})` : "";
  if (current === "connected" || current === "suspended") showProblem("broker", "", null);
  if (current === "waiting") {
    showProblem("broker", "Live updates are paused.",
      `The broker at ${client.url} cannot be reached${because}. Retrying …`, () => client.connect());
  }
  if (current === "stopped") {
    showProblem("broker", "Live updates have stopped.",
      `The broker at ${client.url} refused this page${because}.`, () => client.connect());
  }
}

// One of the two panes of the home page shows the demo without its title.
if (new URLSearchParams(location.search).has("pane")) document.documentElement.classList.add("pane");
