// A live list as one page knows it, without any I/O: what the server has said, and on top of it this page's own
// edits that the server has not confirmed yet. What is shown is the second played over the first, so an edit is
// seen at once, and one that is refused takes itself back.
//
// Rows have an `id`, made by who makes the row. Places are named by the row before them, never by an index.

import { uuid } from "./me.js";

/** The most changes that are kept for later because an earlier one is missing. */
const EARLY_MAX = 200;

// The operations of an edit

/** A new row, or an existing one that is replaced and moved; `after` is an id, or null for the first place. */
export const put = (row, after) => ({ op: "put", row, after });
export const move = (id, after) => ({ op: "move", id, after });
/** A row of which only the id and some fields are given keeps the others. */
export const update = (row) => ({ op: "update", row });
export const remove = (id) => ({ op: "remove", id });

/** An integer for a new row: 2³² and more, so that two makers hardly draw the same. */
export function newRowID() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (1 + (high % (2 ** 21 - 1))) * 2 ** 32 + low;
}

/** The anchor of a row that is to be at `index` of `rows`: the row that it then stands behind, or null. */
export function anchorAt(rows, id, index) {
  const others = rows.filter((row) => row.id !== id);
  return others[Math.min(index, others.length) - 1]?.id ?? null;
}

/** `rows` with one operation applied. */
export function applied(rows, { op, id, row, after }) {
  const index = rows.findIndex((other) => other.id === (id ?? row.id));
  switch (op) {
    case "update":
      return index < 0 ? rows : rows.with(index, { ...rows[index], ...row });
    case "remove":
      return index < 0 ? rows : rows.toSpliced(index, 1);
    case "move":
      return index < 0 ? rows : placed(rows, rows[index], after, index);
    case "put":
      return placed(rows, row, after, rows.length);
    default:
      return rows;
  }
}

/** Puts a row behind its anchor; at `otherwise`, an index of `rows`, when the anchor is not there. */
function placed(rows, row, after, otherwise) {
  const others = rows.filter(({ id }) => id !== row.id);
  const anchor = others.findIndex(({ id }) => id === after);
  const index = after === null ? 0 : anchor < 0 ? Math.min(otherwise, others.length) : anchor + 1;
  return others.toSpliced(index, 0, row);
}

export class ListModel {
  /** The revision that the server's rows are of; null before they are loaded. */
  revision = null;
  #rows = [];
  /** Own edits in the order in which they were made: `{ mutation, operations, revision }`. */
  #edits = [];
  /** Changes that came before those that they follow, by revision. */
  #early = new Map();

  /** The rows to show, first row first. */
  get rows() {
    return this.#edits.flatMap(({ operations }) => operations).reduce(applied, this.#rows);
  }

  /** The ids of the rows that an unconfirmed edit of this page has touched. */
  get pendingIDs() {
    return new Set(this.#edits.flatMap(({ operations }) => operations.map(({ id, row }) => id ?? row.id)));
  }

  /** Own edits that the server has not answered, the oldest first. */
  get unanswered() {
    return this.#edits.filter(({ revision }) => revision === null);
  }

  /** Whether a change is known that follows one which is missing: then the list must be loaded. */
  get hasGap() {
    return this.#early.size > 0;
  }

  // What the server says

  /** What is known when the server is asked for a snapshot; for `replace`. */
  mark() {
    return { revision: this.revision, early: [...this.#early.keys()] };
  }

  /**
   * Takes a snapshot that was asked for when `mark` was made.
   *
   * One that is older than what is known by now was overtaken by changes, and is of no use. One that is older than
   * what was known then comes from a server that has begun anew: then that is the truth.
   */
  replace({ revision, rows }, mark) {
    const isAnew = mark.revision !== null && revision < mark.revision;
    if (!isAnew && this.revision !== null && revision < this.revision) return;
    // The server had made these when it was asked: what its snapshot does not have, it never said.
    for (const early of isAnew ? this.#early.keys() : mark.early) this.#early.delete(early);
    this.#edits = this.#edits.filter((edit) => edit.revision === null || (!isAnew && edit.revision > revision));
    this.#rows = rows;
    this.revision = revision;
    this.#catchUp();
  }

  /** Takes a change, and returns the operations of others that are applied now; more than its own after a gap. */
  receive(change) {
    const isNew = this.revision === null || change?.revision > this.revision;
    if (!isChange(change) || !isNew || this.#early.size >= EARLY_MAX) return [];
    this.#early.set(change.revision, change);
    return this.#catchUp();
  }

  /** Applies the changes that fit, and forgets those that are known already. */
  #catchUp() {
    if (this.revision === null) return [];
    for (const revision of this.#early.keys()) {
      if (revision <= this.revision) this.#early.delete(revision);
    }
    const operations = [];
    for (let change; (change = this.#early.get(this.revision + 1)); ) {
      this.#early.delete(change.revision);
      this.#rows = change.operations.reduce(applied, this.#rows);
      this.revision = change.revision;
      const isOwn = this.#edits.some(({ mutation }) => mutation === change.mutation);
      if (!isOwn) operations.push(...change.operations);
      this.#edits = this.#edits.filter((edit) =>
        edit.mutation !== change.mutation && !(edit.revision !== null && edit.revision <= this.revision));
    }
    return operations;
  }

  // What this page does

  /** Makes an edit, which the server is then to confirm. */
  edit(operations) {
    const edit = { mutation: uuid(), operations, revision: null };
    this.#edits = [...this.#edits, edit];
    return edit;
  }

  /** Makes an edit again that was made before the page was loaded, under its name. */
  restore({ mutation, operations }) {
    this.#edits = [...this.#edits, { mutation, operations, revision: null }];
  }

  /** The server has committed the edit as `revision`; its change, or the next snapshot, will bring it. */
  confirm(edit, revision) {
    edit.revision = revision;
    if (this.revision !== null && revision <= this.revision) this.withdraw(edit);
  }

  /** The server has refused the edit. */
  withdraw(edit) {
    this.#edits = this.#edits.filter((other) => other !== edit);
  }
}

/** Anybody who may publish can send anything. */
function isChange(change) {
  return Number.isSafeInteger(change?.revision) && Array.isArray(change.operations)
    && change.operations.every((operation) => (operation?.id ?? operation?.row?.id) !== undefined);
}
