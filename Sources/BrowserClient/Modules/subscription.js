import { Channel } from "./channel.js";
import { TrackedChannel } from "./tracked-channel.js";

/** The shortest time, in milliseconds, between two requests for the key of an encrypted channel. */
const KEY_PAUSE = 10_000;

/** A subscription between connection and app: its requests, its members, and its events. */
export class Subscription extends TrackedChannel {
  /** The app's view of it. */
  channel = new Channel(this);
  /** Whether the broker has been asked for it on this connection, and has not refused. */
  isRequested = false;
  /** Whether the broker or the backend has refused it. */
  isRefused = false;
  /** The number of times in a row that the broker was overloaded. */
  failures = 0;
  members = new Map();
  me = null;

  #connection;
  #attempt = new AbortController();
  #keyAskedAt = 0;

  /** `left` is what was kept of the channel when the app left it. */
  constructor(name, options, connection, left) {
    super(name, options, left);
    this.#connection = connection;
  }

  trigger(event, data, isTransient) {
    return this.#connection.trigger(this, event, data, isTransient);
  }

  emit(event, data, detail = {}) {
    this.channel.emit(event, data, detail);
    this.#connection.emit(event, data, { ...detail, channel: this.name });
  }

  deliver([event, data, detail]) {
    this.emit(event, data, detail);
  }

  resubscribe() {
    this.#connection.resubscribe(this);
  }

  continuityChanged(continuity) {
    this.emit("pusher:continuity", continuity);
  }

  failed(message) {
    this.#connection.failed(message);
  }

  /** Begins an attempt to subscribe; returns the signal that is aborted when another one begins, or the subscription ends. */
  beginAttempt() {
    this.#attempt.abort();
    this.#attempt = new AbortController();
    this.isRefused = false;
    return this.#attempt.signal;
  }

  acknowledge(data, socketID) {
    if (this.isObsolete(data)) return;
    this.failures = 0;
    // Each subscription returns all members, without those that left during a disconnection.
    this.members = new Map(Object.entries(data?.presence?.hash ?? {}));
    this.acknowledged(data, socketID, () => this.emit("pusher:subscription_succeeded", data));
    this.#connection.opened();
  }

  receive({ event, serial, user_id: userID }, data) {
    const isMissed = this.tracking.isReplaying;
    if (!this.advance(serial)) return;
    if (this.#connection.decrypt && this.name.startsWith("private-encrypted-") && !event.startsWith("pusher:")) {
      try {
        data = this.#connection.decrypt(data, this.signature.signed.shared_secret);
      } catch (error) {
        return this.#renewKey(serial, error);
      }
    }
    const told = [event, data, { userID, serial, isMissed }];
    this.receiveEvent(event, serial, () => told, () => this.deliver(told));
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
    if (serial !== undefined && this.advance(serial)) this.#finishReplay();
  }

  /** Asks the backend for the present key, with which the broker's replay is decrypted; an event without a serial is lost. */
  #renewKey(serial, error) {
    const isRecent = Date.now() - this.#keyAskedAt < KEY_PAUSE;
    if (isRecent || serial === undefined) this.failed(`an event of ${this.name} is lost: ${error.message}`);
    if (isRecent) return this.#finishReplay();
    this.#keyAskedAt = Date.now();
    if (serial !== undefined) this.tracking.stepBack();
    this.resubscribe();
  }

  #finishReplay() {
    if (this.finishReplay()) this.#connection.opened();
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
    super.ended();
    this.isRequested = false;
    this.#attempt.abort();
  }

  /** Ends it for the app, and returns what to keep of it. */
  abandon() {
    const left = super.abandon();
    this.channel.unbind_all();
    return left;
  }
}
