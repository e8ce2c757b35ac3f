// The snapshots of one model, for all screens that follow it: fetched at the start and whenever an event lacks
// the model.

import { Attempts } from "/fanfare-live.js";

export class Snapshots {
  /** Called with the error when the model cannot be fetched; null when it can again. */
  onproblem = (_error) => {};

  #fetch;
  #takers = new Set();
  /** `{ revision, model }`; null before the first. */
  #latest = null;

  /** `fetch()` resolves to `{ revision, model }`. */
  constructor(fetch) {
    this.#fetch = fetch;
  }

  get isFollowed() {
    return this.#takers.size > 0;
  }

  /** Calls `take` with the latest and each further snapshot; returns a function that stops this. */
  follow(take) {
    this.#takers.add(take);
    if (this.#latest) take(this.#latest);
    else this.load();
    return () => {
      this.#takers.delete(take);
      // Its attempts end with their pause.
      if (!this.isFollowed) this.#loads.hurry();
    };
  }

  /** Handles an event: `{ revision }`, with the `model` if it is small; returns whether it is news. */
  receive(event) {
    const { revision } = event ?? {};
    // Other publishers may send any data.
    if (!Number.isSafeInteger(revision) || revision === this.#latest?.revision) return false;
    // An older one is late, or the store was reset: fetch to find out.
    const isNewer = this.#latest === null || revision > this.#latest.revision;
    if (isNewer && "model" in event) this.#give({ revision, model: event.model });
    else this.load();
    return true;
  }

  #give(snapshot) {
    this.#latest = snapshot;
    for (const take of [...this.#takers]) take(snapshot);
  }

  // Fetching

  #isLoading = false;
  #mustLoad = false;
  #loads = new Attempts();

  /** Fetches the model, again after a running request, whose response may be older. */
  async load() {
    this.#mustLoad = true;
    this.#loads.hurry();
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      while (this.#mustLoad && this.isFollowed) await this.#loadOnce();
    } finally {
      this.#isLoading = false;
    }
  }

  async #loadOnce() {
    this.#mustLoad = false;
    const revisionBefore = this.#latest?.revision ?? 0;
    try {
      const snapshot = await this.#fetch();
      this.#loads.succeeded();
      this.onproblem(null);
      // Older than an event, unless the store was reset.
      const isOvertaken = snapshot.revision >= revisionBefore && snapshot.revision < (this.#latest?.revision ?? 0);
      if (!isOvertaken) this.#give(snapshot);
    } catch (error) {
      if (!this.isFollowed) return;
      this.onproblem(error);
      for (const take of [...this.#takers]) take({ error });
      if (!this.#mustLoad) await this.#loads.pause();
      this.#mustLoad = true;
    }
  }
}
