// The contacts in the demos' backend: snapshots over HTTP and by the events of the broker.

import { request } from "/backend.js";
import { connect } from "/broker.js";
import { showProblem } from "/site.js";
import { Snapshots } from "./snapshots.js";

export class BackendService {
  #client = null;
  /** The models that screens follow, by their channels. */
  #models = new Map();
  #troubled = new Set();

  constructor() {
    connect((client) => {
      this.#client = client;
      for (const [channel, model] of this.#models) this.#subscribe(channel, model);
    });
    addEventListener("online", () => this.reload());
    // A page that was asleep may have missed the end of its connection.
    document.addEventListener("visibilitychange", () => !document.hidden && this.reload());
  }

  people(take) {
    return this.#follow("contacts", "/contacts/people", take);
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

  /**
   * Edits are not kept for later when the backend cannot be reached: the form keeps them, and while it is open shows
   * what somebody else has written into the same field, for its user to choose. A field is replaced as a whole, so an
   * edit that left by itself hours later would replace what nobody who made it has seen.
   */
  async #change(route, body) {
    await request("POST", `/contacts/${route}`, body);
    // Without the broker no event will tell.
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
    // What has changed before the subscription is in no event.
    subscription.bind("pusher:subscription_succeeded", () => model.load());
    subscription.bind("snapshot", (event) => model.receive(event));
  }

  /** One notice for all models that cannot be fetched. */
  #report(model, error) {
    if (error) this.#troubled.add(model);
    else this.#troubled.delete(model);
    if (this.#troubled.size === 0) showProblem("backend", "", null);
    if (error) {
      showProblem("backend", "What is shown may be old.", `${error.message} Trying again …`, () => this.reload());
    }
  }
}
