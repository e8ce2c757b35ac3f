// Runs the vectors of this folder with `fanfare.js` and with the add-on for pusher-js, without network and real time.
//
//     node Tests/vectors/run.mjs [PART OF A NAME]
//
// The format is described in docs/internals/clients.md; `VectorTests.swift` and `ListVectorTests.swift` run the same files.
// With PUSHER_JS, the path of a bundle, the add-on runs over it instead of the stand-in.

import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Clock } from "./clock.mjs";
import { ListRun } from "./lists.mjs";
import { FakeSocket } from "./socket.mjs";

const folder = import.meta.dirname;
const clock = new Clock();
const faults = [];
Object.assign(globalThis, {
  WebSocket: FakeSocket,
  addEventListener() {},
  document: { addEventListener() {}, hidden: false },
  reportError: (error) => faults.push(error),
});

/** Copies a folder of modules, which Node takes for scripts where they are. */
function modules(path) {
  const copy = mkdtempSync(join(tmpdir(), "vectors-"));
  cpSync(path, copy, { recursive: true });
  writeFileSync(join(copy, "package.json"), `{"type":"module"}`);
  process.on("exit", () => rmSync(copy, { recursive: true }));
  return (name) => import(pathToFileURL(join(copy, name)));
}

const browserModule = modules(join(folder, "../../Sources/BrowserClient/Modules"));
const lists = await browserModule("live-list.js");
const { Fanfare, NotAuthorized } = await browserModule("fanfare.js");
await browserModule("fanfare-pusher.js");
const { PUSHER_JS } = process.env;
const pusherText = readFileSync(PUSHER_JS ?? join(folder, "../witnesses/pusher_stand_in.js"), "utf8");

/** The events that the app hears. */
const EVENTS = [
  "e", "client-e", "pusher:continuity", "pusher:subscription_error", "pusher:cache_miss", "pusher:subscription_count",
  "pusher:member_added", "pusher:member_removed",
];

function delivery(channel, event, data) {
  const { kind, replayed, reason, missed, type, id, subscription_count: count } = data ?? {};
  const text = {
    "pusher:continuity": { began: "began", unknown: "unknown", resumed: `resumed ${replayed}` }[kind]
      ?? `gap ${reason}${missed == null ? "" : ` ${missed}`}`,
    "pusher:subscription_error": `refused ${type}`,
    "pusher:cache_miss": "cache miss",
    "pusher:subscription_count": `count ${count}`,
    "pusher:member_added": `joined ${id}`,
    "pusher:member_removed": `left ${id}`,
  }[event] ?? `${event} ${JSON.stringify(data)}`;
  return `${channel}: ${text}`;
}

/** A run of one vector by one client; what the steps had as a result since the last check. */
class Run {
  sends = [];
  delivers = [];
  asks = [];
  loads = 0;
  errors = 0;
  authorization = "granted";
  #sockets = 0;
  #pendingLoads = [];
  #keys = [];
  #bound = new WeakSet();

