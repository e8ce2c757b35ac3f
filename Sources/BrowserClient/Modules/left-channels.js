/** The maximum number of channels that are kept; the oldest go first. */
const LEFT_MAX = 100;

/**
 * What a client keeps of the channels that it has left, for a time: a subscription within it continues there, and its events
 * are those since. Pages leave a channel and subscribe to it again whenever a part of them is drawn anew.
 */
export class LeftChannels {
  /** In milliseconds; 0 keeps nothing. */
  #grace;
  #channels = new Map();

  constructor(grace) {
    this.#grace = grace;
  }

  /** Keeps a channel's `tracking` and `signature`. */
  keep(name, left) {
    const now = Date.now();
    this.#channels.delete(name);
    if (this.#grace > 0) this.#channels.set(name, { ...left, end: now + this.#grace });
    for (const [oldest, { end }] of this.#channels) {
      if (end > now && this.#channels.size <= LEFT_MAX) break;
      this.#channels.delete(oldest);
    }
  }

  /** Returns what is kept of a channel; undefined if there is nothing, or not any more. */
  get(name) {
    const left = this.#channels.get(name);
    return left && left.end > Date.now() ? left : undefined;
  }

  /** Returns what is kept of a channel, and forgets it. */
  take(name) {
    const left = this.get(name);
    this.#channels.delete(name);
    return left;
  }
}
