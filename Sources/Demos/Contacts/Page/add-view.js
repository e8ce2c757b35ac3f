// The screen for a new contact: it follows the model `people`, to say at once who is there already, also when
// somebody else adds them at this moment.

import { uuid } from "/me.js";
import { AddBuilder } from "./add-builder.js";
import { errorsOf, nobody } from "./fields.js";
import { finished } from "./state.js";

/** The most people that are named as being there already. */
const TWINS_MAX = 3;

export class AddView {
  /** Hears of each snapshot: `{ revision, touched }`. */
  onsnapshot = (_news) => {};
  /** Hears that it is over; `id` is that of the contact that was added, or null. */
  onend = (_id) => {};

  /** Made before the first attempt: asked to add it twice, the store does it once. */
  #id = uuid();
  #draft;
  #errors = {};
  #isBusy = false;
  #people = [];
  #service;
  #table;
  #builder = new AddBuilder(this);
  #unfollow;

  constructor(service, table, draft = nobody) {
    this.#service = service;
    this.#table = table;
    this.#draft = { ...nobody, ...draft };
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
      draft: this.#draft, errors: this.#errors, isBusy: this.#isBusy, twins: this.#twins(),
    } });
    return this.#table.renderAndDiff(this.#builder.sections(state), { isNews });
  }

  /** Who has the name, number or address that is being written. */
  #twins() {
    if (this.#isBusy) return [];
    const { name, phone, email } = this.#draft;
    const same = (text, other) => text.trim() !== "" && text.trim().toLowerCase() === other.toLowerCase();
    const twins = this.#people.flatMap((person) => {
      const what = same(name, person.name) ? "name" : same(phone, person.phone) ? "number"
        : same(email, person.email) ? "address" : null;
      return what && person.id !== this.#id ? [{ id: person.id, name: person.name, same: what }] : [];
    });
    return twins.slice(0, TWINS_MAX);
  }
}
