/** A WebSocket whose other end is a vector. */
export class FakeSocket {
  /** The last socket that a client has opened and nobody has closed. */
  static current = null;
  static onsend = (_text) => {};
  isOpen = false;
  #listeners = { message: [], close: [] };
  onopen = null;
  onmessage = null;
  onclose = null;
  onerror = null;

  constructor(url) {
    this.url = url;
    FakeSocket.current = this;
  }

  get readyState() {
    if (FakeSocket.current !== this) return 3;
    return this.isOpen ? 1 : 0;
  }

  addEventListener(name, action) {
    this.#listeners[name]?.push(action);
  }

  open() {
    this.isOpen = true;
    this.onopen?.({});
  }

  receive(data) {
    this.#dispatch("message", { data });
  }

  send(text) {
    if (this.isOpen && FakeSocket.current === this) FakeSocket.onsend(text);
  }

  close(code = 1000) {
    queueMicrotask(() => this.end(code));
  }

  end(code) {
    if (FakeSocket.current === this) FakeSocket.current = null;
    this.#dispatch("close", { code, reason: "", wasClean: code !== 1006 });
    this.#listeners = { message: [], close: [] };
  }

  #dispatch(name, event) {
    this[`on${name}`]?.(event);
    for (const action of [...this.#listeners[name]]) action(event);
  }
}
