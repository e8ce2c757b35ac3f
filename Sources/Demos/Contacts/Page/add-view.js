// The screen for a new contact: it follows the model `people` to show possible duplicates immediately, also those
// that are just being added elsewhere.

import { uuid } from "/me.js";
import { AddBuilder } from "./add-builder.js";
import { errorsOf, emptyPerson } from "./fields.js";
import { finished } from "./state.js";

/** The maximum number of shown duplicates. */
const DUPLICATES_MAX = 3;

export class AddView {
  /** Called with each snapshot: `{ revision, touched }`. */
  onsnapshot = (_news) => {};
  /** Called at the end with the id of the added contact, or null. */
  onend = (_id) => {};

  /** Created before the first attempt, so that a repeated request adds the contact once. */
  #id = uuid();
  #draft;
  #errors = {};
  #isBusy = false;
  #people = [];
  #service;
  #table;
  #builder = new AddBuilder(this);
  #unfollow;

  constructor(service, table, draft = emptyPerson) {
    this.#service = service;
    this.#table = table;
    this.#draft = { ...emptyPerson, ...draft };
    table.onaction = (action, value) => this.#builder.route(action, value);
    this.#show();
    table.focus("form", "name");
    this.#unfollow = service.people((news) => this.#receive(news));
  }

  close() {
    this.#unfollow();
  }

  // Actions

  write(field, text) {
    this.#draft = { ...this.#draft, [field]: text };
    this.#errors = {};
    this.#show();
  }

  cancel() {
    this.onend(null);
  }

  async save() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#errors = {};
    this.#show();
    try {
      await this.#service.add({ id: this.#id, ...this.#draft });
      this.onend(this.#id);
    } catch (error) {
      this.#isBusy = false;
      this.#errors = errorsOf(error);
      this.#show();
      this.#table.focus("form", error.field ?? "name");
    }
  }

  // State

  #receive({ revision, model, error }) {
    if (error) return;
    this.#people = model;
    const touched = this.#show(true);
    this.onsnapshot({ revision, touched });
  }

  #show(isNews = false) {
    const state = finished({ value: {
      draft: this.#draft, errors: this.#errors, isBusy: this.#isBusy, duplicates: this.#duplicates(),
    } });
    return this.#table.renderAndDiff(this.#builder.sections(state), { isNews });
  }

  /** Returns the contacts with the entered name, number or address. */
  #duplicates() {
    if (this.#isBusy) return [];
    const { name, phone, email } = this.#draft;
    const same = (text, other) => text.trim() !== "" && text.trim().toLowerCase() === other.toLowerCase();
    const duplicates = this.#people.flatMap((person) => {
      const what = same(name, person.name) ? "name" : same(phone, person.phone) ? "number"
        : same(email, person.email) ? "address" : null;
      return what && person.id !== this.#id ? [{ id: person.id, name: person.name, same: what }] : [];
    });
    return duplicates.slice(0, DUPLICATES_MAX);
  }
}
