// Undo for a shared text: reverts only this page's edits, at their current position.

const STEP_TIME = 800;   // milliseconds: faster keystrokes are one step
const STEPS_MAX = 300;

export class Undo {
  #undone = [];
  #done = [];
  #lastAt = 0;

  /** Records an edit: its batch, and the removed text with an anchor at its position. */
  record(batch, removed, place) {
    const edit = editOf(batch, removed, place);
    if (!edit) return;
    const now = performance.now();
    const isSameStep = now - this.#lastAt < STEP_TIME && this.#done.length > 0 && edit.typed.length > 0
      && edit.removed === "" && this.#done.at(-1).at(-1).removed === "";
    if (isSameStep) this.#done.at(-1).push(edit);
    else this.#done.push([edit]);
    if (this.#done.length > STEPS_MAX) this.#done.shift();
    this.#undone = [];
    this.#lastAt = now;
  }

  /** Reverts the last step; returns the new offset of the caret, or null when there is no step. */
  undo(text) {
    return this.#revert(text, this.#done, this.#undone);
  }

  redo(text) {
    return this.#revert(text, this.#undone, this.#done);
  }

  #revert(text, from, to) {
    this.#lastAt = 0;
    for (let step = from.pop(); step; step = from.pop()) {
      const inverse = [];
      let caret = null;
      for (const edit of [...step].reverse()) {
        for (const range of edit.typed) {
          for (const [start, end] of text.document.visible(range).reverse()) {
            const place = text.document.anchor(start);
            const removed = text.text.slice(start, end);
            const batch = text.replace(start, end, "");
            if (batch) inverse.push(editOf(batch, removed, place));
            caret = start;
          }
        }
        const start = edit.removed === "" ? null : text.document.offset(edit.place);
        if (start !== null) {
          const batch = text.replace(start, start, edit.removed);
          if (batch) inverse.push(editOf(batch, "", text.document.anchor(start)));
          caret = start + edit.removed.length;
        }
      }
      // Skips a step whose text others have deleted.
      if (inverse.length === 0) continue;
      to.push(inverse);
      return caret;
    }
    return null;
  }
}

function editOf(batch, removed, place) {
  const typed = batch.operations.filter(({ insert }) => insert)
    .map(({ insert, time }) => [time, batch.replica, [...insert].length]);
  return typed.length > 0 || removed !== "" ? { typed, removed, place } : null;
}
