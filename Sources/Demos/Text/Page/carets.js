// Remote carets and selections, drawn in a mirror of the text below the text area.

const MOVED_TIME = 2_500;  // milliseconds

export class Carets {
  #mirror;
  #document;
  #hue;
  /** By page: `{ name, anchor, focus, movedAt }`; positions are anchors, so they move with the text. */
  #cursors = new Map();
  #isDue = false;

  /** `document()` returns the text, `hue(user)` the colour of a user. */
  constructor(mirror, document, hue) {
    this.#mirror = mirror;
    this.#document = document;
    this.#hue = hue;
  }

  set(page, cursor) {
    this.#cursors.set(page, { ...cursor, movedAt: performance.now() });
    this.draw();
    setTimeout(() => this.draw(), MOVED_TIME + 50);
  }

  remove(isGone) {
    for (const [page, cursor] of this.#cursors) if (isGone(page, cursor)) this.#cursors.delete(page);
    this.draw();
  }

  /** Draws in the next frame; several changes are drawn once. */
  draw() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#drawNow();
    });
  }

  #drawNow() {
    const document = this.#document();
    const { text } = document;
    const carets = [];
    const selections = [];
    for (const cursor of this.#cursors.values()) {
      const focus = document.offset(cursor.focus);
      const anchor = document.offset(cursor.anchor);
      if (focus === null) continue;
      carets.push({ ...cursor, offset: focus });
      if (anchor !== null && anchor !== focus) {
        selections.push({ ...cursor, start: Math.min(anchor, focus), end: Math.max(anchor, focus) });
      }
    }
    // Split the text at each caret and at the ends of each selection.
    const cuts = [0, text.length, ...carets.map(({ offset }) => offset)];
    for (const { start, end } of selections) cuts.push(start, end);
    const places = [...new Set(cuts)].sort((one, other) => one - other);
    const nodes = [];
    places.forEach((place, index) => {
      for (const caret of carets) if (caret.offset === place) nodes.push(caretElement(caret, this.#hue(caret.user)));
      const end = places[index + 1];
      if (end === undefined) return;
      const selection = selections.find((one) => one.start <= place && end <= one.end);
      const part = text.slice(place, end);
      nodes.push(selection ? selectedElement(this.#hue(selection.user), part) : part);
    });
    // Gives an empty last line its height.
    this.#mirror.replaceChildren(...nodes, "\u200b");
  }
}

function caretElement({ name, movedAt }, hue) {
  const caret = document.createElement("span");
  caret.className = performance.now() - movedAt < MOVED_TIME ? "caret moved" : "caret";
  caret.style.setProperty("--hue", hue);
  const label = document.createElement("b");
  label.textContent = name;
  caret.append(label);
  return caret;
}

function selectedElement(hue, text) {
  const part = document.createElement("span");
  part.className = "selected";
  part.style.setProperty("--hue", hue);
  part.textContent = text;
  return part;
}
