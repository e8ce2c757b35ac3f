import { FollowedState } from "./followed-state.js";
import { Tracking } from "./tracking.js";

/**
 * A channel over all connections of a client: its position, and the state of the app that its events follow.
 *
 * Those that extend it have `deliver(event)`, `resubscribe()`, `continuityChanged(continuity)` and `failed(message)`.
 */
export class TrackedChannel {
  isSubscribed = false;
  /** The backend's signature and the connection that it is for: `{ socketID, signed }`. */
  signature;
  tracking;
  #state = null;
  /** Whether the app has the state of the position that it subscribed from. */
  #hasState;

  /** It continues where `left` ends, what was kept of the channel, unless the app has a position of its own. */
  constructor(name, { position, rewind } = {}, left) {
    this.name = name;
    const continues = !position && left?.tracking.position;
    this.tracking = continues ? left.tracking : new Tracking(position ?? null, rewind ?? null);
    this.#hasState = !continues;
    this.signature = left?.signature ?? null;
  }

  /** The position of what the page shows. */
  get position() {
    return this.#state ? this.#state.position : this.tracking.position;
  }

  get isLive() {
    return this.isSubscribed && (this.#state?.isLive ?? true);
  }

  /** Keeps a state up to date, instead of an earlier one. */
  follow(getState) {
    this.cancelState();
    this.#state = new FollowedState(getState, {
      position: () => this.tracking.position,
      resubscribe: (position) => {
        this.track(position);
        this.resubscribe();
      },
      apply: (event) => this.deliver(event),
      failed: (error) => this.failed(`the state of ${this.name} cannot be loaded: ${error?.message ?? error}`),
    }, { isSubscribed: this.isSubscribed, hasState: this.#hasState });
  }

  cancelState() {
    this.#state?.cancel();
    this.#state = null;
  }

  /**
   * Reports to another part of the page, which has the state of `position`, whether events are missing; once it has bound its
   * functions, and the first acknowledgement has come.
   */
  startBehind(position) {
    queueMicrotask(() => {
      const gap = this.tracking.gapBehind(position);
      // Without a position it loads its state anyway.
      if (!gap || !this.position) return;
      this.#state?.acknowledged(gap, this.position);
      this.continuityChanged(gap);
    });
  }

  /** Replaces the position. */
  track(position) {
    this.tracking = new Tracking(position);
  }

  /** Whether an acknowledgement answers an earlier request than the last one. */
  isObsolete(data) {
    return !this.isSubscribed && this.tracking.isObsolete(data);
  }

  /** Handles the data of an acknowledgement on the connection with this socket ID; `pass()` gives it to the app. */
  acknowledged(data, socketID, pass) {
    const shown = this.position;
    const continuity = this.tracking.acknowledged(data, socketID, this.isSubscribed);
    this.isSubscribed = true;
    if (continuity) this.#state?.acknowledged(continuity, shown);
    try {
      pass();
    } finally {
      // Also after the fault of a listener.
      if (continuity && continuity.kind !== "resumed") this.continuityChanged(continuity);
      const gaps = this.tracking.takeGaps();
      if (continuity?.kind !== "gap") for (const gap of gaps) this.continuityChanged(gap);
      this.finishReplay();
    }
  }

  /** Moves the position; returns whether to deliver the message. */
  advance(serial) {
    if (serial === undefined) return true;
    // After a hole: of the subscription before, and about to be replayed.
    if (!this.isSubscribed) return false;
    const verdict = this.tracking.receive(serial);
    if (verdict === "hole") {
      this.failed(`events of ${this.name} before ${serial} did not arrive; asking for them again`);
      this.resubscribe();
    }
    return verdict === "next";
  }

  /** Handles an event that is due: `make()` returns what waits for the state; without a state, `pass()` delivers it. */
  receiveEvent(name, serial, make, pass) {
    if (serial === undefined) this.tracking.receivedWithoutNumber();
    if (this.#state && !name.startsWith("pusher:")) this.#state.receive(serial, make());
    else pass();
  }

  /** Reports the end of a replay; returns whether it has ended. */
  finishReplay() {
    const end = this.tracking.takeReplayEnd();
    if (end?.continuity) this.continuityChanged(end.continuity);
    return end !== null;
  }

  /** The subscription has ended, on the connection or with it. */
  ended() {
    this.isSubscribed = false;
    this.tracking.ended();
  }

  /** Ends it for the app, and returns what to keep of it. */
  abandon() {
    this.tracking.goBack(this.position);
    this.ended();
    this.cancelState();
    return { tracking: this.tracking, signature: this.signature };
  }
}
