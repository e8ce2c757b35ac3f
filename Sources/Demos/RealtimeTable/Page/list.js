// The list as this page knows it: what the server has said, and on top of it this page's own changes that
// the server has not confirmed yet. What is shown is the second played over the first, so a change is seen
// at once, and a refused one takes itself back.
//
// A row has a `key`, which lasts as long as the row is on this page, and an `id`, which the server gives.

export class UserList {
  #deviceID;
  #rows = [];
  #changes = [];
  #keys = 0;

  constructor(deviceID) {
    this.#deviceID = deviceID;
  }

  /** The rows to show, first row first. */
  get rows() {
    return this.#changes.reduce(applied, this.#rows);
  }

  // What the server says

  /**
   * Takes the whole list as the server has it.
   *
   * `confirmed` are the changes that the server had confirmed before it was asked, which its list contains.
   */
  replace(users, confirmed = []) {
    // Keys first: a row that was only an own change until now stays the same row on the screen.
    this.#rows = users.map(({ id, name }) => ({ key: this.#keyOf(id), id, name }));
    this.#changes = this.#changes.filter((change) => !confirmed.includes(change));
  }

  /**
   * Takes an event of the channel. It carries indices as they were in the database, which tells whether
   * this page still agrees with the server; `false` when it does not, and must load the list again.
   */
  receive(event, data) {
    const isOwn = data?.deviceId === this.#deviceID;
    switch (event) {
      case "addUser": return this.#added(data, isOwn);
      case "removeUser": return this.#removed(data, isOwn);
      case "moveUser": return this.#moved(data, isOwn);
      default: return true;
    }
  }

  #added({ id, name }, isOwn) {
    const isNew = this.#indexOf(id) < 0;
    const key = this.#keyOf(id);
    // The event may come before the answer that tells the new row's id.
    const own = isOwn ? this.#settle(({ kind, row }) =>
      kind === "add" && (row.id === id || (row.id === null && row.name === name))) : undefined;
    if (isNew) this.#rows = [...this.#rows, { key: own?.row.key ?? key, id, name }];
    return isNew;
  }

  #removed({ id, index }, isOwn) {
    const found = this.#indexOf(id);
    if (isOwn) this.#settle(({ kind, row }) => kind === "remove" && row.id === id);
    this.#rows = this.#rows.filter((row) => row.id !== id);
    return found === index;
  }

  #moved({ src_id: id, dest_id: anchorID, src, dest }, isOwn) {
    if (isOwn) this.#settle(({ kind, row }) => kind === "move" && row.id === id);
    const agrees = this.#rows[src]?.id === id && this.#rows[dest]?.id === anchorID;
    if (agrees) this.#rows = moved(this.#rows, src, dest);
    return agrees;
  }

  #indexOf(id) {
    return this.#rows.findIndex((row) => row.id === id);
  }

  #keyOf(id) {
    const known = this.rows.find((row) => row.id === id);
    return known?.key ?? `row-${(this.#keys += 1)}`;
  }

  // What this page does. Each returns the change, which the server is then to confirm.

  add(name) {
    const row = { key: `row-${(this.#keys += 1)}`, id: null, name, isPending: true };
    return this.#change({ kind: "add", row });
  }

  remove(key) {
    return this.#change({ kind: "remove", row: this.#find(key), index: this.#place(key) });
  }

  move(key, dest) {
    const src = this.#place(key);
    return this.#change({ kind: "move", row: this.#find(key), anchor: this.rows[dest], src, dest });
  }

  #change(change) {
    this.#changes = [...this.#changes, change];
    return change;
  }

  #find(key) {
    return this.rows.find((row) => row.key === key);
  }

  #place(key) {
    return this.rows.findIndex((row) => row.key === key);
  }

  /** The server has made the change; its event, or the next load, will bring it. */
  confirm(change, answer) {
    change.isConfirmed = true;
    if (change.kind === "add") change.row.id = answer.id;
  }

  /** The server has refused the change, or could not be asked. */
  withdraw(change) {
    this.#changes = this.#changes.filter((other) => other !== change);
  }

  get confirmedChanges() {
    return this.#changes.filter((change) => change.isConfirmed);
  }

  /** Takes out the oldest own change that fits the event which confirms it. */
  #settle(fits) {
    const change = this.#changes.find(fits);
    if (change) this.withdraw(change);
    return change;
  }
}

/** `rows` with a change of this page played over them. */
function applied(rows, change) {
  const index = rows.findIndex((row) => isSame(row, change.row));
  switch (change.kind) {
    case "add":
      return index < 0 ? [...rows, change.row] : rows;
    case "remove":
      return rows.filter((_, other) => other !== index);
    case "move": {
      const anchor = rows.findIndex((row) => isSame(row, change.anchor));
      if (index < 0 || anchor < 0 || index === anchor) return rows;
      // The server's rule: past the anchor when dragged down, else before it.
      const remaining = anchor > index ? anchor - 1 : anchor;
      return moved(rows, index, change.dest > change.src ? remaining + 1 : remaining);
    }
  }
}

function isSame(row, other) {
  return row.key === other.key || (row.id !== null && row.id === other.id);
}

function moved(rows, source, destination) {
  const result = [...rows];
  result.splice(destination, 0, ...result.splice(source, 1));
  return result;
}
