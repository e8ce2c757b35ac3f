/** Plays the vectors of live lists with `LiveList`, whose requests the vector answers. */
export class ListRun {
  /** The commits since the last check, in the form of the vectors. */
  commits = [];
  #list;
  #channel;
  #reports = {};
  #loads = [];
  #commit = null;
  #mutations = [];
  #Refused;
  #isFollowing = false;

  constructor({ LiveList, Refused }) {
    this.#Refused = Refused;
    const request = (method, _url, body) =>
      new Promise((resolve, reject) => {
        const answer = { resolve, reject };
        if (method === "GET") return this.#loads.push(answer);
        if (!this.#mutations.includes(body.mutation)) this.#mutations.push(body.mutation);
        this.commits.push({ mutation: this.#mutations.indexOf(body.mutation) + 1, operations: body.operations });
        this.#commit = answer;
      });
    this.#list = new LiveList({ base: "/rows", channel: "rows", request });
    this.#channel = {
      bind: (event, action) => {
        this.#reports[event] = action;
        return this.#channel;
      },
    };
  }

  get shows() {
    return this.#list.rows.map(({ id, a, b }) => `${id}${a}${b}`);
  }

  get loading() {
    return this.#loads.length > 0;
  }

  get pending() {
    return this.#list.pendingIDs.size;
  }

  // The steps

  subscribed() {
    if (!this.#isFollowing) this.#list.follow({ subscribe: () => this.#channel, channel: () => this.#channel });
    else this.#reports["pusher:continuity"]({ kind: "gap" });
    this.#isFollowing = true;
  }

  resumed() {
    this.#reports["pusher:continuity"]({ kind: "resumed" });
  }

  fetched(answer) {
    const { resolve, reject } = this.#loads.shift();
    if (answer === "fails") reject(new Error("away for a moment"));
    else resolve(answer);
  }

  /** A change of the nth edit, or of another client. */
  change({ mutation, ...change }) {
    const id = mutation === null ? "of another client" : this.#mutations[mutation - 1];
    this.#reports["list_changed"]({ ...change, mutation: id }, {});
  }

  edit(operations) {
    this.#list.edit(operations);
  }

  accepted(revision) {
    this.#commit.resolve({ revision });
  }

  refused() {
    this.#commit.reject(new this.#Refused("no", 422));
  }

  unanswered() {
    this.#commit.reject(new Error("away for a moment"));
  }
}
