// The list on the screen: rows that glide to their new places, and can be dragged by mouse, finger or keys.

import { hue, initials } from "/me.js";

/** Times in milliseconds. */
const GLIDE_TIME = 220;
const EASE = "cubic-bezier(.2, .8, .2, 1)";

const reducesMotion = matchMedia("(prefers-reduced-motion: reduce)");

/** Draws rows into an `<ol>`; `onmove(key, index)` and `onremove(key)` hear what the user wants. */
export class Rows {
  onmove = (_key, _index) => {};
  onremove = (_key) => {};

  #list;
  #template;
  #rows = [];
  /** The elements of the rows that are shown, by key. */
  #items = new Map();
  #drag = null;

  constructor(list, template) {
    this.#list = list;
    this.#template = template;
    list.addEventListener("pointerdown", (event) => this.#pointerDown(event));
    list.addEventListener("pointermove", (event) => this.#pointerMoved(event));
    list.addEventListener("pointerup", () => this.#endDrag(true));
    list.addEventListener("pointercancel", () => this.#endDrag(false));
    list.addEventListener("keydown", (event) => this.#keyDown(event));
    list.addEventListener("click", (event) => this.#clicked(event));
  }

  /** Shows `rows`; those whose keys are in `changed` draw the eye. */
  show(rows, changed = new Set()) {
    this.#rows = rows;
    if (this.#drag && !rows.some(({ key }) => key === this.#drag.key)) this.#endDrag(false);
    this.#draw(changed);
  }

  focus(key) {
    this.#items.get(key)?.querySelector(".handle").focus({ preventScroll: true });
  }

  /** The rows in the order on the screen: the dragged one is where it would be dropped. */
  get #order() {
    if (!this.#drag?.hasMoved) return this.#rows;
    const others = this.#rows.filter(({ key }) => key !== this.#drag.key);
    const dragged = this.#rows.find(({ key }) => key === this.#drag.key);
    return [...others.slice(0, this.#drag.index), dragged, ...others.slice(this.#drag.index)];
  }

  #draw(changed) {
    const before = new Map([...this.#items].map(([key, item]) => [key, item.getBoundingClientRect().top]));
    const focused = document.activeElement;
    const order = this.#order;

    for (const [key, item] of [...this.#items]) {
      if (!order.some((row) => row.key === key)) this.#leave(key, item);
    }
    let previous = null;
    for (const row of order) {
      const item = this.#items.get(row.key) ?? this.#make(row);
      this.#fill(item, row);
      const next = previous ? previous.nextElementSibling : this.#list.firstElementChild;
      // An element that stays where it is must not be touched, or it would lose focus and pointer.
      if (next !== item) this.#list.insertBefore(item, next);
      if (changed.has(row.key)) restart(item, "changed");
      previous = item;
    }
    if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
    for (const [key, item] of this.#items) this.#glide(key, item, before.get(key));
    if (this.#drag) this.#carry();
  }

  #make({ key }) {
    const item = this.#template.content.firstElementChild.cloneNode(true);
    item.dataset.key = key;
    this.#items.set(key, item);
    return item;
  }

  #fill(item, { id, name, isPending }) {
    item.dataset.id = id ?? "";
    item.classList.toggle("pending", Boolean(isPending));
    const label = item.querySelector(".name");
    if (label.textContent === name) return;
    label.textContent = name;
    const badge = item.querySelector(".badge");
    badge.textContent = initials(name);
    badge.style.setProperty("--hue", hue(name));
    item.querySelector(".handle").setAttribute("aria-label", `Move ${name}`);
    item.querySelector(".remove").setAttribute("aria-label", `Remove ${name}`);
  }

  // Motion

  #glide(key, item, before) {
    if (reducesMotion.matches || this.#drag?.key === key) return;
    if (before === undefined) {
      animate(item, [{ opacity: 0, transform: "translateY(-8px)" }, { opacity: 1, transform: "none" }]);
      return;
    }
    // Measured without the glide that may still be under way.
    for (const animation of item.getAnimations()) if (animation.id === "glide") animation.cancel();
    const distance = before - item.getBoundingClientRect().top;
    if (distance) animate(item, [{ transform: `translateY(${distance}px)` }, { transform: "none" }]);
  }

  #leave(key, item) {
    this.#items.delete(key);
    if (reducesMotion.matches) return item.remove();
    const top = item.offsetTop;
    item.classList.add("leaving");
    item.style.top = `${top}px`;
    // Out of the way of the rows that are still counted.
    this.#list.append(item);
    const fade = [{ opacity: 1 }, { opacity: 0, transform: "translateX(24px)" }];
    animate(item, fade).onfinish = () => item.remove();
  }

  // Dragging

  #pointerDown(event) {
    const item = event.target.closest("li[data-key]");
    const onHandle = event.target.closest(".handle");
    // By mouse the whole row can be grabbed; a finger must also be able to scroll, so it takes the handle.
    if (!item || this.#drag || event.button !== 0 || event.target.closest(".remove")) return;
    if (event.pointerType !== "mouse" && !onHandle) return;
    this.#drag = {
      key: item.dataset.key, item, pointer: event.pointerId, hasMoved: false,
      y: event.clientY, grip: event.clientY - item.getBoundingClientRect().top,
    };
  }

  #pointerMoved(event) {
    const drag = this.#drag;
    if (!drag || event.pointerId !== drag.pointer) return;
    // The button was let go where this list could not hear of it.
    if (event.buttons === 0) return this.#endDrag(false);
    if (!drag.hasMoved) {
      // A click trembles.
      if (Math.abs(event.clientY - drag.y) < 4) return;
      drag.hasMoved = true;
      drag.index = this.#rows.findIndex(({ key }) => key === drag.key);
      this.#list.setPointerCapture(drag.pointer);
      this.#list.classList.add("dragging");
      drag.item.classList.add("dragged");
    }
    drag.y = event.clientY;
    this.#scrollAtEdge();
    this.#follow();
  }

  /** Carries the row to the pointer, and opens a gap where it would be dropped. */
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
    // Its place may have shifted under the pointer by what others did meanwhile.
    const from = this.#rows.findIndex(({ key }) => key === drag.key);
    const moves = isDropped && drag.hasMoved && from >= 0 && drag.index !== from;
    if (moves) this.onmove(drag.key, drag.index);
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
    const item = event.target.closest("li[data-key]");
    if (!step || !item || !event.target.closest(".handle")) return;
    event.preventDefault();
    const { key } = item.dataset;
    const index = this.#rows.findIndex((row) => row.key === key) + step;
    if (index < 0 || index >= this.#rows.length) return;
    this.onmove(key, index);
    this.focus(key);
  }

  #clicked(event) {
    const item = event.target.closest(".remove")?.closest("li[data-key]");
    if (!item) return;
    // Focus goes on to a neighbour, so that the keyboard keeps its place.
    const neighbour = item.nextElementSibling ?? item.previousElementSibling;
    this.onremove(item.dataset.key);
    if (neighbour?.dataset.key) this.focus(neighbour.dataset.key);
  }
}

function animate(item, frames) {
  const animation = item.animate(frames, { duration: GLIDE_TIME, easing: EASE });
  animation.id = "glide";
  return animation;
}

function restart(item, name) {
  item.classList.remove(name);
  void item.offsetWidth;  // Without a layout in between, the animation would not begin again.
  item.classList.add(name);
}
