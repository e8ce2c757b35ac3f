// One row of the list: a box to tick, what is to be done, and by when.

import { dayInWords } from "./days.js";

/** Writes a to-do into its element; one that shows it already is left alone. Says whether it was touched. */
export function fillCell(item, toDo) {
  const { text, tone } = dayInWords(toDo.due);
  // The day's words change at midnight.
  const shown = JSON.stringify([toDo.title, toDo.isDone, text]);
  if (item.dataset.shown === shown) return false;
  item.dataset.shown = shown;
  const check = item.querySelector(".check");
  check.checked = toDo.isDone;
  check.setAttribute("aria-label", `Done: ${toDo.title}`);
  item.querySelector(".name").textContent = toDo.title;
  item.querySelector(".edit").setAttribute("aria-label", `Edit ${toDo.title}, ${text}`);
  const due = item.querySelector(".due");
  due.textContent = text;
  due.dataset.tone = toDo.isDone ? "" : tone;
  item.querySelector(".remove").setAttribute("aria-label", `Delete ${toDo.title}`);
  return true;
}
