// What the views of the console share: elements, requests, and copying.

/** The element with an ID. */
export const byId = (id) => document.getElementById(id);

/** Makes an element: `make("p", { class: "quiet" }, "text", child)`. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** Asks the broker; returns the answer, and throws with its text when it refuses. */
export async function ask(path, options = {}) {
  const response = await fetch(`console/${path}`, {
    ...options,
    headers: { "X-Fanfare-Console": "1", ...options.headers },
  });
  if (response.status === 401) location.reload();
  if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
  return response;
}

/** Shows what went wrong, or that nothing does any more. */
export function showProblem(error) {
  byId("problems").hidden = !error;
  byId("problems").textContent = error ? String(error.message ?? error) : "";
}

let copiedTimer;

/** Copies a text, and says so. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  byId("copied").textContent = `${what} copied`;
  clearTimeout(copiedTimer);
  copiedTimer = setTimeout(() => { byId("copied").textContent = ""; }, 2_000);
}

/** Where the page is not from loopback or over TLS, browsers have no clipboard for scripts. */
function copyBySelection(text) {
  const area = make("textarea", { readonly: "", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** A button that asks before it does something: it takes a second press, within some seconds. */
export function actionButton(label, question, action) {
  let timer;
  const reset = () => {
    clearTimeout(timer);
    button.textContent = label;
    button.removeAttribute("data-asks");
  };
  const button = make("button", { type: "button", class: "quiet", onclick: async () => {
    if (!button.dataset.asks) {
      button.dataset.asks = "true";
      button.textContent = question;
      timer = setTimeout(reset, 6_000);
      return;
    }
    reset();
    try {
      await action();
      showProblem(null);
    } catch (error) {
      showProblem(error);
    }
  } }, label);
  return button;
}

/** A list of terms and texts; a term without a text is left out. */
export function definitions(rows) {
  return make("dl", {}, ...rows.filter(([, text]) => text !== undefined)
    .flatMap(([term, text]) => [make("dt", {}, term), make("dd", { class: "mono" }, String(text))]));
}

/** Fills the choices of an app, and hides the field where there is only one. */
export function fillApps(select, apps, all) {
  if (all) select.append(make("option", { value: "" }, all));
  for (const { id, key } of apps) select.append(make("option", { value: id }, id === key ? id : `${id} (${key})`));
  select.closest("label").hidden = apps.length < 2;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const numberText = (number) => (Math.abs(number) < 100 ? fine : whole).format(number);

/** A number with its noun, as "1 channel" or "2 channels". */
export const plural = (count, noun) => `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`;

/** A time of that many microseconds. */
export const millisecondsText = (microseconds) =>
  microseconds > 0 && microseconds < 50 ? "< 0.1 ms" : `${numberText(microseconds / 1_000)} ms`;

/** The name of a client's library: pusher-js calls itself "js". */
export const libraryText = (client) => client?.replace(/^js(?=$|[ /])/, "pusher-js");

/** A link to a view whose form `form` gets these values. */
export const viewLink = (view, form, values, text) => make("button", { type: "button", class: "quiet", onclick: () => {
  byId(form).reset();
  for (const [name, value] of Object.entries(values)) byId(form).elements[name].value = value;
  byId(form).dispatchEvent(new Event("input", { bubbles: true }));
  location.hash = view;
} }, text);

/** The local date and time. */
export const timeText = (milliseconds) => new Date(milliseconds).toLocaleString("sv-SE");

export function bytesText(count) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1_024]]) {
    if (count >= size) return `${fine.format(count / size)} ${unit}`;
  }
  return `${count} B`;
}

/** A text as one word of a POSIX shell. */
export const shellWord = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
