// The results of the two queries with this page's unconfirmed edits: a completed to-do leaves the first list
// immediately, before the backend's next result.

/** Returns the open to-dos by date; those without a date are last. */
export function openRows(open, done) {
  const rows = [...open, ...missingIn(open, done)].filter(({ isDone }) => !isDone);
  return rows.sort((one, other) =>
    (one.due === null) - (other.due === null) || order(one.due, other.due) || order(one.id, other.id));
}

/** Returns the done to-dos, latest first; one without a time was just completed. */
export function doneRows(open, done) {
  const rows = [...done, ...missingIn(done, open)].filter(({ isDone }) => isDone);
  const time = ({ doneAt }) => doneAt ?? "9999";
  return rows.sort((one, other) => order(time(other), time(one)) || order(other.id, one.id));
}

/** Returns the rows of `others` that are not in `rows`: both results may briefly contain a row. */
function missingIn(rows, others) {
  const ids = new Set(rows.map(({ id }) => id));
  return others.filter(({ id }) => !ids.has(id));
}

function order(one, other) {
  return one < other ? -1 : one > other ? 1 : 0;
}
