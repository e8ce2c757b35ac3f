// Live lists: loaded from the backend, updated by the events of a channel, and edited optimistically.

//     import { LiveList, anchorAt, move } from "/fanfare-live.js";
//
//     const list = new LiveList({ base: "/films/rows", channel: "films" });
//     list.onchange = ({ rows, changes, isOwn }) => …;
//     list.follow(fanfare);
//     list.edit([move(id, anchorAt(list.rows, id, 0))]);
//
// It loads when the subscription is new or after a gap, so a change that the load lacks arrives as an event; what was
// missed during a disconnect arrives without a request. It also loads after a gap in the revisions and when the event of a
// commit does not arrive.

import { Attempts } from "./attempts.js";
import { Bindings } from "./bindings.js";
import { hold } from "./holds.js";
import { ListModel, anchorAt, applied, move, newRowID, put, remove, update } from "./list-model.js";
import { BackendUnavailable, Refused, request } from "./requests.js";
import { rowChanges } from "./row-changes.js";
import { Unsent } from "./unsent.js";
import { uuid } from "./uuid.js";

export { anchorAt, move, newRowID, put, remove, update };
export { Attempts, BackendUnavailable, ListModel, Refused, Unsent, applied, request, rowChanges, uuid };

/** Times in milliseconds. */
const EVENT_TIME_MAX = 2_000;
const GAP_TIME_MAX = 1_000;

/**
 * A list; nothing happens before it is followed, or loaded.
 *
 * Beside `change`, as `onchange`, these events can be bound:
 * - `problem`: `{ kind, error }`, of the kind `load` or `edit`, which is tried again; `error` is null when it is solved
 * - `refused`: `{ error, operations, texts }` of an edit that was reverted, and the texts that it had put into rows
 * - `continuity`: the data of `pusher:continuity`, and the number of `changes` that were missed
 */
export class LiveList extends Bindings {
  /**
   * Called with each change of the rows: `{ rows, changes, operations, isOwn }`. `changes` leads from the
   * previous rows to `rows`; `operations` are those of a local or remote edit, empty after a load.
   */
  onchange = (_update) => {};

  /** What is shown, a new object with each change: `rows`, `isLoaded`, `revision`, `pendingIDs`, and `problems` by kind. */
  view = { rows: [], isLoaded: false, revision: null, pendingIDs: new Set(), problems: {} };

  #base;
  #channelName;
  #request;
  #model = new ListModel();
  /** Unsent edits outlive the page; null before the first load. */
  #unsent = null;
  #followers = 0;
  #unfollow = null;
  /** The position of the channel when the list was last followed. */
  #position = null;

  /**
   * `GET base` returns `{ revision, rows }`, and `POST base/operations` takes `{ mutation, operations }` and returns
   * `{ revision }`. `request(method, url, body)` sends both; it throws `Refused` for what is not to be sent again.
   */
  constructor({ base, channel, request: send = request }) {
    super();
    this.#base = base;
    this.#channelName = channel;
    this.#request = send;
  }

  /** The shown rows. */
  get rows() {
    return this.view.rows;
  }

  get isLoaded() {
    return this.#model.revision !== null;
  }

  get revision() {
    return this.#model.revision;
  }

  /** The ids of the rows with unconfirmed edits. */
  get pendingIDs() {
    return this.#model.pendingIDs;
  }

  row(id) {
    return this.rows.find((row) => row.id === id);
  }

  /**
   * Follows the list's channel until the returned function is called; parts of a page may do so independently.
   *
   * Edits are sent also while nothing follows.
   */
  follow(client) {
    this.#followers += 1;
    this.#unfollow ??= this.#followChannel(client);
    return () => {
      this.#followers -= 1;
      // As a subscription that is held: what is drawn anew leaves the list as it is.
      queueMicrotask(() => {
        if (this.#followers > 0) return;
        this.#unfollow?.();
        this.#unfollow = null;
      });
    };
  }

  #followChannel(client) {
    const { channel, release } = hold(client, this.#channelName);
    let changes = 0;
    const changed = (change, { isMissed }) => {
      if (this.#receive(change) && isMissed) changes += 1;
    };
    const continued = (continuity) => {
      if (continuity.kind !== "resumed") this.load();
      this.emit("continuity", { ...continuity, changes });
      changes = 0;
    };
    channel.bind("list_changed", changed).bind("pusher:continuity", continued);
    const page = new AbortController();
    const { addEventListener, document } = globalThis;
    addEventListener?.("online", () => this.retry(), page);
    document?.addEventListener("visibilitychange", () => !document.hidden && this.retry(), page);
    // Another holder of the channel has kept it, and got the events since.
    const { stream, serial } = channel.position ?? {};
    const isCurrent = this.isLoaded && stream && stream === this.#position?.stream && serial === this.#position.serial;
    if (!isCurrent) this.load();
    return () => {
      this.#position = channel.position;
      channel.unbind("list_changed", changed).unbind("pusher:continuity", continued);
      page.abort();
      release();
    };
  }

  /** Applies a batch of operations immediately and sends it to the backend, unless none of them changes anything. */
  edit(operations) {
    if (!this.isLoaded || !this.#haveEffect(operations)) return;
    this.#model.edit(operations);
    this.#unsent.keep(this.#model.unanswered);
    this.#show(operations, true);
    this.#send();
  }

  #haveEffect(operations) {
    let { rows } = this;
    return operations.some((operation) => {
      const before = rows;
      rows = applied(rows, operation);
      return rows.length !== before.length || !rows.every((row, index) => isSameRow(row, before[index]));
    });
  }

  /** Handles a change; returns whether it is one of others. */
  #receive(change) {
    const operations = this.#model.receive(change);
    if (!this.isLoaded) return false;
    if (this.#model.hasGap) this.load();
    this.#show(operations, operations.length === 0);
    return operations.length > 0;
  }

  #show(operations, isOwn) {
    const { rows } = this.#model;
    const changes = rowChanges(this.rows, rows, isSameRow);
    const { isLoaded, revision, pendingIDs } = this;
    this.view = { ...this.view, rows, isLoaded, revision, pendingIDs };
    this.#changed({ rows, changes, operations, isOwn });
  }

  #changed(update) {
    this.onchange(update);
    this.emit("change", update);
  }

