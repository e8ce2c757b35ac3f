// The contacts in this browser's storage, for pages that are opened with ?store=browser: the same screens, with
// neither backend nor broker. All windows of the browser show the same.

import { Refused } from "/backend.js";
import { element } from "/site.js";
import { FIELDS } from "./fields.js";

const KEY = "fanfare-contacts";

export class BrowserService {
  #takers = new Set();
  #stored = { revision: 0, contacts: [] };

  constructor() {
    this.#read();
    // Storage tells the other windows, and not the one that has written.
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
    if (!contact) throw new Refused("This contact is not there any more.", 404);
    const changed = { ...contact, ...checked(fields) };
    this.#write(this.#stored.contacts.map((contact) => (contact.id === id ? changed : contact)));
  }

  async remove(id) {
    this.#write(this.#stored.contacts.filter((contact) => contact.id !== id));
  }

  reload() {
    this.#read();
    for (const tell of [...this.#takers]) tell();
  }

  #follow(take, select) {
    const tell = () => take({ revision: this.#stored.revision, model: select(this.#stored.contacts) });
    this.#takers.add(tell);
    // Not before the call has returned, as with a store far away.
    queueMicrotask(() => this.#takers.has(tell) && tell());
    return () => this.#takers.delete(tell);
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
    if (text.length > limit) throw new Refused(`${label}: ${limit} characters are the most.`, 422, field);
  }
  return Object.fromEntries(texts);
}
