// One row of the list: a checkbox, the title and the due date.

import { dayInWords } from "./days.js";

/** Shows a to-do in its element; returns whether the element has changed. */
export function fillCell(item, toDo) {
  const { text, tone } = dayInWords(toDo.due);
  // The text of a date changes at midnight.
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
