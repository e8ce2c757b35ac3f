// The pointers of all pages over the room: places as fractions of its size, since windows differ.

/** Times in milliseconds. */
const SEND_PAUSE = 120;             // a broker allows ten client events a second
const SILENCE_MAX = 20_000;

export class Pointers {
  #area;
  #layer;
  #send;
  /** By page: the element, and when it was heard of. */
  #others = new Map();
  #due = null;
  #timer = null;

  /** Draws in `layer`, which covers `area`; `send({ x, y })` or `send({ gone: true })` tells the others. */
  constructor(area, layer, send) {
    this.#area = area;
    this.#layer = layer;
    this.#send = send;
    area.addEventListener("pointermove", (event) => this.#moved(event));
    area.addEventListener("pointerleave", () => this.#tell({ gone: true }));
    setInterval(() => this.removeWhere((_, { heardAt }) => Date.now() - heardAt > SILENCE_MAX), 5_000);
  }

  /** Shows another page's pointer. */
  show(page, { x, y }, { user, name, hue }) {
    let pointer = this.#others.get(page);
    if (!pointer) {
      const item = document.createElement("div");
      item.className = "pointer";
      item.innerHTML = '<svg viewBox="0 0 16 20" width="16" height="20"><path d="M1 1v15l4-4h7z"/></svg><b></b>';
      this.#layer.append(item);
      pointer = { item };
      this.#others.set(page, pointer);
    }
    Object.assign(pointer, { user, heardAt: Date.now() });
    pointer.item.querySelector("b").textContent = name;
    pointer.item.style.setProperty("--hue", hue);
    pointer.item.style.translate = `${x * this.#layer.clientWidth}px ${y * this.#layer.clientHeight}px`;
  }

  removeWhere(isGone) {
    for (const [page, pointer] of this.#others) {
      if (!isGone(page, pointer)) continue;
      pointer.item.remove();
      this.#others.delete(page);
    }
  }

  #moved({ clientX, clientY }) {
    const { left, top, width, height } = this.#area.getBoundingClientRect();
    this.#tell({ x: (clientX - left) / width, y: (clientY - top) / height });
  }

  /** Sends the newest place, at most once in each pause. */
  #tell(place) {
    this.#due = place;
    if (this.#timer !== null) return;
    const send = () => {
      this.#timer = null;
      if (!this.#due) return;
      this.#send(this.#due);
      this.#due = null;
      this.#timer = setTimeout(send, SEND_PAUSE);
    };
    send();
  }
}
