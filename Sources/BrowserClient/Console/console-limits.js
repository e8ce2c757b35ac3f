// The limits: how near each is, and which were met.

import { ask, byId, bytesText, make, numberText, plural, showProblem } from "./console-page.js";

let limits = [];

/** Prepares the view. */
export function startLimits() {
  byId("limits-used").addEventListener("change", draw);
  byId("reload-limits").addEventListener("click", loadLimits);
}

/** Loads the view. */
export async function loadLimits() {
  try {
    ({ limits } = await (await ask("limits")).json());
    showProblem(null);
  } catch (error) {
    showProblem(error);
  }
  draw();
}

/** The part of a limit that is used; null where nothing is counted, or there is no limit. */
const share = ({ used, max }) => (used === undefined || !max ? null : used / max);

function draw() {
  const isOnlyUsed = byId("limits-used").checked;
  const shown = limits.filter((limit) => !isOnlyUsed || limit.count > 0 || limit.used > 0)
    .toSorted((one, other) => (other.count > 0) - (one.count > 0) || (share(other) ?? -1) - (share(one) ?? -1));
  byId("limit-count").textContent = `${plural(shown.length, "limit")} of ${numberText(limits.length)}; `
    + `${numberText(limits.filter(({ count }) => count > 0).length)} reached since the start.`;
  byId("limit-list").replaceChildren(...shown.map(item));
}

function item(limit) {
  const { limit: name, key, value, app, used, max, count, consequence, audience, isBytes } = limit;
  const part = share(limit);
  const text = isBytes ? bytesText : numberText;
  const use = used === undefined ? `limit: ${key.endsWith("_timeout") ? `${value} s` : value}`
    : max === undefined ? `${text(used)}, no limit` : `${text(used)} of ${text(max)}`;
  const meter = part === null ? undefined : make("meter", {
    min: 0, max: 1, high: 0.8, optimum: 0, value: Math.min(1, part), "aria-label": `${key}: ${use}`,
  });
  return make("li", { class: "limit" },
    make("p", { class: "mono key" }, app === undefined ? key : key.replace("apps.N", `apps (${app})`)),
    make("p", { class: "use" }, meter, make("span", {}, use), part === null ? undefined : make("span", { class: "quiet" }, percent(part))),
    make("p", { class: `met ${count ? "problem" : "quiet"}` }, count ? `reached ${plural(count, "time")}` : "never reached"),
    make("p", { class: "quiet effect" }, `${audience}: ${consequence}. `, make("code", {}, name)));
}

const percent = (part) => (part > 0 && part < 0.001 ? "< 0.1 %" : `${numberText(100 * part)} %`);
