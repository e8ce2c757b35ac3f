// The user of this page: an id and a name, shared by all pages of this browser.

import { uuid } from "./fanfare-live.js";

export { uuid };

const ADJECTIVES = ["Brave", "Calm", "Clever", "Gentle", "Lucky", "Merry", "Quick", "Quiet", "Sunny", "Swift"];
const ANIMALS = ["Badger", "Falcon", "Fox", "Heron", "Lynx", "Otter", "Owl", "Robin", "Seal", "Wren"];

// Without browser storage, a page has its own user until it is closed.
const memory = new Map();

/** The maximum length of a name, in characters. */
export const NAME_LENGTH_MAX = 60;

/** The ID of this page: two windows of one browser have the same user and different page IDs. */
export const pageID = uuid();

/** A page opened with ?as=Ann has a user of its own, so that one browser can be two people. */
const guest = new URLSearchParams(location.search).get("as")?.trim().slice(0, NAME_LENGTH_MAX);

export const me = {
  /** Created at the first visit and stored; a guest's is the page's. */
  id: guest ? pageID : kept("fanfare-user-id", uuid),

  get name() {
    return guest || kept("fanfare-user-name", () => `${anyOf(ADJECTIVES)} ${anyOf(ANIMALS)}`);
  },

  /** Changes the name; a blank name is ignored. */
  set name(name) {
    const text = name.trim().slice(0, NAME_LENGTH_MAX);
    if (text) keep("fanfare-user-name", text);
  },
};

/** Returns the hue of a text, in degrees; always the same for equal texts. */
export function hue(text) {
  return [...text].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 200);
}

/** Returns the initials of a name, up to two letters. */
export function initials(name) {
  const words = name.split(/\s+/).filter(Boolean);
  const letters = words.length > 1 ? [words[0], words[words.length - 1]] : words;
  return letters.map((word) => [...word][0].toUpperCase()).join("");
}

function kept(key, make) {
  let value = memory.get(key);
  try {
    value = localStorage.getItem(key) ?? value;
  } catch { /* use `memory` */ }
  return value ?? keep(key, make());
}

function keep(key, value) {
  memory.set(key, value);
  try {
    localStorage.setItem(key, value);
  } catch { /* use `memory` */ }
  return value;
}

function anyOf(values) {
  return values[Math.floor(Math.random() * values.length)];
}
