// A list on the screen: rows are animated to their new positions and can be dragged by mouse, touch or keys.
//
// Only new rows create elements, and only moved rows are removed and reinserted: other elements are
// unchanged and keep focus and pointer.

import { rowChanges } from "./fanfare-live.js";

/** Times in milliseconds. */
const GLIDE_TIME = 220;
const EASE = "cubic-bezier(.2, .8, .2, 1)";

const reducesMotion = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Shows rows in an `<ol>`; `onmove(id, index)` and `onremove(id)` are called for the user's actions.
 *
 * A row's element is created from the template, whose `<li>` may have a `.handle`, for dragging, and a `.remove`;
 * `fill(item, row, index)` writes the row into it.
 */
export class Rows {
  onmove = (_id, _index) => {};
  onremove = (_id) => {};
  /** The number of cells created so far. */
  cellCount = 0;

  #list;
  #template;
  #fill;
  #rows = [];
  #pending = new Set();
  /** The rows in the order of their elements. */
  #drawn = [];
  /** The elements of the shown rows, by id. */
  #items = new Map();
  #drag = null;

  constructor(list, template, fill) {
    this.#list = list;
    this.#template = template;
    this.#fill = fill;
    list.addEventListener("pointerdown", (event) => this.#pointerDown(event));
    list.addEventListener("pointermove", (event) => this.#pointerMoved(event));
    list.addEventListener("pointerup", () => this.#endDrag(true));
    list.addEventListener("pointercancel", () => this.#endDrag(false));
    list.addEventListener("keydown", (event) => this.#keyDown(event));
    list.addEventListener("click", (event) => this.#clicked(event));
  }

  /** Shows `rows`; those with an id in `changed` are highlighted, those in `pending` are paler. */
  show(rows, { changed = new Set(), pending = new Set() } = {}) {
    this.#rows = rows;
    this.#pending = pending;
    if (this.#drag && !rows.some(({ id }) => id === this.#drag.id)) this.#endDrag(false);
    this.#draw(changed);
  }

  focus(id) {
    this.#items.get(id)?.querySelector(".handle, .remove")?.focus({ preventScroll: true });
  }

  /** The rows in screen order, with the dragged one at its drop position. */
  get #order() {
    if (!this.#drag?.hasMoved) return this.#rows;
    const others = this.#rows.filter(({ id }) => id !== this.#drag.id);
    const dragged = this.#rows.find(({ id }) => id === this.#drag.id);
    return others.toSpliced(this.#drag.index, 0, dragged);
  }

  #draw(changed) {
    const before = new Map([...this.#items].map(([id, item]) => [id, item.getBoundingClientRect().top]));
    const focused = document.activeElement;
    const order = this.#order;

    const { deletes, moves } = rowChanges(this.#drawn, order);
    // Measured before they are removed from the layout.
    const leaving = deletes.map((index) => this.#items.get(this.#drawn[index].id)).map((item) => [item, item.offsetTop]);
    for (const index of deletes) this.#items.delete(this.#drawn[index].id);
    for (const [item, top] of leaving) this.#leave(item, top);
    for (const { to } of moves) this.#items.get(order[to].id).remove();
    let previous = null;
    for (const [index, row] of order.entries()) {
      const item = this.#items.get(row.id) ?? this.#make(row);
      this.#fill(item, row, index);
      item.classList.toggle("pending", this.#pending.has(row.id));
      const next = previous ? previous.nextElementSibling : this.#list.firstElementChild;
      if (next !== item) this.#list.insertBefore(item, next);
      if (changed.has(row.id)) restart(item, "changed");
      previous = item;
    }
    this.#drawn = order;
    if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
    for (const [id, item] of this.#items) this.#glide(id, item, before.get(id));
    if (this.#drag) this.#carry();
  }

  #make({ id }) {
    const item = this.#template.content.firstElementChild.cloneNode(true);
    item.dataset.id = id;
    this.#items.set(id, item);
    this.cellCount += 1;
    return item;
  }

  /** Returns the row of an element; undefined for one that is being removed. */
  #rowOf(element) {
    const item = element?.closest("li");
    return this.#rows.find(({ id }) => this.#items.get(id) === item);
  }

  // Motion

  #glide(id, item, before) {
    if (reducesMotion.matches || this.#drag?.id === id) return;
    if (before === undefined) {
      animate(item, [{ opacity: 0, transform: "translateY(-8px)" }, { opacity: 1, transform: "none" }]);
      return;
    }
    // Measured without a running animation.
    for (const animation of item.getAnimations()) if (animation.id === "glide") animation.cancel();
    const distance = before - item.getBoundingClientRect().top;
    if (distance) animate(item, [{ transform: `translateY(${distance}px)` }, { transform: "none" }]);
  }

  #leave(item, top) {
    if (reducesMotion.matches) return item.remove();
    item.classList.add("leaving");
    item.style.top = `${top}px`;
    // Behind the current rows.
    this.#list.append(item);
    const fade = [{ opacity: 1 }, { opacity: 0, transform: "translateX(24px)" }];
    animate(item, fade).onfinish = () => item.remove();
  }

  // Dragging

  #pointerDown(event) {
    const row = this.#rowOf(event.target);
    const item = row && this.#items.get(row.id);
    const onHandle = event.target.closest(".handle");
    // A mouse can drag the whole row; touch also scrolls, so it needs the handle.
    if (!item?.querySelector(".handle") || this.#drag || event.button !== 0) return;
    if (!onHandle && (event.pointerType !== "mouse" || event.target.closest("button, input, a"))) return;
    this.#drag = {
      id: row.id, item, pointer: event.pointerId, hasMoved: false,
      y: event.clientY, grip: event.clientY - item.getBoundingClientRect().top,
    };
  }

  #pointerMoved(event) {
    const drag = this.#drag;
    if (!drag || event.pointerId !== drag.pointer) return;
    // The button was released outside of the page.
    if (event.buttons === 0) return this.#endDrag(false);
    if (!drag.hasMoved) {
      // Ignores the jitter of a click.
      if (Math.abs(event.clientY - drag.y) < 4) return;
      drag.hasMoved = true;
      drag.index = this.#rows.findIndex(({ id }) => id === drag.id);
      this.#list.setPointerCapture(drag.pointer);
      this.#list.classList.add("dragging");
      drag.item.classList.add("dragged");
    }
    drag.y = event.clientY;
    this.#scrollAtEdge();
    this.#follow();
  }

  /** Moves the row to the pointer and opens a gap at the drop position. */
  #follow() {
    const drag = this.#drag;
    const list = this.#list.getBoundingClientRect();
    const height = drag.item.offsetHeight;
    const padding = this.#list.firstElementChild.offsetTop;
    const middle = drag.y - drag.grip - list.top - padding + height / 2;
    const index = Math.min(Math.max(Math.floor(middle / height), 0), this.#rows.length - 1);
    if (index !== drag.index) {
      drag.index = index;
      this.#draw(new Set());
    }
    this.#carry();
  }

  #carry() {
    const { item, y, grip } = this.#drag;
    if (!this.#drag.hasMoved) return;
    const list = this.#list.getBoundingClientRect();
    item.style.transform = `translateY(${y - grip - list.top - item.offsetTop}px) scale(1.015)`;
  }

  #scrollAtEdge() {
    const { y } = this.#drag;
    const edge = 60;
    const speed = y < edge ? y - edge : y > innerHeight - edge ? y - innerHeight + edge : 0;
    if (speed) scrollBy(0, speed / 4);
  }

  #endDrag(isDropped) {
    const drag = this.#drag;
    if (!drag) return;
    const top = drag.item.getBoundingClientRect().top;
    this.#drag = null;
    this.#list.classList.remove("dragging");
    drag.item.classList.remove("dragged");
    drag.item.style.transform = "";
    // Remote edits may have moved the row meanwhile.
    const from = this.#rows.findIndex(({ id }) => id === drag.id);
    const moves = isDropped && drag.hasMoved && from >= 0 && drag.index !== from;
    if (moves) this.onmove(drag.id, drag.index);
    else this.#draw(new Set());
    if (drag.hasMoved && !reducesMotion.matches) {
      const distance = top - drag.item.getBoundingClientRect().top;
      animate(drag.item, [{ transform: `translateY(${distance}px)` }, { transform: "none" }]);
    }
  }

  // Keys and clicks

  #keyDown(event) {
    if (event.key === "Escape") return this.#endDrag(false);
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const row = event.target.closest(".handle") && this.#rowOf(event.target);
    if (!step || !row) return;
    event.preventDefault();
    const index = this.#rows.indexOf(row) + step;
    if (index < 0 || index >= this.#rows.length) return;
    this.onmove(row.id, index);
    this.focus(row.id);
  }

  #clicked(event) {
    const row = event.target.closest(".remove") && this.#rowOf(event.target);
    if (!row) return;
    // Moves the focus to a neighbour, for keyboard users.
    const index = this.#rows.indexOf(row);
    const neighbour = this.#rows[index + 1] ?? this.#rows[index - 1];
    this.onremove(row.id);
    if (neighbour) this.focus(neighbour.id);
  }
}

function animate(item, frames) {
  const animation = item.animate(frames, { duration: GLIDE_TIME, easing: EASE });
  animation.id = "glide";
  return animation;
}

function restart(item, name) {
  item.classList.remove(name);
  void item.offsetWidth;  // Forces a layout, which restarts the animation.
  item.classList.add(name);
}
