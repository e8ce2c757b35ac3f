/** Timers and clocks of this process, which advance only when they are told to. */
export class Clock {
  #now = 1_000_000;
  #timers = new Map();
  #count = 0;

  constructor() {
    const immediate = setImmediate;
    this.pause = () => new Promise((resume) => immediate(resume));
    Date.now = () => this.#now;
    performance.now = () => this.#now;
    globalThis.setTimeout = (step, time = 0) => {
      this.#count += 1;
      this.#timers.set(this.#count, { step, at: this.#now + Math.max(0, time) });
      return this.#count;
    };
    globalThis.clearTimeout = (number) => this.#timers.delete(number);
    globalThis.setInterval = () => 0;
  }

  clear() {
    this.#timers.clear();
  }

  /** Lets everything happen that needs no time. */
  async settle() {
    do await this.pause(); while (await this.#fire(this.#now));
  }

  async advance(time) {
    const end = this.#now + time;
    await this.settle();
    while (await this.#fire(end)) await this.settle();
    this.#now = end;
    await this.settle();
  }

  /** Advances to the first timer after which the condition holds, or by `timeMax`. */
  async advanceUntil(holds, timeMax) {
    const end = this.#now + timeMax;
    for (await this.settle(); !holds() && (await this.#fire(end)); ) await this.settle();
    if (!holds()) this.#now = end;
  }

  /** Fires the next timer that is due until `end`; returns whether there was one. */
  async #fire(end) {
    const [number, next] = [...this.#timers].sort(([, one], [, other]) => one.at - other.at)[0] ?? [];
    if (!next || next.at > end) return false;
    this.#timers.delete(number);
    this.#now = Math.max(this.#now, next.at);
    next.step();
    return true;
  }
}
