// Live lists with this site's requests and messages.
//
//     const list = new LiveList({ base: "/films/rows", channel: "films" });
//     list.onchange = ({ rows, changes, isOwn }) => …;
//     connect((client) => list.follow(client));

import { request } from "./backend.js";
import { LiveList as List } from "./fanfare-live.js";
import { handBack, showContinuity, showProblem } from "./site.js";

export { anchorAt, move, newRowID, put, remove, rowChanges, update } from "./fanfare-live.js";

/** What the page says of the two kinds of problems. */
const PROBLEMS = {
  load: { name: "backend", title: "The list cannot be loaded." },
  edit: { name: "edit", title: "Your changes are not saved yet." },
};

export class LiveList extends List {
  constructor(options) {
    super({ ...options, request });
    this.bind("problem", ({ kind, error }) => {
      const { name, title } = PROBLEMS[kind];
      showProblem(name, title, error && `${error.message} Retrying …`, () => this.retry());
    });
    this.bind("refused", ({ error, texts }) => handBack(error.message, texts));
    this.bind("continuity", ({ changes, ...continuity }) => showContinuity(continuity, changes));
    // Also while the broker is away.
    this.load();
  }
}
