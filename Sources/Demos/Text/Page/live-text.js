// A text that several users edit at the same time: a sequence CRDT, equivalent to LiveText in Swift.
//
//     const text = new LiveText({ snapshot, recovery, send });   // three requests to the backend
//     text.onsplices = (splices) => …;                           // remote edits, to apply in order
//     text.connected({ mayHaveMissed });                         // after each subscription to the channel
//     text.receive(entry);                                       // for each event
//     text.replace(0, 0, "Hello");                               // a local edit; offsets are in UTF-16 units
//
// Each Unicode scalar has a permanent ID, `[time, replica]`, with a Lamport time. A scalar goes right of the one that
// it was typed after; of concurrent insertions at one position the later goes left. Replicas with the same operations
// have the same text, in any order of arrival. IDs of deleted scalars are kept until the backend begins a new
// epoch.

import { Attempts } from "/fanfare-live.js";

const OPERATION_LENGTH_MAX = 1_000;  // scalars
const BATCH_LENGTH_MAX = 8_000;      // bytes of JSON, so that it fits into an event
const WAITING_MAX = 1_000;           // operations
const TEXT_LENGTH_MAX = 100_000;     // scalars

const SENDING_DELAY = 80;            // milliseconds

const EMPTY = { epoch: 0, serial: 0, time: 0, version: [], replicas: [], runs: [] };

/** Returns a random replica ID, from 1 to 2^48 − 1. */
export function randomReplica() {
  const [high, middle, low] = crypto.getRandomValues(new Uint16Array(3));
  return (high * 0x10000 + middle) * 0x10000 + low || 1;
}

/** Returns the number of Unicode scalars of a text. */
export const scalarCount = (text) => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

/** The text as a value, without network or clock. */
export class TextDocument {
  constructor(replica, snapshot = EMPTY) {
    this.replica = replica;
    this.epoch = snapshot.epoch;
    /** The latest known Lamport time. */
    this.time = snapshot.time;
    /** For each replica, the number of its last operation: each typed scalar and each deleted range is one. */
    this.version = new Map(snapshot.version);
    /** Blocks `{ time, replica, count, text }` of consecutive scalars; `text` is null for deleted ones. */
    this.blocks = snapshot.runs.map(([index, time, content]) => {
      const text = typeof content === "string" ? content : null;
      return { time, replica: snapshot.replicas[index], count: text === null ? content : scalarCount(text), text };
    });
    this.text = this.blocks.map(({ text }) => text ?? "").join("");
    /** Operations that wait for missing ones: a map from replica to a map from number. */
    this.waiting = new Map();
    this.waitingCount = 0;
  }

  // Local edits

  /** Replaces the text between two offsets; returns the batch to send. */
  replace(start, end, text) {
    const { left, ranges } = this.#names(start, end);
    return this.write(ranges, left, text);
  }

  /** Deletes ranges `[time, replica, count]`, then inserts after a scalar, or at the start if that is null. */
  write(ranges, left, text) {
    const operations = ranges.map((range) => ({ delete: range }));
    const scalars = [...text];
    let time = this.time + 1;
    for (let index = 0; index < scalars.length; index += OPERATION_LENGTH_MAX) {
      const part = scalars.slice(index, index + OPERATION_LENGTH_MAX);
      operations.push({ insert: part.join(""), time, ...(left && { after: left }) });
      time += part.length;
      left = [time - 1, this.replica];
    }
    const number = (this.version.get(this.replica) ?? 0) + 1;
    const batch = { epoch: this.epoch, replica: this.replica, number, operations };
    for (const operation of operations) this.#perform(operation, this.replica);
    if (operations.length > 0) this.version.set(this.replica, nextNumber(batch) - 1);
    return batch;
  }

  // Remote edits

