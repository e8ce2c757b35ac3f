// Relative dates.

const DAY = 86_400_000;  // milliseconds

/** Returns the local date, as `2026-01-31`. */
export function today() {
  const now = new Date();
  return new Date(now - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/** Returns `{ text, tone }`; the tone is `late`, `now`, `soon`, or empty. */
export function dayInWords(due, from = today()) {
  if (due === null) return { text: "Some day", tone: "" };
  const distance = Math.round((Date.parse(due) - Date.parse(from)) / DAY);
  if (distance < -1) return { text: `${-distance} days late`, tone: "late" };
  if (distance === -1) return { text: "Yesterday", tone: "late" };
  if (distance === 0) return { text: "Today", tone: "now" };
  if (distance === 1) return { text: "Tomorrow", tone: "soon" };
  const isNear = distance < 7;
  const isSameYear = due.slice(0, 4) === from.slice(0, 4);
  const format = isNear ? { weekday: "long" } : { day: "numeric", month: "short", year: isSameYear ? undefined : "numeric" };
  return { text: new Date(`${due}T12:00`).toLocaleDateString("en-GB", format), tone: isNear ? "soon" : "" };
}
