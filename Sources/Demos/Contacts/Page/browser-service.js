// The contacts in the browser's storage, for pages opened with ?store=browser: the same screens without backend
// and broker. All windows of the browser share them.

import { Refused } from "/backend.js";
import { element } from "/site.js";
import { FIELDS } from "./fields.js";

const KEY = "fanfare-contacts";

export class BrowserService {
  #followers = new Set();
  #stored = { revision: 0, contacts: [] };

  constructor() {
    this.#read();
    // Storage events reach other windows, not the one that has written.
    addEventListener("storage", (event) => event.key === KEY && this.reload());
    const connection = element("connection");
    connection.dataset.state = "connected";
    connection.textContent = "This browser";
  }

  people(take) {
    return this.#follow(take, (contacts) => contacts);
  }

  person(id, take) {
    return this.#follow(take, (contacts) => contacts.find((contact) => contact.id === id) ?? null);
  }

  async add(person) {
    const { id, ...fields } = person;
    if (this.#stored.contacts.some((contact) => contact.id === id)) return;
    this.#write([...this.#stored.contacts, { id, ...checked(fields) }]);
  }

  async change(id, fields) {
    const contact = this.#stored.contacts.find((contact) => contact.id === id);
    if (!contact) throw new Refused("This contact no longer exists.", 404);
    const changed = { ...contact, ...checked(fields) };
    this.#write(this.#stored.contacts.map((contact) => (contact.id === id ? changed : contact)));
  }

  async remove(id) {
    this.#write(this.#stored.contacts.filter((contact) => contact.id !== id));
  }

  reload() {
    this.#read();
    for (const notify of [...this.#followers]) notify();
  }

  #follow(take, select) {
    const notify = () => take({ revision: this.#stored.revision, model: select(this.#stored.contacts) });
    this.#followers.add(notify);
    // Asynchronous, as with a remote store.
    queueMicrotask(() => this.#followers.has(notify) && notify());
    return () => this.#followers.delete(notify);
  }

  #read() {
    const stored = localStorage.getItem(KEY);
    if (stored) this.#stored = JSON.parse(stored);
  }

  #write(contacts) {
    localStorage.setItem(KEY, JSON.stringify({ revision: this.#stored.revision + 1, contacts }));
    this.reload();
  }
}

function checked(fields) {
  const texts = Object.entries(fields).map(([field, text]) => [field, text.trim()]);
  for (const [field, text] of texts) {
    const { label, limit } = FIELDS.find(({ id }) => id === field);
    if (field === "name" && !text) throw new Refused("A contact needs a name.", 422, field);
    if (text.length > limit) throw new Refused(`${label}: the limit is ${limit} characters.`, 422, field);
  }
  return Object.fromEntries(texts);
}
