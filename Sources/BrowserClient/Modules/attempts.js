// The attempts of a page to reach a server: each one that fails is followed by a longer pause, up to eight seconds.
//
//     const attempts = new Attempts();
//     for (;;) {
//       try {
//         await request("GET", "messages");
//         attempts.succeeded();
//         break;
//       } catch {
//         await attempts.pause();
//       }
//     }
//
// `attempts.hurry()` ends the pause, when the user asks for it or the network is there again.

/** Times in milliseconds. */
const PAUSES = [1_000, 2_000, 4_000, 8_000];

export class Attempts {
  /** Since the last success. */
  #failures = 0;
  #resume = () => {};

  get haveFailed() {
    return this.#failures > 0;
  }

  succeeded() {
    this.#failures = 0;
  }

  /** Counts a failure; returns the time until the next attempt, in milliseconds. */
  failed() {
    this.#failures += 1;
    return PAUSES[Math.min(this.#failures, PAUSES.length) - 1];
  }

  /** Counts a failure, and waits until the next attempt. */
  async pause() {
    const time = this.failed();
    await new Promise((resume) => {
      this.#resume = resume;
      setTimeout(resume, time);
    });
  }

  /** Ends the pause, if there is one. */
  hurry() {
    this.#resume();
  }
}
