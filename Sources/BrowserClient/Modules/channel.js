import { Bindings } from "./bindings.js";

/**
 * A channel's subscription: functions bound to event names.
 *
 * `action(data, { userID, serial, isMissed })` is called for each event; client events on presence channels have a `userID`,
 * and events that were replayed are `isMissed`.
 *
 * The protocol's own events are bound like others: `pusher:subscription_succeeded`, `pusher:subscription_error`
 * with `{ type, error }`, `pusher:cache_miss`, `pusher:subscription_count`, and on a presence channel
 * `pusher:member_added` and `pusher:member_removed` with `{ id, info }`.
 *
 * `pusher:continuity` tells what each subscription means for the time before:
 * - `{ kind: "began" }`: it is new
 * - `{ kind: "resumed", replayed }`: nothing is missing; told behind the replayed events
 * - `{ kind: "gap", reason, missed }`: events are missing, `missed` of them if they can be counted
 * - `{ kind: "unknown" }`: the broker keeps no events
 */
export class Channel extends Bindings {
  #subscription;

  constructor(subscription) {
    super();
    this.#subscription = subscription;
  }

  get name() {
    return this.#subscription.name;
  }

  get isSubscribed() {
    return this.#subscription.isSubscribed;
  }

  /** The members of a presence channel: a map from id to info, in the order in which they joined. */
  get members() {
    return this.#subscription.members;
  }

  /** On a presence channel, the id of this page's user. */
  get me() {
    return this.#subscription.me;
  }

  /**
   * The position, `{ stream, serial }`, of what the page shows: up to it every event was delivered. Null if there is none.
   *
   * Events that wait for a state do not move it: a page that is left meanwhile may save it.
   */
  get position() {
    return this.#subscription.position;
  }

  /** Whether what the page shows is current: subscribed, and the state is loaded. */
  get isLive() {
    return this.#subscription.isLive;
  }

  /**
   * Keeps a state up to date: `getState(continuity)` gets and shows it, whenever nothing was recovered.
   *
   * Events wait meanwhile, and are delivered behind the state; if `getState` returns the state's position, only those
   * behind it. It is called again when it throws. Without a position it must be safe to apply an event twice.
   */
  state(getState) {
    this.#subscription.follow(getState);
    return this;
  }

  /**
   * Sends a client event, whose name begins with `client-`, once the channel is subscribed; false when it cannot be sent.
   *
   * It is sent again until the broker confirms it, also after a reconnect, and published once. A `transient` one is sent
   * once and may be lost.
   */
  trigger(event, data, { transient = false } = {}) {
    return this.#subscription.trigger(event, data, transient);
  }
}
