// The state of a live list, without I/O: the server's rows and, on top of them, this page's unconfirmed edits. An
// edit shows immediately; a refused one is reverted.
//
// Rows have an `id`, created by the client that adds the row. Positions are given by the row before, never by index.

import { uuid } from "./uuid.js";

/** The maximum number of changes buffered because an earlier one is missing. */
const EARLY_MAX = 200;

// The operations of an edit

/** Inserts a row, or replaces and moves an existing one; `after` is an id, or null for the first position. */
export const put = (row, after) => ({ op: "put", row, after });
export const move = (id, after) => ({ op: "move", id, after });
/** Updates the given fields of the row; the others stay. */
export const update = (row) => ({ op: "update", row });
export const remove = (id) => ({ op: "remove", id });

/** Returns an id for a new row: a random integer from 2³² on, to avoid collisions. */
export function newRowID() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (1 + (high % (2 ** 21 - 1))) * 2 ** 32 + low;
}

/** Returns the anchor of a row at `index` of `rows`: the id of the row before it, or null. */
export function anchorAt(rows, id, index) {
  const others = rows.filter((row) => row.id !== id);
  return others[Math.min(index, others.length) - 1]?.id ?? null;
}

/** Returns `rows` with one operation applied. */
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
      return placed(rows, row, after, index >= 0 && after === row.id ? index : rows.length);
    default:
      return rows;
  }
}

/** Puts a row behind its anchor; at the index `otherwise` when the anchor does not exist. */
function placed(rows, row, after, otherwise) {
  const others = rows.filter(({ id }) => id !== row.id);
  const anchor = others.findIndex(({ id }) => id === after);
  const index = after === null ? 0 : anchor < 0 ? Math.min(otherwise, others.length) : anchor + 1;
  return others.toSpliced(index, 0, row);
}

export class ListModel {
  /** The revision of the server's rows; null before they are loaded. */
  revision = null;
  #rows = [];
  /** The unconfirmed edits, in order: `{ mutation, operations, revision }`. */
  #edits = [];
  /** Changes that arrived before earlier ones, by revision. */
  #early = new Map();

  /** The rows to show. */
  get rows() {
    return this.#edits.flatMap(({ operations }) => operations).reduce(applied, this.#rows);
  }

  /** The ids of the rows with unconfirmed edits. */
  get pendingIDs() {
    return new Set(this.#edits.flatMap(({ operations }) => operations.map(({ id, row }) => id ?? row.id)));
  }

  /** The edits that the server has not answered, oldest first. */
  get unanswered() {
    return this.#edits.filter(({ revision }) => revision === null);
  }

  /** Whether a change is missing; then the list must be loaded. */
  get hasGap() {
    return this.#early.size > 0;
  }

  // Input from the server

  /** Returns the state before a snapshot is requested, for `replace`. */
  mark() {
    return { revision: this.revision, early: [...this.#early.keys()] };
  }

  /**
   * Applies a snapshot that was requested after `mark`.
   *
   * One older than the current revision is obsolete. One older than the revision of `mark` comes from a server that
   * was reset, and is applied.
   */
  replace({ revision, rows }, mark) {
    const isReset = mark.revision !== null && revision < mark.revision;
    if (!isReset && this.revision !== null && revision < this.revision) return;
    // Changes received before the request must be in the snapshot; others were not from this server.
    for (const early of isReset ? this.#early.keys() : mark.early) this.#early.delete(early);
    this.#edits = this.#edits.filter((edit) => edit.revision === null || (!isReset && edit.revision > revision));
    this.#rows = rows;
    this.revision = revision;
    this.#catchUp();
  }

  /** Handles a change; returns the applied operations of other clients, also of buffered changes. */
  receive(change) {
    const isNew = this.revision === null || change?.revision > this.revision;
    if (!isChange(change) || !isNew || this.#early.size >= EARLY_MAX) return [];
    this.#early.set(change.revision, change);
    return this.#catchUp();
  }

  /** Applies the buffered changes that follow, and removes known ones. */
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

  // Edits

  /** Applies an edit, which the server must confirm. */
  edit(operations) {
    const edit = { mutation: uuid(), operations, revision: null };
    this.#edits = [...this.#edits, edit];
    return edit;
  }

  /** Applies an edit of an earlier load of the page, with its identifier. */
  restore({ mutation, operations }) {
    // Kept by two pages, if one had adopted the other's.
    if (this.#edits.some((edit) => edit.mutation === mutation)) return;
    this.#edits = [...this.#edits, { mutation, operations, revision: null }];
  }

  /** The server has committed the edit as `revision`; its change or the next snapshot contains it. */
  confirm(edit, revision) {
    edit.revision = revision;
    if (this.revision !== null && revision <= this.revision) this.withdraw(edit);
  }

  /** The server has refused the edit. */
  withdraw(edit) {
    this.#edits = this.#edits.filter((other) => other !== edit);
  }
}

/** Validates a change: other publishers may send any data. */
function isChange(change) {
  return Number.isSafeInteger(change?.revision) && Array.isArray(change.operations)
    && change.operations.every((operation) => (operation?.id ?? operation?.row?.id) !== undefined);
}
