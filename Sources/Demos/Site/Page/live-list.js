// A list that is loaded from the backend, updated by the events of its channel, and edited optimistically.
//
//     const list = new LiveList({ base: "/films/rows", channel: "films" });
//     list.onchange = ({ rows, changes, isOwn }) => …;
//     connect((client) => list.follow(client));
//     list.edit([move(id, anchorAt(list.rows, id, 0))]);
//
// It loads when the subscription is new or behind a gap, so a change that the load lacks arrives as an event; what was
// missed behind a cut arrives without a request. It also loads after a gap in the revisions and when the event of a
// commit does not arrive.

import { Attempts } from "./attempts.js";
import { Refused, request } from "./backend.js";
import { ListModel } from "./list-model.js";
import { pageID } from "./me.js";
import { rowChanges } from "./row-changes.js";
import { handBack, showContinuity, showProblem } from "./site.js";
import { Unsent } from "./unsent.js";

export { anchorAt, move, newRowID, put, remove, update } from "./list-model.js";

/** Times in milliseconds. */
const EVENT_TIME_MAX = 2_000;
const GAP_TIME_MAX = 1_000;

export class LiveList {
  /**
   * Called with each change of the rows: `{ rows, changes, operations, isOwn }`. `changes` leads from the
   * previous rows to `rows`; `operations` are those of a local or remote edit, empty after a load.
   */
  onchange = (_update) => {};

  #base;
  #channelName;
  #model = new ListModel();
  #shown = [];
  /** Unsent edits outlive the page. */
  #unsent;

  constructor({ base, channel }) {
    this.#base = base;
    this.#unsent = new Unsent(base, pageID);
    this.#channelName = channel;
    addEventListener("online", () => this.#wakeUp());
    document.addEventListener("visibilitychange", () => !document.hidden && this.#wakeUp());
    for (const edit of this.#unsent.adopt()) this.#model.restore(edit);
    this.load();
  }

  /** The shown rows. */
  get rows() {
    return this.#shown;
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
    return this.#shown.find((row) => row.id === id);
  }

  /** Subscribes to the list's channel and returns it. */
  follow(client) {
    const channel = client.subscribe(this.#channelName);
    let missed = 0;
    channel.bind("list_changed", (change, { isMissed }) => {
      if (this.#receive(change) && isMissed) missed += 1;
    });
    channel.bind("pusher:continuity", (continuity) => {
      if (continuity.kind !== "resumed") this.load();
      showContinuity(continuity, missed);
      missed = 0;
    });
    return channel;
  }

  /** Applies a batch of operations immediately and sends it to the backend. */
  edit(operations) {
    if (!this.isLoaded || operations.length === 0) return;
    this.#model.edit(operations);
    this.#unsent.keep(this.#model.unanswered);
    this.#show(operations, true);
    this.#send();
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
    const rows = this.#model.rows;
    const changes = rowChanges(this.#shown, rows, isSameRow);
    this.#shown = rows;
    this.onchange({ rows, changes, operations, isOwn });
  }

  // Loading

  #isLoading = false;
  #mustLoad = false;
  #loads = new Attempts();
  #gapTimer = null;

  /** Loads the list, again after a running load, whose response may be older. */
  async load() {
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
      this.#model.replace(await request("GET", this.#base), mark);
    } catch (error) {
      showProblem("backend", "The list cannot be loaded.", `${error.message} Retrying …`, () => this.load());
      if (!this.#mustLoad) await this.#loads.pause();
      this.#mustLoad = true;
      return;
    }
    this.#loads.succeeded();
    showProblem("backend", "", null);
    this.#show([], false);
    this.#send();
    if (this.#model.hasGap) this.#gapTimer = setTimeout(() => this.load(), GAP_TIME_MAX);
  }

  /** Retries at once what has failed. */
  #wakeUp() {
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
        const { revision } = await request("POST", `${this.#base}/operations`, { mutation, operations });
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
    showProblem("edit", "", null);
    this.#isSending = false;
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
    handBack(error.message, textsOf(edit));
    this.load();
  }

  async #unavailable({ message }) {
    showProblem("edit", "Your changes are not saved yet.", `${message} Retrying …`, () => this.#sends.hurry());
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