  /** Applies a batch, in any order of arrival; returns the splices `{ start, end, text }`, in order. */
  apply(batch) {
    if (batch.epoch !== this.epoch) throw new Error(`the batch is of epoch ${batch.epoch}, not ${this.epoch}`);
    const splices = [];
    let { number } = batch;
    for (const operation of batch.operations) {
      if (!this.#applyIfReady(operation, number, batch.replica, splices)) this.#wait(operation, number, batch.replica);
      number += numberCount(operation);
    }
    this.#applyWaiting(splices);
    return splices;
  }

  /** Applies an operation if possible; returns whether it is part of the text. */
  #applyIfReady(operation, number, replica, splices) {
    const next = (this.version.get(replica) ?? 0) + 1;
    const end = number + numberCount(operation);
    if (end <= next) return true;
    if (number > next) return false;
    const rest = withoutFirst(operation, next - number, replica);
    const needed = rest.delete ?? (rest.after && [...rest.after, 1]);
    if (needed && !this.hasAll(needed)) return false;
    splices.push(...this.#perform(rest, replica));
    this.version.set(replica, end - 1);
    return true;
  }

  #wait(operation, number, replica) {
    const mine = this.waiting.get(replica) ?? new Map();
    this.waiting.set(replica, mine);
    const known = mine.get(number);
    // Of two operations with the same number the longer contains the shorter.
    if (known && numberCount(known) >= numberCount(operation)) return;
    if (!known && this.waitingCount >= WAITING_MAX) throw new TooManyWaiting(`${WAITING_MAX} operations wait`);
    if (!known) this.waitingCount += 1;
    mine.set(number, operation);
  }

  #applyWaiting(splices) {
    for (let hasApplied = this.waitingCount > 0; hasApplied;) {
      hasApplied = false;
      for (const [replica, mine] of this.waiting) {
        for (const number of [...mine.keys()].sort((one, other) => one - other)) {
          if (!this.#applyIfReady(mine.get(number), number, replica, splices)) break;
          mine.delete(number);
          this.waitingCount -= 1;
          hasApplied = true;
        }
      }
    }
  }

  #perform(operation, replica) {
    if (operation.delete) return this.#delete(operation.delete);
    const { insert: text, time, after } = operation;
    const count = scalarCount(text);
    this.time = Math.max(this.time, time + count - 1);
    const start = this.#insert({ time, replica, count, text }, after);
    return [this.#splice(start, start, text)];
  }

