// The snapshots of one model, for all screens that follow it: fetched at the start and whenever an event lacks
// the model.

/** Times in milliseconds. */
const RETRY_PAUSES = [1_000, 2_000, 4_000, 8_000];

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
      if (!this.isFollowed) clearTimeout(this.#timer);
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
  #mustLoadAgain = false;
  #failures = 0;
  #timer = null;

  /** Fetches the model, again after a running request, whose response may be older. */
  load() {
    clearTimeout(this.#timer);
    this.#mustLoadAgain = this.#isLoading;
    if (this.#isLoading) return;
    this.#isLoading = true;
    this.#loadOnce().finally(() => {
      this.#isLoading = false;
      if (this.#mustLoadAgain && this.isFollowed) this.load();
    });
  }

  async #loadOnce() {
    const revisionBefore = this.#latest?.revision ?? 0;
    try {
      const snapshot = await this.#fetch();
      this.#failures = 0;
      this.onproblem(null);
      // Older than an event, unless the store was reset.
      const isOvertaken = snapshot.revision >= revisionBefore && snapshot.revision < (this.#latest?.revision ?? 0);
      if (!isOvertaken) this.#give(snapshot);
    } catch (error) {
      if (!this.isFollowed) return;
      const pause = RETRY_PAUSES[Math.min(this.#failures, RETRY_PAUSES.length - 1)];
      this.#failures += 1;
      this.#timer = setTimeout(() => this.load(), pause);
      this.onproblem(error);
      for (const take of [...this.#takers]) take({ error });
    }
  }
}
