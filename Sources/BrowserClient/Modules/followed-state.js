import { pause, pauseBefore } from "./pauses.js";
import { isPosition } from "./tracking.js";

/** The maximum number of events that wait for a state. */
const WAITING_MAX = 10_000;

/**
 * The state of an app that a channel's events follow.
 *
 * `load(continuity)` gets and shows the state; it may return its position. It is called when nothing was recovered.
 * Events that arrive meanwhile wait, and are applied behind the state. A state that fails to load is loaded again.
 */
export class FollowedState {
  // "waiting" for the first acknowledgement, "loading", or "live".
  #phase = "waiting";
  #load;
  #channel;
  /** Whether the app has the state of the position that it subscribed from. */
  #hasState;
  /** The position of what the page shows while the phase is not "live"; null before the first state. */
  #shown;
  #waiting = [];
  /** The position behind which the waiting events begin; null where there are no positions. */
  #start = null;
  /** The position of a loaded state; events up to it are in the state. */
  #loaded = null;
  #continuity = null;
  #isRunning = false;
  #isObsolete = false;
  #failures = 0;

  /** `channel` has `position()`, `resubscribe(position)`, `apply(event)` and `failed(error)`. */
  constructor(load, channel, { isSubscribed, hasState }) {
    this.#load = load;
    this.#channel = channel;
    this.#hasState = hasState;
    this.#shown = hasState && !isSubscribed ? channel.position() : null;
    if (isSubscribed) this.acknowledged({ kind: "began" });
  }

  get isLive() {
    return this.#phase === "live";
  }

  /** The position of what the page shows: events that wait for a state are not shown. */
  get position() {
    if (!this.isLive) return this.#shown;
    const position = this.#channel.position();
    return this.#isInState(position?.serial) ? { ...this.#loaded } : position;
  }

  /** Ends it: nothing is loaded or applied any more. */
  cancel() {
    this.#load = null;
    this.#waiting = [];
  }

  /** Handles what an acknowledgement says; `shown` is the position before it. */
  acknowledged(continuity, shown = null) {
    if (continuity.kind === "resumed") {
      if (this.#phase !== "waiting") return;
      if (this.#hasState) {
        this.#phase = "live";
        this.#failures = 0;
        return;
      }
    }
    if (this.isLive) this.#shown = shown;
    this.#continuity = continuity.kind === "resumed" ? { kind: "began" } : continuity;
    this.#begin();
  }

  /** Handles an event with its serial, if it has one; applies it now or behind the state. */
  receive(serial, event) {
    if (this.#phase === "live") {
      if (!this.#isInState(serial)) this.#channel.apply(event);
    } else if (this.#waiting.length < WAITING_MAX) {
      this.#waiting.push({ serial, event });
    } else {
      // A state that is loaded from now on contains them.
      this.#begin();
    }
  }

  #begin() {
    this.#phase = "loading";
    this.#waiting = [];
    this.#loaded = null;
    this.#start = this.#channel.position();
    this.#isObsolete = true;
    this.#run();
  }

  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#load && this.#phase === "loading" && this.#isObsolete) {
      if (this.#failures > 0) await pause(pauseBefore(this.#failures));
      if (!this.#load) break;
      this.#isObsolete = false;
      try {
        const position = await this.#load(this.#continuity);
        if (this.#load && !this.#isObsolete) this.#finish(position);
      } catch (error) {
        this.#failures += 1;
        this.#isObsolete = true;
        if (this.#load) this.#channel.failed(error);
      }
    }
    this.#isRunning = false;
  }

  #finish(position) {
    if (this.#start && isPosition(position)) {
      if (position.stream !== this.#start.stream || position.serial < this.#start.serial) {
        // Events between the state and the subscription are missing: the broker replays them, or tells a gap.
        this.#failures += 1;
        this.#phase = "waiting";
        this.#hasState = true;
        this.#shown = { stream: position.stream, serial: position.serial };
        this.#waiting = [];
        return this.#channel.resubscribe({ stream: position.stream, serial: position.serial });
      }
      this.#loaded = position;
    }
    this.#failures = 0;
    this.#phase = "live";
    const waiting = this.#waiting;
    this.#waiting = [];
    // An event's handler may end it.
    for (const { serial, event } of waiting) if (this.#load && !this.#isInState(serial)) this.#channel.apply(event);
  }

  #isInState(serial) {
    return serial !== undefined && this.#loaded !== null && serial <= this.#loaded.serial;
  }
}
