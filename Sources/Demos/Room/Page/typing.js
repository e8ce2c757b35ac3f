// Who is typing: heard of now and then while it goes on, so that a page which leaves is forgotten by itself.

/** Times in milliseconds. */
const REPEAT = 2_000;
const SILENCE_MAX = 5_000;

export class Typing {
  #line;
  #send;
  /** The names of those who are typing, by user, each with the timer of its end. */
  #names = new Map();
  #toldAt = -Infinity;

  /** Writes into `line`; `send({ isTyping })` tells the others. */
  constructor(line, send) {
    this.#line = line;
    this.#send = send;
  }

  /** Call it with each change of the user's own text. */
  changed(text) {
    if (text === "") return this.ended();
    if (performance.now() - this.#toldAt < REPEAT) return;
    this.#toldAt = performance.now();
    this.#send({ isTyping: true });
  }

  /** The text was sent or deleted. */
  ended() {
    if (this.#toldAt === -Infinity) return;
    this.#toldAt = -Infinity;
    this.#send({ isTyping: false });
  }

  heard(user, name, isTyping) {
    clearTimeout(this.#names.get(user)?.timer);
    this.#names.delete(user);
    if (isTyping) this.#names.set(user, { name, timer: setTimeout(() => this.heard(user, name, false), SILENCE_MAX) });
    this.#show();
  }

  #show() {
    const names = [...this.#names.values()].map(({ name }) => name);
    this.#line.textContent = names.length === 0 ? ""
      : names.length > 3 ? "Several people are typing …"
      : `${new Intl.ListFormat("en").format(names)} ${names.length === 1 ? "is" : "are"} typing …`;
  }
}
