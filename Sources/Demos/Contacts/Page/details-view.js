// The screen of one contact: it follows the contact's model, also while it is being edited.
//
// Unedited fields follow the store. An edited field keeps its text and shows concurrent changes. Only edited
// fields are saved, so two users can edit one contact.

import { speak } from "/site.js";
import { DetailsBuilder } from "./details-builder.js";
import { errorsOf } from "./fields.js";
import { finished, loading } from "./state.js";

export class DetailsView {
  /** Called with each snapshot: `{ revision, touched }`. */
  onsnapshot = (_news) => {};
  /** Called at the end with a contact to be added again, or null. */
  onend = (_draft) => {};

  #id;
  /** The contact in the store, or the last one. */
  #person = null;
  #isLoaded = false;
  #isGone = false;
  /** The edited fields, or null; `#seen` has their values in the store at the time of the edit. */
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

  /** Replaces an edited field by the store's value. */
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
    // The snapshot with the change may not have arrived.
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

  /** Performs a request; false when it was refused, with the error shown. */
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
    // The screen closes after its own removal.
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
