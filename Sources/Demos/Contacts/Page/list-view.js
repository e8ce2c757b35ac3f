// The screen of all people: it follows the model `people` and shows each snapshot.

import { speak } from "/site.js";
import { ListBuilder } from "./list-builder.js";
import { finished, loading } from "./state.js";

export class ListView {
  /** Called with each snapshot: `{ revision, people, touched }`. */
  onsnapshot = (_news) => {};

  #state = loading;
  #search = "";
  #currentID = null;
  #service;
  #table;
  #builder = new ListBuilder(this);

  constructor(service, table) {
    this.#service = service;
    this.#table = table;
    table.onaction = (action) => this.#builder.route(action);
    this.#set(loading);
    service.people((news) => this.#receive(news));
  }

  // Actions

  search(text) {
    this.#search = text.trim();
    this.#showPeople();
  }

  /** Marks the contact that is shown beside the list. */
  select(id) {
    this.#currentID = id;
    this.#showPeople();
  }

  retry() {
    this.#service.reload();
  }

  // State

  get #people() {
    return this.#state.result?.value?.people;
  }

  #receive({ revision, model, error }) {
    if (error) {
      // Keeps the last people; the error is shown above the list.
      if (!this.#people) this.#set(finished({ error }));
      return;
    }
    const before = this.#people;
    const touched = this.#set(this.#finished(model), Boolean(before));
    this.onsnapshot({ revision, people: model, touched });
    if (before) announce(before, model);
  }

  #showPeople() {
    if (this.#people) this.#set(this.#finished(this.#people));
  }

  #finished(people) {
    return finished({ value: { people, search: this.#search, currentID: this.#currentID } });
  }

  #set(state, isNews = false) {
    this.#state = state;
    return this.#table.renderAndDiff(this.#builder.sections(state), { isNews });
  }
}

/** Announces the changes to screen readers. */
function announce(before, after) {
  const old = new Map(before.map((person) => [person.id, person]));
  const ids = new Set(after.map(({ id }) => id));
  const added = after.filter(({ id }) => !old.has(id)).map(({ name }) => `${name} was added.`);
  const removed = before.filter(({ id }) => !ids.has(id)).map(({ name }) => `${name} was removed.`);
  const changed = after.filter(({ id, name, phone, email }) => {
    const was = old.get(id);
    return was && (was.name !== name || was.phone !== phone || was.email !== email);
  }).map(({ name }) => `${name} was changed.`);
  speak([...added, ...removed, ...changed].join(" "));
}
