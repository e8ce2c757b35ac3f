import { Channel } from "./channel.js";
import { FollowedState } from "./followed-state.js";
import { Tracking } from "./tracking.js";

/** A subscription between connection and app: its position, its state, and the functions bound to its events. */
export class Subscription {
  /** The app's view of it. */
  channel = new Channel(this);
  isSubscribed = false;
  /** Whether the broker has been asked for it on this connection, and has not refused. */
  isRequested = false;
  members = new Map();
  me = null;

  #bindings = new Map();
  #connection;
  #tracking;
  #state = null;
  #attempt = new AbortController();

  constructor(name, { position, rewind } = {}, connection) {
    this.name = name;
    this.#connection = connection;
    this.#tracking = new Tracking(position ?? null, rewind ?? null);
  }

  get position() {
    return this.#tracking.position;
  }

  get isLive() {
    return this.isSubscribed && (this.#state?.isLive ?? true);
  }

  bind(event, action) {
    const actions = this.#bindings.get(event) ?? new Set();
    this.#bindings.set(event, actions.add(action));
  }

  unbind(event, action) {
    this.#bindings.get(event)?.delete(action);
  }

  /** Keeps a state up to date, instead of an earlier one. */
  follow(getState) {
    this.cancel();
    this.#state = new FollowedState(getState, {
      position: () => this.position,
      resubscribe: (position) => {
        this.track(position);
        this.#connection.resubscribe(this);
      },
      apply: ([name, data, detail]) => this.emit(name, data, detail),
      failed: (error) => this.#connection.failed(`the state of ${this.name} cannot be loaded: ${error?.message ?? error}`),
    }, this.isSubscribed);
  }

  trigger(event, data, isTransient) {
    return this.#connection.trigger(this, event, data, isTransient);
  }

  emit(event, data, detail = {}) {
    for (const action of [...(this.#bindings.get(event) ?? [])]) {
      // A fault of one listener must not cost others the event.
      try {
        action(data, detail);
      } catch (error) {
        reportError(error);
      }
    }
  }

  get request() {
    return this.#tracking.request;
  }

  get isReplaying() {
    return this.#tracking.isReplaying;
  }

  get holes() {
    return this.#tracking.holes;
  }

  /** Begins an attempt to subscribe; returns the signal that is aborted when another one begins, or the subscription ends. */
  beginAttempt() {
    this.#attempt.abort();
    this.#attempt = new AbortController();
    return this.#attempt.signal;
  }

  /** Replaces the position. */
  track(position) {
    this.#tracking = new Tracking(position);
  }

  acknowledge(data, socketID) {
    const continuity = this.#tracking.acknowledged(data, socketID, this.isSubscribed);
    this.isSubscribed = true;
    // Each subscription returns all members, without those that left during a disconnection.
    this.members = new Map(Object.entries(data?.presence?.hash ?? {}));
    if (continuity) this.#state?.acknowledged(continuity);
    this.emit("pusher:subscription_succeeded", data);
    if (continuity && continuity.kind !== "resumed") this.emit("pusher:continuity", continuity);
    this.#finishReplay();
    this.#connection.opened();
  }

  receive({ event, serial, user_id: userID }, data) {
    const isMissed = this.#tracking.isReplaying;
    if (!this.#advance(serial)) return;
    const detail = { userID, serial, isMissed };
    if (this.#state && !event.startsWith("pusher:")) this.#state.receive(serial, [event, data, detail]);
    else this.emit(event, data, detail);
    if (event === "pusher:subscription_error") this.isRequested = false;
    if (event === "pusher:subscription_error" && data?.type === "InvalidPosition") this.track(null);
    this.#finishReplay();
  }

  /** Handles the number of a message that is not for this client. */
  receivePosition(serial) {
    if (serial !== undefined && this.#advance(serial)) this.#finishReplay();
  }

  /** Moves the position; returns whether to deliver the message. */
  #advance(serial) {
    if (serial === undefined) {
      this.#tracking.receivedWithoutNumber();
      return true;
    }
    // Behind a hole: of the subscription before, and about to be replayed.
    if (!this.isSubscribed) return false;
    const verdict = this.#tracking.receive(serial);
    if (verdict === "hole") {
      this.#connection.failed(`events of ${this.name} before ${serial} did not arrive; asking for them again`);
      this.#connection.resubscribe(this);
    }
    return verdict === "next";
  }

  #finishReplay() {
    const end = this.#tracking.takeReplayEnd();
    if (!end) return;
    if (end.continuity) this.emit("pusher:continuity", end.continuity);
    this.#connection.opened();
  }

  join({ user_id: id, user_info: info }) {
    this.members.set(id, info);
    this.emit("pusher:member_added", { id, info });
  }

  leave({ user_id: id }) {
    const info = this.members.get(id);
    if (this.members.delete(id)) this.emit("pusher:member_removed", { id, info });
  }

  /** The subscription has ended, on this connection or with it. */
  ended() {
    this.isSubscribed = false;
    this.isRequested = false;
    this.#attempt.abort();
    this.#tracking.ended();
  }

  cancel() {
    this.#state?.cancel();
    this.#state = null;
  }
}
