/** In milliseconds. */
const RECEIPT_TIME_MAX = 10_000;
/** The maximum number of client events that wait or have no receipt, and of attempts on one connection. */
const OUTBOX_MAX = 100;
const ATTEMPTS_MAX = 3;

/** Whether an event may be sent on a channel, at all times: the broker's limits are 200 characters and 10 KiB. */
export function isClientEvent(event, data, channel) {
  return /^(private-(?!encrypted-)|presence-)/.test(channel) && /^client-.{1,193}$/.test(event)
    && new TextEncoder().encode(JSON.stringify(data)).length <= 10_240;
}

/** The client events that have no receipt, in order; those of an ended connection are sent again under the same key. */
export class Outbox {
  expectsReceipts = false;
  #events = [];
  #actions;
  /** The time from one event to the next, on average. */
  #interval;
  /** When the next event is due at that rate; the first ones may be early. */
  #dueAt = 0;
  #rateTimer = null;
  #receiptTimer = null;
  #count = 0;
  // Random enough to be unique, and Node 18 has no `crypto`.
  #page = Math.random().toString(36).slice(2) + Math.random().toString(36).slice(2);

  constructor(perSecond, actions) {
    this.#interval = 1000 / perSecond;
    this.#actions = actions;
  }

  add(event) {
    if (this.#events.length >= OUTBOX_MAX) return false;
    this.#count += 1;
    this.#events.push({ ...event, key: `${this.#page}-${this.#count}`, sentAt: null, attempts: 0 });
    this.flush();
    return true;
  }

  /** Sends what may be sent: on subscribed channels, within the rate, and not while missed events arrive. */
  flush() {
    for (const event of [...this.#events]) {
      if (event.sentAt !== null || !event.subscription.isSubscribed || event.subscription.tracking.isReplaying) continue;
      const delay = this.#takeTurn();
      if (delay > 0) {
        this.#rateTimer ??= setTimeout(() => {
          this.#rateTimer = null;
          this.flush();
        }, delay + 1);
        return;
      }
      event.sentAt = Date.now();
      event.attempts += 1;
      this.#actions.send(this.expectsReceipts ? event : { ...event, key: undefined });
      if (!this.expectsReceipts) this.#remove((other) => other === event);
    }
    this.#awaitReceipts();
  }

  confirm(key) {
    this.#remove((event) => event.key === key);
  }

  connectionEnded() {
    clearTimeout(this.#receiptTimer);
    this.#receiptTimer = null;
    for (const event of this.#events) Object.assign(event, { sentAt: null, attempts: 0 });
  }

  /** Drops the events of a subscription, or all; returns whether there were any. */
  clear(subscription) {
    const { length } = this.#events;
    this.#remove((event) => !subscription || event.subscription === subscription);
    return this.#events.length < length;
  }

  #remove(isObsolete) {
    this.#events = this.#events.filter((event) => !isObsolete(event));
  }

  /** Takes a turn, and returns 0; or returns how long there is none. */
  #takeTurn() {
    const now = performance.now();
    const dueAt = Math.max(this.#dueAt, now);
    // A fifth less in a second than the broker accepts, since events may arrive closer together than they were sent.
    const delay = dueAt - now - Math.max(0, 800 - this.#interval);
    if (delay <= 0) this.#dueAt = dueAt + this.#interval;
    return Math.max(0, delay);
  }

  #awaitReceipts() {
    if (this.#receiptTimer !== null || !this.#events.some(({ sentAt }) => sentAt !== null)) return;
    this.#receiptTimer = setTimeout(() => {
      this.#receiptTimer = null;
      this.#retryLate();
    }, RECEIPT_TIME_MAX);
    // Node would not end before it, though the client is destroyed.
    this.#receiptTimer.unref?.();
  }

  #retryLate() {
    const now = Date.now();
    for (const event of this.#events) {
      if (event.sentAt === null || now - event.sentAt < RECEIPT_TIME_MAX) continue;
      if (event.attempts < ATTEMPTS_MAX) {
        event.sentAt = null;
      } else {
        // The broker has told why by an error of its own.
        this.confirm(event.key);
        this.#actions.failed(`${event.event} on ${event.subscription.name} was not confirmed`);
      }
    }
    this.flush();
  }
}