  #showProblem(kind, error) {
    if ((this.view.problems[kind] ?? null) === error) return;
    this.view = { ...this.view, problems: { ...this.view.problems, [kind]: error } };
    this.emit("problem", { kind, error });
  }

  // Loading

  #isLoading = false;
  #mustLoad = false;
  #loads = new Attempts();
  #gapTimer = null;

  /** Loads the list, again after a running load, whose response may be older. */
  async load() {
    if (!this.#unsent) {
      this.#unsent = new Unsent(this.#base, uuid());
      for (const edit of this.#unsent.adopt()) this.#model.restore(edit);
    }
    this.#mustLoad = true;
    this.#loads.hurry();
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      while (this.#mustLoad) await this.#loadOnce();
    } finally {
      this.#isLoading = false;
    }
  }

  async #loadOnce() {
    clearTimeout(this.#gapTimer);
    this.#mustLoad = false;
    const mark = this.#model.mark();
    try {
      this.#model.replace(await this.#request("GET", this.#base), mark);
    } catch (error) {
      this.#showProblem("load", error);
      if (!this.#mustLoad) await this.#loads.pause();
      this.#mustLoad = true;
      return;
    }
    this.#loads.succeeded();
    this.#showProblem("load", null);
    this.#show([], false);
    this.#send();
    if (this.#model.hasGap) this.#gapTimer = setTimeout(() => this.load(), GAP_TIME_MAX);
  }

  /** Retries at once what has failed. */
  retry() {
    if (this.#loads.haveFailed) this.load();
    this.#sends.hurry();
  }

  // Edits are sent one at a time, so that they take effect in order. An edit without an answer is sent again:
  // the backend recognises it by its mutation.

  #isSending = false;
  #sends = new Attempts();

  async #send() {
    if (this.#isSending) return;
    this.#isSending = true;
    let edit;
    while ((edit = this.#model.unanswered[0])) {
      const { mutation, operations } = edit;
      const revisionBefore = this.revision;
      try {
        const { revision } = await this.#request("POST", `${this.#base}/operations`, { mutation, operations });
        this.#sends.succeeded();
        this.#confirm(edit, revision);
        // Its event was lost, or the backend was reset.
        if (revision <= revisionBefore) this.load();
      } catch (error) {
        if (error instanceof Refused) this.#refused(edit, error);
        else await this.#unavailable(error);
      }
      this.#unsent.keep(this.#model.unanswered);
    }
    this.#isSending = false;
    this.#showProblem("edit", null);
  }

  #confirm(edit, revision) {
    this.#model.confirm(edit, revision);
    this.#show([], true);
    // Its event may be lost, or the page has no subscription; one that is about to resume gets it among what it missed.
    setTimeout(() => this.revision < revision && this.load(), EVENT_TIME_MAX);
  }

  #refused(edit, error) {
    this.#model.withdraw(edit);
    this.#show([], true);
    this.emit("refused", { error, operations: edit.operations, texts: textsOf(edit) });
    this.load();
  }

  async #unavailable(error) {
    this.#showProblem("edit", error);
    await this.#sends.pause();
  }
}

/** Returns the texts that an edit has put into rows. */
function textsOf({ operations }) {
  return operations.flatMap(({ row: { id: _, ...fields } = {} }) =>
    Object.values(fields).filter((value) => typeof value === "string" && value));
}

function isSameRow(row, other) {
  if (row === other) return true;
  const names = Object.keys(row);
  return names.length === Object.keys(other).length && names.every((name) => row[name] === other[name]);
}
