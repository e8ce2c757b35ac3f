// The types of fanfare-live.js. docs/fanfare-js.md describes what the backend of a live list does.

import type { Continuity, Fanfare } from "./fanfare.js";

/** What identifies a row; created by the client that adds it. */
export type RowID = string | number;

/** A row of a list. */
export interface Row {
  id: RowID;
}

/** A part of an edit; `after` is the row before, or null for the first place. */
export type Operation<R extends Row = Row> =
  | { op: "put"; row: R; after: RowID | null }
  | { op: "move"; id: RowID; after: RowID | null }
  | { op: "update"; row: Row & Partial<Omit<R, "id">> }
  | { op: "remove"; id: RowID };

/** Inserts a row, or replaces and moves the one with its ID. */
export function put<R extends Row>(row: R, after: RowID | null): { op: "put"; row: R; after: RowID | null };
export function move(id: RowID, after: RowID | null): { op: "move"; id: RowID; after: RowID | null };
/** Updates the given fields of a row; the others stay. */
export function update<R extends Row>(row: R): { op: "update"; row: R };
export function remove(id: RowID): { op: "remove"; id: RowID };
/** Returns the anchor of a row at `index` of `rows`: the ID of the row before it, or null. */
export function anchorAt(rows: readonly Row[], id: RowID, index: number): RowID | null;
/** Returns an ID for a new row: a random integer. */
export function newRowID(): number;
/** Returns `rows` with one operation applied. */
export function applied<R extends Row>(rows: readonly R[], operation: Operation<R>): readonly R[];

/** The changes from one list of rows to another, as of a table view: deletions before them, insertions after them. */
export interface RowChanges {
  deletes: number[];
  inserts: number[];
  moves: { from: number; to: number }[];
  updates: number[];
}

export function rowChanges<R extends Row>(
  before: readonly R[], after: readonly R[], isSame?: (row: R, other: R) => boolean,
): RowChanges;

/** A change of the rows: by `operations` of an edit, or by a load, which has none. */
export interface ListUpdate<R extends Row> {
  rows: readonly R[];
  changes: RowChanges;
  operations: Operation<R>[];
  isOwn: boolean;
}

/** What a list shows. */
export interface ListView<R extends Row> {
  readonly rows: readonly R[];
  readonly isLoaded: boolean;
  readonly revision: number | null;
  /** The IDs of the rows with unconfirmed edits. */
  readonly pendingIDs: ReadonlySet<RowID>;
  /** Why the list cannot be loaded, or edits cannot be saved yet; both are tried again. */
  readonly problems: { readonly load?: Error | null; readonly edit?: Error | null };
}

/** The events of a list, and their data. */
export interface ListEvents<R extends Row> {
  change: ListUpdate<R>;
  /** `error` is null when the problem is solved. */
  problem: { kind: "load" | "edit"; error: Error | null };
  /** An edit was reverted; `texts` are those that it had put into rows. */
  refused: { error: Refused; operations: Operation<R>[]; texts: string[] };
  continuity: Continuity & { changes: number };
}

export interface ListOptions {
  /** `GET base` returns `{ revision, rows }`; `POST base/operations` takes `{ mutation, operations }` and returns `{ revision }`. */
  base: string;
  /** The channel whose event `list_changed` has `{ revision, mutation, operations }`. */
  channel: string;
  /** Sends both requests; by default the function `request`. */
  request?: (method: "GET" | "POST", url: string, body?: any) => Promise<any>;
}

/** A list that is loaded from the backend, updated by events, and edited optimistically; nothing happens before it is followed. */
export class LiveList<R extends Row = any> {
  constructor(options: ListOptions);
  onchange: (update: ListUpdate<R>) => void;
  /** What is shown; a new object with each change. */
  view: ListView<R>;
  get rows(): readonly R[];
  get isLoaded(): boolean;
  get revision(): number | null;
  get pendingIDs(): ReadonlySet<RowID>;
  row(id: RowID): R | undefined;
  /** Follows the channel until the returned function is called; parts of a page may do so independently. */
  follow(client: Fanfare<any>): () => void;
  /** Applies a batch of operations immediately and sends it to the backend. */
  edit(operations: Operation<R>[]): void;
  /** Loads the list, again after a running load. */
  load(): Promise<void>;
  /** Retries at once what has failed. */
  retry(): void;
  bind<E extends keyof ListEvents<R>>(event: E, action: (data: ListEvents<R>[E]) => void): this;
  unbind<E extends keyof ListEvents<R>>(event: E, action?: (data: ListEvents<R>[E]) => void): this;
  bind_global(action: (event: string, data: any) => void): this;
  unbind_global(action: (event: string, data: any) => void): this;
  unbind_all(): this;
}

/** The backend refused an edit; `message` is the reason, `field` the field that it is about. */
export class Refused extends Error {
  constructor(message: string, status: number, field?: string | null);
  status: number;
  field: string | null;
}

/** The backend cannot answer now: what was sent is kept, and sent again. */
export class BackendUnavailable extends Error {}

/** Sends a request and resolves to the JSON of the response; throws `Refused` or `BackendUnavailable`. */
export function request(
  method: string, url: string, body?: any, options?: { headers?: Record<string, string>; signal?: AbortSignal },
): Promise<any>;

/** The attempts to reach a server: each one that fails is followed by a longer pause, up to eight seconds. */
export class Attempts {
  get haveFailed(): boolean;
  succeeded(): void;
  /** Counts a failure; returns the milliseconds until the next attempt. */
  failed(): number;
  /** Counts a failure, and waits until the next attempt. */
  pause(): Promise<void>;
  /** Ends the pause, if there is one. */
  hurry(): void;
}

/** Edits that outlive the page, in the browser's storage. */
export class Unsent<Edit = any> {
  constructor(name: string, pageID: string);
  /** Returns the stored edits of earlier pages. */
  adopt(): Edit[];
  keep(edits: readonly Edit[]): void;
}

/** The state of a list, without I/O. */
export class ListModel<R extends Row = any> {
  revision: number | null;
  get rows(): readonly R[];
  get pendingIDs(): Set<RowID>;
  get unanswered(): { mutation: string; operations: Operation<R>[]; revision: null }[];
  /** Whether a change is missing; then the list must be loaded. */
  get hasGap(): boolean;
  /** Returns the state before a snapshot is requested, for `replace`. */
  mark(): { revision: number | null; early: number[] };
  replace(snapshot: { revision: number; rows: R[] }, mark: { revision: number | null; early: number[] }): void;
  /** Handles a change; returns the applied operations of other clients. */
  receive(change: { revision: number; mutation: string; operations: Operation<R>[] }): Operation<R>[];
  edit(operations: Operation<R>[]): { mutation: string; operations: Operation<R>[]; revision: number | null };
  restore(edit: { mutation: string; operations: Operation<R>[] }): void;
  confirm(edit: { revision: number | null }, revision: number): void;
  withdraw(edit: { revision: number | null }): void;
}

/** Returns a new UUID. */
export function uuid(): string;
