// The changes from one list of sections to another: inserted, deleted and moved sections and, within the remaining
// ones, inserted, deleted, moved and updated cells.
//
// A section is `{ id, title, cells }`, a cell `{ id, kind, … }` of plain values.

import { rowChanges } from "/fanfare-live.js";

/** Returns `{ sections, cells }`: the `rowChanges` of the sections, and of the cells by section id. */
export function sectionChanges(before, after) {
  const cellsBefore = new Map(before.map(({ id, cells }) => [id, cells]));
  return {
    sections: rowChanges(before, after, (section, other) => section.title === other.title),
    cells: new Map(after.map(({ id, cells }) =>
      [id, rowChanges(cellsBefore.get(id) ?? [], cells, isSameCell)])),
  };
}

/** Returns the numbers of changed and unchanged cells of the changes to `after`. */
export function countOf(before, after, { sections, cells }) {
  const sum = (counts) => counts.reduce((total, count) => total + count, 0);
  const all = [...cells.values()];
  const inserted = sum(all.map(({ inserts }) => inserts.length));
  const gone = sum(sections.deletes.map((index) => before[index].cells.length));
  const removed = sum(all.map(({ deletes }) => deletes.length)) + gone;
  const updated = sum(all.map(({ updates, moves }) =>
    new Set([...updates, ...moves.map(({ to }) => to)]).size));
  const untouched = sum(after.map((section) => section.cells.length)) - inserted - updated;
  return { inserted, updated, removed, untouched };
}

function isSameCell(cell, other) {
  return cell === other || JSON.stringify(cell) === JSON.stringify(other);
}
