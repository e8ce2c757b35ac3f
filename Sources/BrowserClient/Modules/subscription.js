import { Channel } from "./channel.js";
import { FollowedState } from "./followed-state.js";
import { beginning } from "./left-channels.js";
import { Tracking } from "./tracking.js";

/** The shortest time, in milliseconds, between two requests for the key of an encrypted channel. */
const KEY_PAUSE = 10_000;

/** A subscription between connection and app: its position, its state, and its events. */
export class Subscription {
  /** The app's view of it. */
  channel = new Channel(this);
  isSubscribed = false;
  /** Whether the broker has been asked for it on this connection, and has not refused. */
  isRequested = false;
  /** Whether the broker or the backend has refused it. */
  isRefused = false;
  /** The number of times in a row that the broker was overloaded. */
  failures = 0;
  /** The backend's signature and the connection that it is for: `{ socketID, signed }`. */
  signature;
  members = new Map();
  me = null;

  #connection;
  #state = null;
  /** Whether the app has the state of the position that it subscribed from. */
  #hasState;
  #attempt = new AbortController();
  #keyAskedAt = 0;

  /** `left` is what was kept of the channel when the app left it. */
  constructor(name, options = {}, connection, left) {
    this.name = name;
    this.#connection = connection;
    ({ tracking: this.tracking, hasState: this.#hasState } = beginning(options, left));
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
    this.#state?.cancel();
    this.#state = new FollowedState(getState, {
      position: () => this.tracking.position,
      resubscribe: (position) => {
        this.track(position);
        this.#connection.resubscribe(this);
      },
      apply: ([name, data, detail]) => this.emit(name, data, detail),
      failed: (error) => this.#connection.failed(`the state of ${this.name} cannot be loaded: ${error?.message ?? error}`),
    }, { isSubscribed: this.isSubscribed, hasState: this.#hasState });
  }

  trigger(event, data, isTransient) {
    return this.#connection.trigger(this, event, data, isTransient);
  }

  emit(event, data, detail = {}) {
    this.channel.emit(event, data, detail);
    this.#connection.emit(event, data, { ...detail, channel: this.name });
  }

  /** Begins an attempt to subscribe; returns the signal that is aborted when another one begins, or the subscription ends. */
  beginAttempt() {
    this.#attempt.abort();
    this.#attempt = new AbortController();
    this.isRefused = false;
    return this.#attempt.signal;
  }

  /**
   * Tells another part of the page, which has the state of `position`, whether events are missing; once it has bound its
   * functions, and the first acknowledgement has come.
   */
  startBehind(position) {
    queueMicrotask(() => {
      const gap = this.tracking.gapBehind(position);
      // It loads its state anyway.
      if (!gap || !this.position) return;
      this.#state?.acknowledged(gap, this.position);
      this.emit("pusher:continuity", gap);
    });
  }

  /** Replaces the position. */
  track(position) {
    this.tracking = new Tracking(position);
  }

  acknowledge(data, socketID) {
    if (!this.isSubscribed && this.tracking.isObsolete(data)) return;
    const shown = this.position;
    const continuity = this.tracking.acknowledged(data, socketID, this.isSubscribed);
    this.isSubscribed = true;
    this.failures = 0;
    // Each subscription returns all members, without those that left during a disconnection.
    this.members = new Map(Object.entries(data?.presence?.hash ?? {}));
    if (continuity) this.#state?.acknowledged(continuity, shown);
    this.emit("pusher:subscription_succeeded", data);
    if (continuity && continuity.kind !== "resumed") this.emit("pusher:continuity", continuity);
    const gaps = this.tracking.takeGaps();
    if (continuity?.kind !== "gap") for (const gap of gaps) this.emit("pusher:continuity", gap);
    this.#finishReplay();
    this.#connection.opened();
  }

  receive({ event, serial, user_id: userID }, data) {
    const isMissed = this.tracking.isReplaying;
    if (serial !== undefined && !this.#advance(serial)) return;
    if (this.#connection.decrypt && this.name.startsWith("private-encrypted-") && !event.startsWith("pusher:")) {
      try {
        data = this.#connection.decrypt(data, this.signature.signed.shared_secret);
      } catch (error) {
        return this.#renewKey(serial, error);
      }
    }
    if (serial === undefined) this.tracking.receivedWithoutNumber();
    const detail = { userID, serial, isMissed };
    if (this.#state && !event.startsWith("pusher:")) this.#state.receive(serial, [event, data, detail]);
    else this.emit(event, data, detail);
    if (event === "pusher:subscription_error") {
      this.isRequested = false;
      this.signature = null;
      if (data?.type === "InvalidPosition") this.track(null);
      this.#connection.refused(this, data);
    }
    this.#finishReplay();
  }

  /** Handles the number of a message that is not for this client. */
  receivePosition(serial) {
    if (serial !== undefined && this.#advance(serial)) this.#finishReplay();
  }

  /** Moves the position; returns whether to deliver the message. */
  #advance(serial) {
    // Behind a hole: of the subscription before, and about to be replayed.
    if (!this.isSubscribed) return false;
    const verdict = this.tracking.receive(serial);
    if (verdict === "hole") {
      this.#connection.failed(`events of ${this.name} before ${serial} did not arrive; asking for them again`);
      this.#connection.resubscribe(this);
    }
    return verdict === "next";
  }

  /** Asks the backend for the present key, with which the broker's replay is decrypted; an event without a serial is lost. */
  #renewKey(serial, error) {
    const isRecent = Date.now() - this.#keyAskedAt < KEY_PAUSE;
    if (isRecent || serial === undefined) this.#connection.failed(`an event of ${this.name} is lost: ${error.message}`);
    if (isRecent) return this.#finishReplay();
    this.#keyAskedAt = Date.now();
    if (serial !== undefined) this.tracking.stepBack();
    this.#connection.resubscribe(this);
  }

  #finishReplay() {
    const end = this.tracking.takeReplayEnd();
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
    this.tracking.ended();
  }

  /** Ends it for the app, and returns what to keep of it. */
  abandon() {
    this.tracking.goBack(this.position);
    this.ended();
    this.#state?.cancel();
    this.channel.unbind_all();
    return { tracking: this.tracking, signature: this.signature };
  }
}