  #insert(block, parent) {
    const { blocks } = this;
    // The position of the scalar that will follow: after all scalars right of the parent with a later ID.
    let index = 0;
    let offset = 0;
    if (parent) {
      index = this.#find(parent);
      offset = parent[0] - blocks[index].time + 1;
    }
    for (; index < blocks.length; index += 1, offset = 0) {
      const next = blocks[index];
      if (offset === next.count) continue;
      const time = next.time + offset;
      if (time < block.time || (time === block.time && next.replica < block.replica)) break;
    }
    if (offset > 0 && index < blocks.length) {
      this.#split(index, offset);
      index += 1;
    }
    const start = this.#length(index);
    const last = blocks[index - 1];
    if (last && last.text !== null && continues(last, block)) {
      last.text += block.text;
      last.count += block.count;
    } else {
      blocks.splice(index, 0, block);
    }
    return start;
  }

  #delete([time, replica, count]) {
    const splices = [];
    const end = time + count;
    while (time < end) {
      let index = this.#find([time, replica]);
      const block = this.blocks[index];
      const next = Math.min(end, block.time + block.count);
      if (block.text !== null) {
        if (time > block.time) {
          this.#split(index, time - block.time);
          index += 1;
        }
        const part = this.blocks[index];
        if (next < part.time + part.count) this.#split(index, next - part.time);
        const start = this.#length(index);
        const { length } = this.blocks[index].text;
        this.blocks[index].text = null;
        this.#joinDeleted(index);
        splices.push(this.#splice(start, start + length, ""));
      }
      time = next;
    }
    return splices;
  }

  #joinDeleted(index) {
    for (const left of [index, index - 1]) {
      const [block, next] = [this.blocks[left], this.blocks[left + 1]];
      if (!block || !next || block.text !== null || next.text !== null || !continues(block, next)) continue;
      block.count += next.count;
      this.blocks.splice(left + 1, 1);
    }
  }

  #split(index, offset) {
    const { time, replica, count, text } = this.blocks[index];
    const cut = text === null ? 0 : utf16Offset(text, count, offset);
    this.blocks.splice(index, 1,
      { time, replica, count: offset, text: text === null ? null : text.slice(0, cut) },
      { time: time + offset, replica, count: count - offset, text: text === null ? null : text.slice(cut) });
  }

  #splice(start, end, text) {
    this.text = this.text.slice(0, start) + text + this.text.slice(end);
    return { start, end, text };
  }

  // Searching

  /** Returns the index of the block with a scalar, or −1. */
  #find([time, replica]) {
    return this.blocks.findIndex((block) =>
      block.replica === replica && block.time <= time && time < block.time + block.count);
  }

  has(id) {
    return this.#find(id) >= 0;
  }

  hasAll([time, replica, count]) {
    for (const end = time + count; time < end;) {
      const block = this.blocks[this.#find([time, replica])];
      if (!block) return false;
      time = block.time + block.count;
    }
    return true;
  }

  /** Returns the number of visible UTF-16 units left of a block. */
  #length(index) {
    let length = 0;
    for (let left = 0; left < index; left += 1) length += this.blocks[left].text?.length ?? 0;
    return length;
  }

  /** Returns the scalar that ends at an offset, null at the start, and the ranges between two offsets. */
  #names(start, end) {
    let left = null;
    const ranges = [];
    let position = 0;
    for (const { time, replica, count, text } of this.blocks) {
      if (text === null) continue;
      const low = Math.max(start - position, 0);
      const high = Math.min(end - position, text.length);
      if (position < start && low <= text.length) {
        left = [time + scalarOffset(text, count, low) - 1, replica];
      }
      if (low < high) {
        const first = scalarOffset(text, count, low);
        ranges.push([time + first, replica, scalarOffset(text, count, high) - first]);
      }
      position += text.length;
      if (position >= end && position > 0) break;
    }
    return { left, ranges };
  }

  /** Returns the offsets `[start, end]` of the visible parts of a range, from left to right. */
  visible([time, replica, count]) {
    const parts = [];
    let position = 0;
    for (const block of this.blocks) {
      if (block.text === null) continue;
      const first = Math.max(time - block.time, 0);
      const last = Math.min(time + count - block.time, block.count);
      if (block.replica === replica && first < last) {
        parts.push([
          position + utf16Offset(block.text, block.count, first), position + utf16Offset(block.text, block.count, last),
        ]);
      }
      position += block.text.length;
    }
    return parts;
  }

  /** Returns the visible parts of a range `[time, replica, count]`. */
  visibleRanges([time, replica, count]) {
    const ranges = [];
    for (const block of this.blocks) {
      const first = Math.max(time, block.time);
      const end = Math.min(time + count, block.time + block.count);
      if (block.text !== null && block.replica === replica && first < end) ranges.push([first, replica, end - first]);
    }
    return ranges;
  }

  // Anchors: positions that move with the text around them

  /** Returns an anchor: `["after", time, replica]` (bias "left") or `["before", time, replica]`. */
  anchor(offset, bias = "left") {
    if (bias === "left") {
      const { left } = this.#names(offset, offset);
      return left ? ["after", ...left] : ["start"];
    }
    if (offset >= this.text.length) return ["end"];
    const { ranges } = this.#names(offset, offset + (isPair(this.text, offset) ? 2 : 1));
    return ranges.length > 0 ? ["before", ranges[0][0], ranges[0][1]] : ["end"];
  }

  /** Returns the offset of an anchor; null when its neighbour has not arrived or was compacted away. */
  offset([side, time, replica]) {
    if (side === "start") return 0;
    if (side === "end") return this.text.length;
    const index = this.#find([time, replica]);
    if (index < 0) return null;
    const { text, count, time: first } = this.blocks[index];
    const start = this.#length(index);
    if (text === null) return start;
    return start + utf16Offset(text, count, time - first + (side === "after" ? 1 : 0));
  }

  // Snapshots

  snapshot(serial = 0) {
    const replicas = [];
    const runs = [];
    let last = null;
    for (const block of this.blocks) {
      if (last && (last.text === null) === (block.text === null) && continues(last, block)) {
        last.count += block.count;
        if (last.text !== null) last.text += block.text;
      } else {
        last = { ...block };
        runs.push(last);
      }
    }
    const index = ({ replica }) => {
      if (!replicas.includes(replica)) replicas.push(replica);
      return replicas.indexOf(replica);
    };
    return {
      epoch: this.epoch, serial, time: this.time,
      version: [...this.version].sort(([one], [other]) => one - other),
      runs: runs.map((run) => [index(run), run.time, run.text ?? run.count]), replicas,
    };
  }
}

