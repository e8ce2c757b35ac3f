// The screen with one contact: it follows the model of that contact, also while it is being edited.
//
// A field that is not touched here follows the store. One that is keeps what was written, and tells what somebody
// else has written meanwhile. Only touched fields are saved, so two people can edit one contact.

import { speak } from "/site.js";
import { DetailsBuilder } from "./details-builder.js";
import { errorsOf } from "./fields.js";
import { finished, loading } from "./state.js";

export class DetailsView {
  /** Hears of each snapshot: `{ revision, touched }`. */
  onsnapshot = (_news) => {};
  /** Hears that it is over; `draft` is somebody who is to be added again, or null. */
  onend = (_draft) => {};

  #id;
  /** As the store has them, or last had them. */
  #person = null;
  #isLoaded = false;
  #isGone = false;
  /** What was written into touched fields while editing, and what the store had in them then; or null. */
  #draft = null;
  #seen = {};
  #errors = {};
  #isBusy = false;
  #isConfirming = false;
  #error = null;
  #service;
  #table;
  #builder = new DetailsBuilder(this);
  #unfollow;

  constructor(service, table, id) {
    this.#service = service;
    this.#table = table;
    this.#id = id;
    table.onaction = (action, value) => this.#builder.route(action, value);
    this.#show();
    this.#unfollow = service.person(id, (news) => this.#receive(news));
  }

  close() {
    this.#unfollow();
  }

  // Actions

  edit() {
    this.#draft = {};
    this.#seen = {};
    this.#errors = {};
    this.#show();
    this.#table.focus("form", "name");
  }

  write(field, text) {
    if (!(field in this.#draft)) this.#seen = { ...this.#seen, [field]: this.#person[field] };
    this.#draft = { ...this.#draft, [field]: text };
    this.#errors = {};
    this.#show();
  }

  /** Takes what the store has in a field instead of what was written here. */
  take(field) {
    const { [field]: _, ...draft } = this.#draft;
    this.#draft = draft;
    this.#show();
  }

  cancel() {
    this.#draft = null;
    this.#errors = {};
    this.#show();
    this.#table.focus("actions", "ways");
  }

  async save() {
    if (!this.#draft || this.#isBusy || this.#isGone) return;
    const changes = Object.fromEntries(Object.entries(this.#draft)
      .map(([field, text]) => [field, text.trim()]).filter(([field, text]) => text !== this.#person[field]));
    if (Object.keys(changes).length === 0) return this.cancel();
    if (!(await this.#perform(() => this.#service.change(this.#id, changes), "form"))) return;
    // The snapshot that has it may still be on its way.
    this.#person = { ...this.#person, ...changes };
    this.#draft = null;
    this.#show();
    this.#table.focus("actions", "ways");
  }

  askToRemove() {
    this.#isConfirming = true;
    this.#show();
    this.#table.focus("actions", "answers");
  }

  keep() {
    this.#isConfirming = false;
    this.#show();
    this.#table.focus("actions", "ways");
  }

  async remove() {
    if (await this.#perform(() => this.#service.remove(this.#id), "actions")) this.onend(null);
  }

  addAgain() {
    this.onend({ ...this.#person, ...this.#draft });
  }

  leave() {
    this.onend(null);
  }

  /** Asks the service for something; false when it was refused, which is then shown. */
  async #perform(action, section) {
    if (this.#isBusy) return false;
    this.#isBusy = true;
    this.#errors = {};
    this.#show();
    try {
      await action();
      return true;
    } catch (error) {
      this.#errors = errorsOf(error);
      return false;
    } finally {
      this.#isBusy = false;
      this.#show();
      const { field } = this.#errors;
      if (field) this.#table.focus(section, field);
    }
  }

  // State

  #receive({ revision, model, error }) {
    if (error) {
      this.#error = error;
      return this.#show();
    }
    // This screen's own removal is about to close it.
    if (model === null && this.#isConfirming && this.#isBusy) return;
    const wasLoaded = this.#isLoaded;
    this.#isLoaded = true;
    this.#isGone = model === null;
    this.#person = model ?? this.#person;
    const touched = this.#show(wasLoaded);
    this.onsnapshot({ revision, touched });
    if (!wasLoaded || touched.inserted + touched.updated + touched.removed === 0) return;
    speak(`${this.#person.name} was ${this.#isGone ? "deleted" : "changed"} on another screen.`);
  }

  get #state() {
    if (!this.#isLoaded) return this.#error ? finished({ error: this.#error }) : loading;
    return finished({ value: {
      person: this.#person, isGone: this.#isGone, draft: this.#draft, seen: this.#seen,
      errors: this.#errors, isBusy: this.#isBusy, isConfirming: this.#isConfirming,
    } });
  }

  #show(isNews = false) {
    return this.#table.renderAndDiff(this.#builder.sections(this.#state), { isNews });
  }
}
