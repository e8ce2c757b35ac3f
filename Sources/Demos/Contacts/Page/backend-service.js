// The contacts of the demos' backend: snapshots over HTTP and from the broker's events.

import { request } from "/backend.js";
import { connect } from "/broker.js";
import { showContinuity, showProblem } from "/site.js";
import { Snapshots } from "./snapshots.js";

const LIST_CHANNEL = "contacts";

export class BackendService {
  #client = null;
  /** The followed models, by channel. */
  #models = new Map();
  #failed = new Set();

  constructor() {
    connect((client) => {
      this.#client = client;
      for (const [channel, model] of this.#models) this.#subscribe(channel, model);
    });
    addEventListener("online", () => this.#retry());
    document.addEventListener("visibilitychange", () => !document.hidden && this.#retry());
  }

  people(take) {
    return this.#follow(LIST_CHANNEL, "/contacts/people", take);
  }

  person(id, take) {
    return this.#follow(`contacts-${id}`, `/contacts/person?id=${encodeURIComponent(id)}`, take);
  }

  add(person) {
    return this.#change("add", person);
  }

  change(id, fields) {
    return this.#change("change", { id, ...fields });
  }

  remove(id) {
    return this.#change("remove", { id });
  }

  reload() {
    for (const model of this.#models.values()) model.load();
  }

  #retry() {
    for (const model of this.#failed) model.load();
  }

  /**
   * Edits are not queued when the backend cannot be reached: the form keeps them and shows concurrent changes of the
   * same field, for its user to choose. A field is replaced as a whole, so a late edit would overwrite changes that
   * its user has not seen.
   */
  async #change(route, body) {
    await request("POST", `/contacts/${route}`, body);
    // Without the broker no event arrives.
    if (!this.#client?.socketID) this.reload();
  }

  #follow(channel, path, take) {
    let model = this.#models.get(channel);
    if (!model) {
      model = new Snapshots(() => request("GET", path));
      model.onproblem = (error) => this.#report(model, error);
      this.#models.set(channel, model);
      if (this.#client) this.#subscribe(channel, model);
    }
    const unfollow = model.follow(take);
    return () => {
      unfollow();
      if (model.isFollowed || this.#models.get(channel) !== model) return;
      this.#models.delete(channel);
      this.#client?.unsubscribe(channel);
      this.#report(model, null);
    };
  }

  #subscribe(channel, model) {
    const subscription = this.#client.subscribe(channel);
    let missed = 0;
    subscription.bind("snapshot", (event, { isMissed }) => {
      if (model.receive(event) && isMissed) missed += 1;
    });
    // Changes before the subscription have no event; those during a cut arrive.
    subscription.bind("pusher:continuity", (continuity) => {
      if (continuity.kind !== "resumed") model.load();
      // The screen of one contact shows a part of the same changes.
      if (channel === LIST_CHANNEL) showContinuity(continuity, missed);
      missed = 0;
    });
  }

  /** Shows one problem for all models that cannot be fetched. */
  #report(model, error) {
    if (error) this.#failed.add(model);
    else this.#failed.delete(model);
    if (this.#failed.size === 0) showProblem("backend", "", null);
    if (error) {
      showProblem("backend", "The contacts may be out of date.", `${error.message} Retrying …`, () => this.reload());
    }
  }
}
