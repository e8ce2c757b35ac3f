// The configuration in force; the broker has hidden its secrets.

import { ask, byId, make, plural, showProblem } from "./console-page.js";

let settings = [];

/** Prepares the view. */
export function startConfiguration() {
  const form = byId("configuration-search");
  form.addEventListener("input", draw);
  form.addEventListener("submit", (event) => event.preventDefault());
}

/** Loads the view. */
export async function loadConfiguration() {
  try {
    ({ settings } = await (await ask("configuration")).json());
    showProblem(null);
  } catch (error) {
    showProblem(error);
  }
  draw();
}

function draw() {
  const { key: part, changed } = Object.fromEntries(new FormData(byId("configuration-search")));
  const shown = settings.filter(({ key, isDefault }) => key.includes(part) && !(changed && isDefault));
  byId("setting-count").textContent = `${plural(shown.length, "key")} of ${settings.length}.`;
  byId("settings").hidden = shown.length === 0;
  byId("settings").tBodies[0].replaceChildren(...shown.map(({ key, value, isDefault }) =>
    make("tr", { class: isDefault ? "quiet" : undefined },
      make("th", { scope: "row", class: "mono" }, key),
      make("td", { class: "mono" }, value),
      make("td", {}, isDefault ? "default" : "set"))));
}