/** Too many operations wait for missing ones. */
class TooManyWaiting extends Error {}

/**
 * A text synchronised with its backend: sends local edits, recovers missed entries, reloads when necessary.
 *
 * Requests: `snapshot()`, `recovery(serial, epoch)` and `send(batch)`, which resolve to the JSON of the response. An
 * error with the `status` 409 means a stale batch, 413 one that is too long, which is sent in halves, and another below 500
 * a refusal. An error without a status, or with another, says nothing about the batch: it is sent again.
 */
export class LiveText {
  /** Called with remote edits `{ start, end, text }`; the offsets of each are those after the previous one. */
  onsplices = (_splices) => {};
  /** Called when `isLoaded`, `isConnected` or `unsent` changes. */
  onstate = () => {};
  /** Called with the reason, and the texts that had been inserted, when local edits were refused and reverted. */
  onrefusal = (_reason, _texts) => {};

  isLoaded = false;
  isConnected = false;
  /** Why the backend could not be reached when it was asked last; null if it could. */
  failure = null;
  /** The unconfirmed local edits; store them and pass them to the next `LiveText`. */
  unsent;

  #requests;
  #document;
  #serial = 0;
  #serialSeen = 0;
  #mayHaveMissed = false;
  #mustReload = false;
  /** Why the unsent edits were refused; they are reverted as soon as the text is loaded. */
  #refusal = null;
  #isSending = false;
  #isFetching = false;
  #fetches = new Attempts();
  #sends = new Attempts();
  #outdatedCount = 0;
  #sendTimer = null;
  /** The entries received while the text is held; null when it is not. */
  #held = null;
  #release = () => {};
  #released = Promise.resolve();

  constructor(requests, unsent = [], replica = randomReplica()) {
    this.#requests = requests;
    this.unsent = unsent;
    this.#document = new TextDocument(replica);
  }

