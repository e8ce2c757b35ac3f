// The messages of the room: shown at once, and sent until the backend has them; the browser keeps those that wait.

import { Attempts, Unsent } from "/fanfare-live.js";
import { Refused, request } from "/backend.js";
import { me, pageID, uuid } from "/me.js";
import { handBack, showProblem } from "/site.js";

/** As many as the backend keeps. */
const COUNT_MAX = 50;

export class Messages {
  /** Called when the messages have changed. */
  onchange = () => {};

  /** The accepted messages, oldest first, by id. */
  #accepted = new Map();
  /** Own messages that the backend may not have. */
  #waiting;
  #unsent = new Unsent("room", pageID);
  #isSending = false;
  #loads = new Attempts();
  #sends = new Attempts();

  constructor() {
    this.#waiting = this.#unsent.adopt();
    for (const attempts of [this.#loads, this.#sends]) addEventListener("online", () => attempts.hurry());
    this.#send();
  }

  /** `{ id, user, name, text, sentAt, isWaiting }`, oldest first. */
  get all() {
    const waiting = this.#waiting.filter(({ id }) => !this.#accepted.has(id));
    return [...this.#accepted.values(), ...waiting.map((message) => ({ ...message, isWaiting: true }))];
  }

  /** Adds a message that the backend has accepted; returns whether it is new and another page's. */
  receive(message) {
    if (typeof message?.id !== "string" || this.#accepted.has(message.id)) return false;
    const isOwn = this.#waiting.some(({ id }) => id === message.id);
    this.#accepted.set(message.id, message);
    for (const id of this.#accepted.keys()) {
      if (this.#accepted.size <= COUNT_MAX) break;
      this.#accepted.delete(id);
    }
    this.onchange();
    return !isOwn;
  }

  say(text) {
    this.#waiting.push({ id: uuid(), user: me.id, name: me.name, text });
    this.#unsent.keep(this.#waiting);
    this.onchange();
    this.#send();
  }

  /** Loads the messages, until that succeeds. */
  async load() {
    for (;;) {
      const known = new Set(this.#accepted.keys());
      try {
        const messages = await request("GET", "messages");
        // What has arrived meanwhile is behind them; what the backend does not have any more is gone.
        const arrived = [...this.#accepted.values()].filter(({ id }) => !known.has(id));
        this.#accepted = new Map([...messages, ...arrived].map((message) => [message.id, message]));
        this.#loads.succeeded();
        showProblem("backend", "", null);
        return this.onchange();
      } catch ({ message }) {
        showProblem("backend", "The messages cannot be loaded.", `${message} Retrying …`, () => this.#loads.hurry());
        await this.#loads.pause();
      }
    }
  }

  async #send() {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const { id, user, name, text } = this.#waiting[0];
      try {
        await request("POST", "messages", { id, user_id: user, user_name: name, text });
        this.#sends.succeeded();
        const message = this.#taken();
        // Until its event it stays in view.
        if (!this.#accepted.has(message.id)) this.#accepted.set(message.id, message);
        this.onchange();
      } catch (error) {
        if (error instanceof Refused) {
          this.#taken();
          this.onchange();
          handBack(error.message, [text]);
        } else {
          const hurry = () => this.#sends.hurry();
          showProblem("edit", "Your message is not sent yet.", `${error.message} Retrying …`, hurry);
          await this.#sends.pause();
        }
      }
    }
    showProblem("edit", "", null);
    this.#isSending = false;
  }

  /** Removes the first message, which is answered. */
  #taken() {
    const [message] = this.#waiting.splice(0, 1);
    this.#unsent.keep(this.#waiting);
    return message;
  }
}
