// A table that renders all sections each time and changes only the cells that differ.

import { kinds } from "./cells.js";
import { countOf, sectionChanges } from "./section-changes.js";

/** Times in milliseconds. */
const GLIDE_TIME = 220;
const EASE = "cubic-bezier(.2, .8, .2, 1)";

const reducesMotion = matchMedia("(prefers-reduced-motion: reduce)");

export class Table {
  /** Called with the action of a cell and an optional value. */
  onaction = (_action, _value) => {};

  #root;
  #sections = [];
  /** The shown elements: groups by section id, items by section id and cell id. */
  #groups = new Map();
  #items = new Map();

  constructor(root) {
    this.#root = root;
    root.replaceChildren();
  }

  /**
   * Shows `sections`; what is new or different draws the eye when it `isNews`.
   *
   * Returns how many cells were `inserted`, `updated` and `removed`, and how many are `untouched`.
   */
  renderAndDiff(sections, { isNews = false } = {}) {
    const changes = sectionChanges(this.#sections, sections);
    const before = this.#tops();
    const focused = document.activeElement;
    this.#removeSections(changes.sections.deletes);
    sections.forEach((section, index) => this.#renderSection(section, sections[index - 1], changes, isNews));
    const counts = countOf(this.#sections, sections, changes);
    this.#sections = sections;
    if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
    this.#glide(before);
    return counts;
  }

  /** Focuses the first focusable element of a cell. */
  focus(sectionID, cellID) {
    const item = this.#items.get(sectionID)?.get(cellID);
    item?.querySelector("input, textarea, button, a")?.focus();
  }

  #renderSection(section, previous, { cells }, isNews) {
    const isNew = !this.#groups.has(section.id);
    const group = this.#groups.get(section.id) ?? this.#makeGroup(section);
    const heading = group.querySelector("h2");
    if (heading.textContent !== (section.title ?? "")) heading.textContent = section.title ?? "";
    heading.hidden = !section.title;
    place(group, previous && this.#groups.get(previous.id), this.#root);
    this.#renderCells(section, group.querySelector("ul"), cells.get(section.id), isNews && !isNew);
  }

  #renderCells({ id: sectionID, cells }, list, { deletes, moves, updates }, isNews) {
    const items = this.#items.get(sectionID);
    const old = this.#sections.find(({ id }) => id === sectionID)?.cells ?? [];
    this.#leave(deletes.map((index) => items.get(old[index].id)));
    for (const index of deletes) items.delete(old[index].id);
    // Removed first, so that the remaining ones are at their positions and not touched.
    for (const { to } of moves) items.get(cells[to].id).remove();
    const changed = new Set(updates);
    cells.forEach((cell, index) => {
      const isNew = !items.has(cell.id);
      const item = items.get(cell.id) ?? this.#makeItem(cell);
      items.set(cell.id, item);
      place(item, index > 0 && items.get(cells[index - 1].id), list);
      if (!isNew && !changed.has(index)) return;
      item.cell = cell;
      kinds[cell.kind].fill(item, cell);
      if (isNews) restart(item, "changed");
    });
  }

  #makeGroup({ id }) {
    const group = document.createElement("div");
    const heading = document.createElement("h2");
    group.className = "group";
    group.append(heading, document.createElement("ul"));
    this.#groups.set(id, group);
    this.#items.set(id, new Map());
    return group;
  }

  #makeItem(cell) {
    const item = document.createElement("li");
    item.className = cell.kind;
    item.dataset.id = cell.id;
    item.cell = cell;
    kinds[cell.kind].make(item, cell, (action, value) => action && this.onaction(action, value));
    return item;
  }

  #removeSections(indices) {
    const gone = indices.map((index) => this.#sections[index].id);
    this.#leave(gone.map((id) => this.#groups.get(id)));
    for (const id of gone) {
      this.#groups.delete(id);
      this.#items.delete(id);
    }
  }

  // Motion

  /** The animated elements: headings and items. */
  get #parts() {
    return [...this.#groups].flatMap(([id, group]) =>
      [group.querySelector("h2"), ...this.#items.get(id).values()]);
  }

  #tops() {
    if (reducesMotion.matches) return null;
    return new Map(this.#parts.map((part) => [part, part.getBoundingClientRect().top]));
  }

  #glide(before) {
    if (!before) return;
    const parts = this.#parts;
    // Measured without running animations.
    for (const part of parts) for (const animation of part.getAnimations()) {
      if (animation.id === "glide") animation.cancel();
    }
    const distances = parts.map((part) => before.has(part) && before.get(part) - part.getBoundingClientRect().top);
    parts.forEach((part, index) => {
      const distance = distances[index];
      if (distance === false) animate(part, [{ opacity: 0, transform: "translateY(-6px)" }, {}]);
      else if (distance) animate(part, [{ transform: `translateY(${distance}px)` }, {}]);
    });
  }

  /** Fades elements out at their position, outside of the layout. */
  #leave(elements) {
    if (reducesMotion.matches) return elements.forEach((element) => element.remove());
    const places = elements.map((element) => [element, element.offsetTop]);
    for (const [element, top] of places) {
      element.classList.add("leaving");
      element.inert = true;
      element.style.top = `${top}px`;
      element.parentElement.append(element);
      animate(element, [{}, { opacity: 0, transform: "translateX(20px)" }]).onfinish = () => element.remove();
    }
  }
}

/** Puts an element behind another, or first; one already there is not touched and keeps its focus. */
function place(element, previous, parent) {
  const next = previous ? previous.nextSibling : parent.firstChild;
  if (next !== element) parent.insertBefore(element, next);
}

function animate(element, frames) {
  const animation = element.animate(frames, { duration: GLIDE_TIME, easing: EASE });
  animation.id = "glide";
  return animation;
}

function restart(item, name) {
  item.classList.remove(name);
  void item.offsetWidth;  // Forces a layout, which restarts the animation.
  item.classList.add(name);
}