  get document() { return this.#document; }
  get text() { return this.#document.text; }

  /** Edits the text; returns the batch, or null when the text would become too long. */
  replace(start, end, text) {
    text = wellFormed(text);
    const length = scalarCount(this.text) - scalarCount(this.text.slice(start, end)) + scalarCount(text);
    if (length > TEXT_LENGTH_MAX && text.length > end - start) return null;
    const batch = this.#document.replace(start, end, text);
    this.#enqueue(batch);
    this.onstate();
    this.#sendSoon(SENDING_DELAY);
    return batch;
  }

  /** Defers remote edits until `release()`, during a composition in a text field. */
  hold() {
    if (this.#held) return;
    this.#held = [];
    this.#released = new Promise((resume) => { this.#release = resume; });
  }

  release() {
    const entries = this.#held ?? [];
    this.#held = null;
    this.#release();
    for (const entry of entries) this.receive(entry);
  }

  // Receiving

  /** Call it after each subscription; fetches what may have been missed. */
  connected({ mayHaveMissed = true } = {}) {
    this.isConnected = true;
    this.#mayHaveMissed ||= mayHaveMissed;
    this.onstate();
    this.#fetch();
    this.#sendSoon(0);
  }

  disconnected() {
    this.isConnected = false;
    this.onstate();
  }

  /** Asks the backend again at once, if it could not be reached. */
  retry() {
    if (this.failure === null) return;
    this.#fetches.hurry();
    this.#sendSoon(0);
  }

  #reached() {
    this.failure = null;
    this.onstate();
  }

  #failed(message) {
    this.failure = message;
    this.onstate();
  }

  /** Applies a log entry. */
  receive(entry) {
    if (this.#held) return void this.#held.push(entry);
    const splices = this.#take(entry);
    if (splices.length > 0) this.onsplices(splices);
    this.onstate();
    this.#fetch();
  }

  #take(entry) {
    if (entry.serial <= this.#serial) return [];
    this.#serialSeen = Math.max(this.#serialSeen, entry.serial);
    if (!this.isLoaded) return [];
    if (!entry.operations || entry.epoch !== this.#document.epoch) {
      this.#mustReload = true;
      return [];
    }
    try {
      const splices = this.#document.apply(entry);
      this.#forget(entry.replica, Math.min(this.#document.version.get(entry.replica) ?? 0, nextNumber(entry) - 1));
      if (entry.serial === this.#serial + 1) this.#serial = entry.serial;
      return splices;
    } catch (error) {
      // Missing operations are recovered; after any other error the backend's text is loaded.
      if (!(error instanceof TooManyWaiting)) this.#mustReload = true;
      return [];
    }
  }

  /** Fetches until nothing is missing. */
  async #fetch() {
    if (this.#isFetching) return;
    this.#isFetching = true;
    for (;;) {
      const wantsText = !this.isLoaded || this.#mustReload;
      if (!wantsText && !this.#mayHaveMissed && this.#serialSeen <= this.#serial) break;
      try {
        const answer = wantsText
          ? { snapshot: await this.#requests.snapshot() }
          : await this.#requests.recovery(this.#serial, this.#document.epoch);
        await this.#released;
        const splices = this.#fetched(answer);
        if (splices.length > 0) this.onsplices(splices);
        this.#fetches.succeeded();
        this.#reached();
      } catch ({ message }) {
        this.#failed(message);
        await this.#fetches.pause();
      }
    }
    this.#isFetching = false;
    this.#sendSoon(0);
  }

  #fetched({ snapshot, entries, serial }) {
    if (!snapshot) {
      if (this.#mustReload) return [];
      this.#mayHaveMissed = false;
      this.#serialSeen = serial;
      return entries.flatMap((entry) => this.#take(entry));
    }
    if (this.#isOutdated(snapshot)) return [];
    const before = this.text;
    this.#rebase(snapshot);
    this.isLoaded = true;
    this.#mustReload = false;
    this.#mayHaveMissed ||= this.#serialSeen > snapshot.serial;
    this.#serial = snapshot.serial;
    return difference(before, this.text);
  }

  /** Whether a loaded text lacks confirmed edits; after several times the backend has lost data. */
  #isOutdated(snapshot) {
    const { replica, version } = this.#document;
    const taken = this.unsent.find((batch) => batch.replica === replica)?.number ?? (version.get(replica) ?? 0) + 1;
    const known = new Map(snapshot.version).get(replica) ?? 0;
    const isOutdated = this.isLoaded && snapshot.epoch === this.#document.epoch
      && (snapshot.serial < this.#serial || known + 1 < taken);
    this.#outdatedCount = isOutdated ? this.#outdatedCount + 1 : 0;
    return isOutdated && this.#outdatedCount < 3;
  }

  /** Replaces the text by a loaded one and keeps the local edits that it lacks. */
  #rebase(snapshot) {
    const version = new Map(snapshot.version);
    this.unsent = this.unsent.map((batch) => after(batch, version.get(batch.replica) ?? 0))
      .filter(({ operations }) => operations.length > 0);
    if (this.#refusal !== null) return this.#revert(snapshot);
    const next = new TextDocument(this.#document.replica, snapshot);
    // A batch in flight may still be accepted: reapplying it under new IDs would duplicate it.
    if (this.#outdatedCount === 0 && this.unsent.every((batch) => batch.epoch === next.epoch)) {
      for (const batch of this.unsent) next.apply(batch);
      if (next.waitingCount === 0) {
        this.#document = next;
        return;
      }
    }
    const renewed = new TextDocument(randomReplica(), snapshot);
    const { typed, deleted } = unsentEdits(this.unsent, this.#document, renewed);
    this.unsent = [];
    this.#document = renewed;
    for (const { left, text } of typed) this.#enqueue(renewed.write([], left, text));
    if (deleted.length > 0) this.#enqueue(renewed.write(deleted, null, ""));
  }

  /** Replaces the text by a loaded one without the local edits, and returns what they had inserted to the app. */
  #revert(snapshot) {
    const document = new TextDocument(randomReplica(), snapshot);
    const { typed } = unsentEdits(this.unsent, this.#document, document);
    const reason = this.#refusal;
    this.#refusal = null;
    this.unsent = [];
    this.#document = document;
    this.onrefusal(reason, typed.map(({ text }) => text));
  }

  // Sending

  #enqueue(batch) {
    if (batch.operations.length === 0) return;
    const last = this.unsent.at(-1);
    // The first batch does not change while it is being sent.
    const isOpen = this.unsent.length > (this.#isSending ? 1 : 0);
    if (isOpen && last.replica === batch.replica && last.epoch === batch.epoch && nextNumber(last) === batch.number) {
      this.unsent[this.unsent.length - 1] = joined(last, batch);
    } else {
      this.unsent.push(batch);
    }
  }

  #forget(replica, number) {
    this.unsent = this.unsent.map((batch) => (batch.replica === replica ? after(batch, number) : batch))
      .filter(({ operations }) => operations.length > 0);
  }

  #sendSoon(delay) {
    if (this.#sendTimer !== null && delay > 0) return;
    clearTimeout(this.#sendTimer);
    this.#sendTimer = setTimeout(() => {
      this.#sendTimer = null;
      this.#send();
    }, delay);
  }

  async #send() {
    if (!this.isLoaded || this.#mustReload || this.#isSending || this.unsent.length === 0) return;
    const [first, ...rest] = this.unsent;
    const parts = partsOf(first);
    this.unsent = [...parts, ...rest];
    const batch = parts[0];
    this.#isSending = true;
    let delay = SENDING_DELAY;
    try {
      await this.#requests.send(batch);
      this.#forget(batch.replica, nextNumber(batch) - 1);
      this.#sends.succeeded();
      this.failure = null;
    } catch ({ status, message }) {
      const isRefused = status >= 400 && status < 500;
      this.failure = isRefused ? null : message;
      const halves = status === 413 && halvesOf(batch);
      if (status === 409) {
        this.#mustReload = true;
      } else if (halves) {
        // One that was reapplied meanwhile is sent, and refused, again.
        const index = this.unsent.indexOf(batch);
        if (index >= 0) this.unsent.splice(index, 1, ...halves);
        delay = 0;
      } else if (isRefused) {
        // Later edits may depend on it: they are reverted as well.
        this.#refusal = message;
        this.#mustReload = true;
      } else {
        delay = this.#sends.failed();
      }
    }
    this.#isSending = false;
    this.onstate();
    if (this.#mustReload) this.#fetch();
    else if (this.unsent.length > 0) this.#sendSoon(delay);
  }
}

// Reapplying local edits on another state of the text, in which IDs may be missing

function unsentEdits(batches, old, next) {
  const own = [];
  const deleted = [];
  let unseen = [];
  for (const batch of batches) {
    for (const operation of batch.operations) {
      if (operation.delete) {
        const [time, replica, count] = operation.delete;
        unseen = unseen.filter(({ id }) => !(id[1] === replica && id[0] >= time && id[0] < time + count));
        deleted.push(...next.visibleRanges(operation.delete));
      } else if (old.has([operation.time, batch.replica])) {
        own.push([operation.time, operation.time + numberCount(operation), batch.replica]);
      } else {
        [...operation.insert].forEach((scalar, index) => {
          const id = [operation.time + index, batch.replica];
          if (!next.has(id)) unseen.push({ id, scalar });
        });
      }
    }
  }
  const typed = [];
  let left = null;
  for (const block of old.blocks) {
    const scalars = block.text === null ? null : [...block.text];
    const isOwn = own.filter(([, , replica]) => replica === block.replica);
    for (let offset = 0; offset < block.count; offset += 1) {
      const id = [block.time + offset, block.replica];
      if (next.has(id)) {
        left = id;
      } else if (scalars && isOwn.some(([start, end]) => id[0] >= start && id[0] < end)) {
        // Runs with nothing left between them are merged.
        if (typed.at(-1)?.left !== left || typed.length === 0) typed.push({ left, text: "" });
        typed.at(-1).text += scalars[offset];
      }
    }
  }
  if (unseen.length > 0) {
    const end = next.anchor(next.text.length);
    typed.push({ left: end[0] === "after" ? end.slice(1) : null, text: unseen.map(({ scalar }) => scalar).join("") });
  }
  return { typed, deleted };
}

// Operations and batches

/** Returns the count of numbers of an operation: one for a word is equivalent to one for each letter. */
const numberCount = (operation) => (operation.delete ? 1 : scalarCount(operation.insert));

const nextNumber = (batch) => batch.operations.reduce((number, operation) => number + numberCount(operation), batch.number);

function withoutFirst(operation, count, replica) {
  if (count === 0 || operation.delete) return operation;
  const rest = [...operation.insert].slice(count).join("");
  return { insert: rest, time: operation.time + count, after: [operation.time + count - 1, replica] };
}

/** Returns the batch without the operations up to the number `last`. */
function after(batch, last) {
  if (last < batch.number) return batch;
  const operations = [];
  let { number } = batch;
  for (const operation of batch.operations) {
    const end = number + numberCount(operation);
    if (end > last + 1) operations.push(withoutFirst(operation, Math.max(last + 1 - number, 0), batch.replica));
    number = end;
  }
  return { ...batch, number: last + 1, operations };
}

/** Merges two consecutive batches and their consecutive insertions. */
function joined(batch, next) {
  const operations = [...batch.operations];
  for (const operation of next.operations) {
    const last = operations.at(-1);
    const goesOn = last?.insert && operation.insert && operation.time === last.time + numberCount(last)
      && operation.after?.[0] === operation.time - 1 && operation.after[1] === batch.replica
      && numberCount(last) + numberCount(operation) <= OPERATION_LENGTH_MAX;
    if (goesOn) operations[operations.length - 1] = { ...last, insert: last.insert + operation.insert };
    else operations.push(operation);
  }
  return { ...batch, operations };
}

/** Splits a batch into parts that fit into an event. */
function partsOf(batch) {
  const parts = [];
  let length = 0;
  let { number } = batch;
  for (const operation of batch.operations) {
    const size = new TextEncoder().encode(JSON.stringify(operation)).length + 1;
    if (parts.length === 0 || length + size > BATCH_LENGTH_MAX) {
      parts.push({ ...batch, number, operations: [] });
      length = 160;
    }
    parts.at(-1).operations.push(operation);
    length += size;
    number += numberCount(operation);
  }
  return parts;
}

/** Returns the two halves of a batch; null for a single scalar or deletion. */
function halvesOf({ operations, ...batch }) {
  let [first, second] = [operations.slice(0, operations.length / 2), operations.slice(operations.length / 2)];
  if (operations.length === 1) {
    const [operation] = operations;
    const count = Math.floor(numberCount(operation) / 2);
    if (count === 0) return null;
    first = [{ ...operation, insert: [...operation.insert].slice(0, count).join("") }];
    second = [withoutFirst(operation, count, batch.replica)];
  }
  const half = { ...batch, operations: first };
  return [half, { ...batch, number: nextNumber(half), operations: second }];
}

// Blocks and offsets

const continues = (block, next) => next.replica === block.replica && next.time === block.time + block.count;

const isPair = (text, offset) => text.codePointAt(offset) > 0xffff;

/** Returns the length of the first `count` scalars of a text in UTF-16 units. */
function utf16Offset(text, length, count) {
  if (text.length === length) return count;
  let offset = 0;
  for (let index = 0; index < count; index += 1) offset += isPair(text, offset) ? 2 : 1;
  return offset;
}

/** Returns the number of scalars in the first `offset` UTF-16 units of a text. */
function scalarOffset(text, length, offset) {
  return text.length === length ? offset : scalarCount(text.slice(0, offset));
}

/** Returns the splice from one text to another without their common prefix and suffix; none if equal. */
export function difference(old, text, caret = text.length) {
  if (old === text) return [];
  const shorter = Math.min(old.length, text.length);
  // Text after the caret was not typed just now.
  const tailMax = Math.min(shorter, text.length - caret);
  let tail = 0;
  while (tail < tailMax && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
  let head = 0;
  while (head < shorter - tail && old[head] === text[head]) head += 1;
  while (tail < shorter - head && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
  // A surrogate pair is replaced as a whole.
  if (head > 0 && isPair(text, head - 1)) head -= 1;
  else if (head > 0 && isPair(old, head - 1)) head -= 1;
  if (tail > 0 && isLow(text, text.length - tail)) tail -= 1;
  else if (tail > 0 && isLow(old, old.length - tail)) tail -= 1;
  return [{ start: head, end: old.length - tail, text: text.slice(head, text.length - tail) }];
}

const isLow = (text, offset) => {
  const unit = text.charCodeAt(offset);
  return unit >= 0xdc00 && unit < 0xe000;
};

/** Replaces unpaired surrogates by U+FFFD. */
function wellFormed(text) {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}
