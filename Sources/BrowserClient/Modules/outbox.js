/** In milliseconds. */
const RECEIPT_TIME_MAX = 10_000;
/** The maximum number of client events that wait or have no receipt, and of attempts on one connection. */
const OUTBOX_MAX = 100;
const ATTEMPTS_MAX = 3;

/** The client events that have no receipt, in order; those of an ended connection are sent again under the same key. */
export class Outbox {
  expectsReceipts = false;
  #events = [];
  #actions;
  #perSecond;
  #tokens;
  #filledAt = 0;
  #tokenTimer = null;
  #receiptTimer = null;
  #count = 0;
  // Random enough to be unique, and Node 18 has no `crypto`.
  #page = Math.random().toString(36).slice(2) + Math.random().toString(36).slice(2);

  constructor(perSecond, actions) {
    this.#perSecond = perSecond;
    this.#actions = actions;
    this.#tokens = this.#tokensMax;
  }

  // A fifth less than the broker's, since events may arrive closer together than they were sent.
  get #tokensMax() {
    return Math.max(1, this.#perSecond * 0.8);
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
      if (event.sentAt !== null || !event.subscription.isSubscribed || event.subscription.isReplaying) continue;
      if (!this.#takeToken()) return this.#awaitToken();
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
    for (const event of this.#events) Object.assign(event, { sentAt: null, attempts: 0 });
  }

  /** Drops the events of a subscription, or all. */
  clear(subscription) {
    this.#remove((event) => !subscription || event.subscription === subscription);
  }

  #remove(isObsolete) {
    this.#events = this.#events.filter((event) => !isObsolete(event));
  }

  #takeToken() {
    const now = Date.now();
    const refill = Math.max(0, now - this.#filledAt) / 1000 * this.#perSecond;
    this.#tokens = Math.min(this.#tokensMax, this.#tokens + refill);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #awaitToken() {
    this.#tokenTimer ??= setTimeout(() => {
      this.#tokenTimer = null;
      this.flush();
    }, (1 - this.#tokens) / this.#perSecond * 1000 + 1);
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