  constructor() {
    FakeSocket.onsend = (text) => this.sends.push(this.#normal(JSON.parse(text)));
  }

  /** A sent message without signatures; keys are numbered in the order of their appearance. */
  #normal({ event, channel, data, key }) {
    const { channel: name, auth: _auth, channel_data: _channelData, ...request } = data ?? {};
    if (event === "pusher:subscribe") return { subscribe: name, ...request };
    if (event === "pusher:unsubscribe") return { unsubscribe: name };
    if (event.startsWith("pusher:")) return { [event.slice(7)]: true };
    if (key !== undefined && !this.#keys.includes(key)) this.#keys.push(key);
    return { event, channel, data, ...(key !== undefined && { key: this.#keys.indexOf(key) + 1 }) };
  }

  hear(channel, name) {
    if (this.#bound.has(channel)) return;
    this.#bound.add(channel);
    for (const event of EVENTS) channel.bind(event, (data) => this.delivers.push(delivery(name, event, data)));
  }

  ask(channel) {
    this.asks.push(channel);
    const signed = { auth: "app-key:0", ...(channel.startsWith("presence-") && { channel_data: `{"user_id":"me"}` }) };
    return { outcome: this.authorization, signed };
  }

  load(name) {
    this.loads += 1;
    return new Promise((resolve, reject) => {
      this.#pendingLoads.push({
        resolve: (position) => {
          this.delivers.push(`${name}: state`);
          resolve(position && { stream: position[0], serial: position[1] });
        },
        reject,
      });
    });
  }

  // The steps

  async open({ receipts = false }) {
    await clock.advanceUntil(() => this.isOpening, 60_000);
    this.#sockets += 1;
    FakeSocket.current.open();
    const data = { socket_id: `${this.#sockets}.1`, activity_timeout: 120, ...(receipts && { receipts }) };
    this.receive({ event: "pusher:connection_established", data: JSON.stringify(data) });
  }

  ack([channel, data]) {
    this.receive({ event: "pusher_internal:subscription_succeeded", channel, data: JSON.stringify(data) });
  }

  event([channel, serial]) {
    this.receive({ event: "e", channel, data: String(serial ?? "null"), ...(serial !== null && { serial }) });
  }

  /** The broker's receipt for the nth client event that has a key. */
  receipt([channel, number, serial]) {
    this.receive({ event: "pusher_internal:position", channel, key: this.#keys[number - 1], ...(serial && { serial }) });
  }

  receive(message) {
    FakeSocket.current.receive(JSON.stringify(message));
  }

  cut(code) {
    FakeSocket.current?.end(code);
  }

  async wait(time) {
    await clock.advance(time);
  }

  /** Waits until the client does something, but not longer than `timeMax`. */
  async until(timeMax) {
    await clock.advanceUntil(() => this.sends.length + this.asks.length + this.loads > 0 || this.isOpening, timeMax);
  }

  get isOpening() {
    return FakeSocket.current !== null && !FakeSocket.current.isOpen;
  }

  authorize(outcome) {
    this.authorization = outcome;
  }

  loaded(position) {
    const load = this.#pendingLoads.shift();
    if (position === "fails") load.reject(new Error("away for a moment"));
    else load.resolve(position);
  }
}

class FanfareRun extends Run {
  #channels = {};
  #fanfare = new Fanfare("app-key", {
    host: "broker.test",
    authorize: async ({ channel }) => {
      const { outcome, signed } = this.ask(channel);
      if (outcome === "refused") throw new NotAuthorized("not for you");
      if (outcome === "fails") throw new Error("away for a moment");
      return signed;
    },
  });

  begin() {
    this.#fanfare.onerror = () => (this.errors += 1);
    this.#fanfare.connect();
  }

  subscribe([name, { position, ...options } = {}]) {
    const at = position && { position: { stream: position[0], serial: position[1] } };
    this.#channels[name] = this.#fanfare.subscribe(name, { ...options, ...at });
    this.hear(this.#channels[name], name);
  }

  unsubscribe(name) { this.#fanfare.unsubscribe(name); }
  connect() { this.#fanfare.connect(); }
  disconnect() { this.#fanfare.disconnect(); }
  trigger([name, event, data]) { return this.#channels[name].trigger(event, data); }
  state(name) { this.#channels[name].state(() => this.load(name)); }
  position(name) { return this.#channels[name].position; }
  end() { this.#fanfare.disconnect(); }
}

class PusherRun extends Run {
  #pusher;

  begin() {
    const Pusher = loadPusher();
    globalThis.fanfareRecovery(Pusher);
    const customHandler = ({ channelName }, callback) => {
      const { outcome, signed } = this.ask(channelName);
      if (outcome === "granted") callback(null, signed);
      else callback(new Error("not for you"), null);
    };
    const options = { cluster: "", wsHost: "broker.test", wsPort: 80, forceTLS: false, disableStats: true,
      enabledTransports: ["ws"], channelAuthorization: { customHandler } };
    this.#pusher = new Pusher("app-key", options);
    this.#pusher.connection.bind("error", () => (this.errors += 1));
  }

  subscribe([name, { position, ...options } = {}]) {
    const at = position && { position: { stream: position[0], serial: position[1] } };
    this.hear(this.#pusher.subscribe(name, { ...options, ...at }), name);
  }

  unsubscribe(name) { this.#pusher.unsubscribe(name); }
  connect() { this.#pusher.connect(); }
  disconnect() { this.#pusher.disconnect(); }
  state(name) { this.#pusher.channel(name).state(() => this.load(name)); }
  position(name) { return this.#pusher.channel(name).position; }
  end() { this.#pusher.disconnect(); }
}

function loadPusher() {
  const window = { ...globalThis, WebSocket: FakeSocket, location: { protocol: "http:" } };
  new Function("window", "self", PUSHER_JS ? `(function () { ${pusherText} }).call(window)` : pusherText)(window, window);
  return window.Pusher;
}

const CLIENTS = { "fanfare.js": FanfareRun, "pusher-js": PusherRun };

/** A value as text with its members in order, to compare it. */
function text(value) {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isObject) return `{${Object.keys(value).filter((name) => value[name] !== undefined).sort()
    .map((name) => `${JSON.stringify(name)}:${text(value[name])}`)}}`;
  return Array.isArray(value) ? `[${value.map(text)}]` : JSON.stringify(value);
}

/** Returns the first difference of a list; undefined if there is none. */
async function listDifference(steps) {
  const run = new ListRun(lists);
  for (const [index, step] of steps.entries()) {
    run.commits = [];
    const { commits = [], shows, loading, pending, ...actions } = step;
    for (const [action, argument] of Object.entries(actions)) {
      if (action === "wait") await clock.advance(argument);
      else run[action](argument);
    }
    await clock.settle();
    const expected = { commits, shows, loading, pending };
    for (const [name, value] of Object.entries(expected)) {
      if (value === undefined || text(value) === text(run[name])) continue;
      return `step ${index + 1} ${text(actions)}: ${name} are ${text(run[name])}, not ${text(value)}`;
    }
  }
  clock.clear();
}

/** Returns the first difference; undefined if there is none. */
async function difference(steps, client) {
  const run = new client();
  run.begin();
  await clock.settle();
  try {
    for (const [index, step] of steps.entries()) {
      Object.assign(run, { sends: [], delivers: [], asks: [], loads: 0, errors: 0 });
      const { sends = [], delivers = [], asks = [], loads = 0, errors, result, position, opens, ...actions } = step;
      let returned;
      for (const [action, argument] of Object.entries(actions)) returned = await run[action](argument);
      await clock.settle();
      const expected = { sends, delivers, asks, loads };
      const seen = { sends: run.sends, delivers: run.delivers, asks: run.asks, loads: run.loads };
      if (sends === "any") delete expected.sends;
      if (asks === "any") delete expected.asks;
      if (errors !== undefined) [expected.errors, seen.errors] = [errors, run.errors];
      if (result !== undefined) [expected.result, seen.result] = [result, returned];
      if (opens !== undefined) {
        [expected.opens, seen.opens] = [opens, run.isOpening];
      }
      for (const [name, value] of Object.entries(position ?? {})) {
        const { stream, serial } = run.position(name) ?? {};
        expected[`position of ${name}`] = value;
        seen[`position of ${name}`] = stream === undefined ? null : [stream, serial];
      }
      for (const name of Object.keys(expected)) {
        if (text(expected[name]) === text(seen[name])) continue;
        return `step ${index + 1} ${text(actions)}: ${name} are ${text(seen[name])}, not ${text(expected[name])}`;
      }
      if (faults.length > 0) return `step ${index + 1}: ${faults.splice(0)[0].stack}`;
    }
  } finally {
    run.end();
    clock.clear();
    FakeSocket.current = null;
  }
}

/** Runs it with the shortest and with the longest random delays. */
async function differenceAtExtremes(steps, client) {
  for (const random of [0, 0.999999]) {
    Math.random = () => random;
    const message = await difference(steps, client);
    if (message) return message;
  }
}

const counts = {};
let failures = 0;
let vectors = 0;
const failed = (name, message) => {
  failures += 1;
  console.error(`${name}: ${message}`);
};
for (const file of readdirSync(folder).filter((name) => name.endsWith(".json")).sort()) {
  const clients = file === "lists.json" ? ["fanfare.js"] : Object.keys(CLIENTS);
  for (const { name, clients: those = clients, steps } of JSON.parse(readFileSync(join(folder, file)))) {
    if (process.argv[2] && !name.includes(process.argv[2])) continue;
    vectors += 1;
    for (const client of clients.filter((client) => those.includes(client))) {
      const message = file === "lists.json" ? await listDifference(steps) : await differenceAtExtremes(steps, CLIENTS[client]);
      counts[client] = (counts[client] ?? 0) + 1;
      if (message) failed(`${client}, ${file}, ${name}`, message);
    }
  }
}
console.log(`${vectors} vectors; ${Object.entries(counts).map(([client, count]) => `${client} ${count}`).join(", ")}; ${failures} failed`);
process.exit(failures > 0 ? 1 : 0);
