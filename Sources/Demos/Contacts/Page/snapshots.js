// The snapshots of one model, for all screens that follow it: fetched at the beginning, and again whenever an
// event tells of a new one that it does not carry.

/** Times in milliseconds. */
const RETRY_PAUSES = [1_000, 2_000, 4_000, 8_000];

export class Snapshots {
  /** Hears what keeps the model from being fetched; null when nothing does any more. */
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

  /** Calls `take` with each snapshot, and with the latest if there is one; returns what ends that. */
  follow(take) {
    this.#takers.add(take);
    if (this.#latest) take(this.#latest);
    else this.load();
    return () => {
      this.#takers.delete(take);
      if (!this.isFollowed) clearTimeout(this.#timer);
    };
  }

  /** Takes an event: `{ revision }`, with the `model` if it is small. */
  receive(event) {
    const { revision } = event ?? {};
    // Anybody who may publish can send anything.
    if (!Number.isSafeInteger(revision) || revision === this.#latest?.revision) return;
    // One that is older comes late, or from a store that has begun anew: only the store can tell.
    const isNewer = this.#latest === null || revision > this.#latest.revision;
    if (isNewer && "model" in event) this.#give({ revision, model: event.model });
    else this.load();
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

  /** Fetches the model as it is from now on: what is under way may have been answered before. */
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
      // Overtaken by an event, unless the store has begun anew.
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
