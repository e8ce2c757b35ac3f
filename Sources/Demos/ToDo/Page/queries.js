// What the two queries give, with this page's own edits that are still on their way: ticked off here, a to-do has
// left the first list at once, though the backend's next result is still to come.

/** Not done, by date; those for some day come last. */
export function openRows(open, done) {
  const rows = [...open, ...missingIn(open, done)].filter(({ isDone }) => !isDone);
  return rows.sort((one, other) =>
    (one.due === null) - (other.due === null) || order(one.due, other.due) || order(one.id, other.id));
}

/** Done, the latest first; one whose time is not known yet has just been done. */
export function doneRows(open, done) {
  const rows = [...done, ...missingIn(done, open)].filter(({ isDone }) => isDone);
  const time = ({ doneAt }) => doneAt ?? "9999";
  return rows.sort((one, other) => order(time(other), time(one)) || order(other.id, one.id));
}

/** The rows of `others` that are not in `rows`: for a moment, both results may have one. */
function missingIn(rows, others) {
  const ids = new Set(rows.map(({ id }) => id));
  return others.filter(({ id }) => !ids.has(id));
}

function order(one, other) {
  return one < other ? -1 : one > other ? 1 : 0;
}
