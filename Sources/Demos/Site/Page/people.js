// The people of a presence channel: their names, and a colour for each that no other one has.

import { initials, me } from "./me.js";

/** Hues that are told apart at a glance, in degrees; neighbours in the list are far from each other. */
const HUES = [222, 28, 150, 325, 95, 268, 190, 2];

/**
 * Returns a hue for each id, the same on all pages that know these ids.
 *
 * Up to eight get different ones. Each prefers the hue of its own, so most keep theirs when others come and go.
 */
export function hues(ids) {
  const hueOf = new Map();
  const free = new Set(HUES.keys());
  for (const id of [...ids].sort()) {
    let index = [...id].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 9973, 7) % HUES.length;
    while (free.size > 0 && !free.has(index)) index = (index + 1) % HUES.length;
    free.delete(index);
    hueOf.set(id, HUES[index]);
  }
  return hueOf;
}

/** Those who are present, shown as a list of names. */
export class People {
  #list;
  #channel;
  #hues = new Map();

  constructor(list, channel) {
    this.#list = list;
    this.#channel = channel;
  }

  hue(id) {
    return this.#hues.get(id) ?? HUES[0];
  }

  name(id) {
    return String(this.#channel.members.get(id)?.name ?? "A user").slice(0, 60);
  }

  /** Shows the current members; this page's own user is first. */
  show() {
    const own = this.#channel.me ?? me.id;
    const others = [...this.#channel.members.keys()].filter((id) => id !== own);
    this.#hues = hues([own, ...others]);
    this.#list.replaceChildren(this.#chip(own, me.name, " (you)"), ...others.map((id) => this.#chip(id, this.name(id))));
  }

  #chip(id, name, suffix = "") {
    const person = document.createElement("li");
    person.style.setProperty("--hue", this.hue(id));
    const badge = document.createElement("span");
    badge.className = "initials";
    badge.ariaHidden = "true";
    badge.textContent = initials(name);
    person.append(badge, name + suffix);
    return person;
  }
}
