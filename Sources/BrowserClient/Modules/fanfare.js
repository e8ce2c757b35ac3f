// Fanfare's client for web pages, workers and Node.

// A client of the Pusher Channels protocol, version 7. It reconnects automatically, restores its subscriptions, and gets
// the events that it has missed, each once and in order, or reports a gap.
//
//     import { Fanfare } from "/fanfare.js";
//
//     const fanfare = new Fanfare("app-key", { host: "127.0.0.1", port: 6001, authEndpoint: "/auth" });
//     const users = fanfare.subscribe("userslist");
//     users.bind("addUser", (user) => list.add(user));
//     users.state(async () => list.show(await (await fetch("/users")).json()));
//     fanfare.connect();
//
// The protocol of positions is described in docs/proof/protocol.md, "Positions and replays".

import { NotAuthorized, askEndpoint } from "./authorization.js";
import { Bindings } from "./bindings.js";
import { Channel } from "./channel.js";
import { LeftChannels } from "./left-channels.js";
import { Outbox, isClientEvent } from "./outbox.js";
import { pause, pauseBefore } from "./pauses.js";
import { Subscription } from "./subscription.js";

export { Channel, NotAuthorized };

export const VERSION = "0.2.0";

// All times are milliseconds.
const ESTABLISH_TIME_MAX = 10_000;
const ACTIVITY_TIMEOUT_MAX = 120_000;
const PONG_TIME_MAX = 30_000;
/** The same when there is a reason for doubt: the network has changed, or the page was hidden. */
const CHECK_TIME_MAX = 5_000;
/** The shortest silence that the end of a connection is blamed on, and the least before a ping. */
const SILENCE_MIN = 10_000;
/** The age from which the end of a connection begins the count of failures anew. */
const STABLE_TIME = 10_000;

/**
 * A connection that reconnects automatically.
 *
 * `onstate` is called with each state:
 * - `connecting`
 * - `connected`, with `{ socketID }`
 * - `waiting`, with `{ retryAt, reason }`: time in milliseconds as of `Date.now()`
 * - `suspended`, by `suspend()`
 * - `stopped`, with `{ code, reason }`: by the server or by `disconnect()`; `connect()` reconnects
 */
export class Fanfare extends Bindings {
  onstate = (_state, _detail) => {};
  /** Called with a `pusher:error` that does not end the connection, and other reports: `{ code, message }`. */
  onerror = (_error) => {};
  /** The channel of the signed-in user's events; `user.id` is the user's id. */
  user;
  /** The present state and its details, such as `{ state: "connected", socketID }`; "initialized" before `connect()`. */
  connection = { state: "initialized" };
  /** The socket ID, or null while not connected. */
  socketID = null;

  #socket = null;
  #subscriptions = new Map();
  #left;
  #userSubscription;
  #outbox;
  #isSigningIn = false;
  #activityTimeout = ACTIVITY_TIMEOUT_MAX;
  /** The silence that something between page and broker has shown to allow. */
  #silenceMax = ACTIVITY_TIMEOUT_MAX;
  /** When something was received last. */
  #heardAt = 0;
  /** The failures in a row since a connection was stable, without one that it tried again after at once; -1 before that. */
  #failures = -1;
  #establishedAt = 0;
  /** The timer of the handshake, of inactivity, or of the next attempt. */
  #timer = null;
  #isWaiting = false;
  /** Removes the functions that listen to the page. */
  #page = null;
  /** Aborts what was asked for the connection's socket ID, when the connection ends. */
  #connection = new AbortController();
  /** What to call for each ping without a pong: with true for the pong, with false for the end of the connection. */
  #pings = [];

  /**
   * Options:
   * - `host`, `port`, `tls` (default false), `path`: the broker; by default the server that this file was loaded from
   * - `WebSocket`: the class to connect with, where there is none: in Node before version 22
   * - `tlsPort`: the port of a server that requires TLS
   * - `authorize`: an async function that takes `{ socketID, channel, signal }`, without `channel` for a sign-in, and
   *   returns the app's signature: `{ auth, channel_data }` or `{ auth, user_data }`; `signal` is aborted when the
   *   signature is of no use any more
   * - `authEndpoint`, `userAuthEndpoint`, `authHeaders`: the app's URLs for that, which get a form as from pusher-js
   * - `decrypt`: the function of fanfare-encrypted.js, for encrypted channels; without it their data stays encrypted
   * - `recovery` (default true): whether missed events are asked for
   * - `clientEventsPerSecond` (default 10): the broker's limit; more are delayed
   * - `resubscribeGrace` (default 30,000 milliseconds): the time for which a channel that was left keeps its position; 0 for
   *   none
   */
  constructor(key, options = {}) {
    super();
    this.key = key;
    const server = options.host ? {} : home();
    this.options = { ...server, recovery: true, clientEventsPerSecond: 10, resubscribeGrace: 30_000, ...options };
    this.options.port ??= this.options.tls ? 443 : 80;
    this.options.authorize ??= (request) => askEndpoint(this.options, request);
    this.#left = new LeftChannels(this.options.resubscribeGrace);
    this.#userSubscription = this.#makeSubscription("#server-to-user-");
    this.user = this.#userSubscription.channel;
    this.#outbox = new Outbox(this.options.clientEventsPerSecond, {
      send: ({ event, data, subscription, key }) => this.#send(event, data, subscription.name, key),
      failed: (message) => this.onerror({ message }),
    });
  }

  /** The broker's URL, without the path of an app. */
  get url() {
    const { host, port, tls, path } = this.options;
    return `${tls ? "wss" : "ws"}://${host}:${port}${path ?? ""}`;
  }

  /** Connects; while waiting for a retry, connects immediately. */
  connect() {
    if (this.#socket) return;
    if (!this.options.host) throw new Error("`host` is not set");
    this.#listen();
    if (!this.#isWaiting) this.#failures = -1;
    this.#open();
  }

  /** Ends the connection until `connect()`; client events that wait are dropped. */
  disconnect() {
    this.#drop();
    this.#outbox.clear();
    this.#page?.abort();
    this.#page = null;
    this.#became("stopped", { code: 1000, reason: "disconnected by this page" });
  }

  /** Ends the connection and all subscriptions, and unbinds everything: nothing of it stays with the page. */
  destroy() {
    for (const name of this.#subscriptions.keys()) this.unsubscribe(name);
    this.disconnect();
    this.user.unbind_all();
    this.unbind_all();
  }

  /** Ends the connection until `connect()`; what was missed arrives then, and client events that wait are sent. */
  suspend() {
    this.#drop();
    this.#became("suspended");
  }

  /** Sends a ping; resolves with the milliseconds until the broker's pong, or with null if the connection ends first. */
  ping() {
    if (!this.socketID) return Promise.resolve(null);
    const begin = performance.now();
    return new Promise((resolve) => {
      this.#ping(PONG_TIME_MAX, (isAnswered) => resolve(isAnswered ? performance.now() - begin : null));
    });
  }

  /**
   * Subscribes, also after each reconnect. Options, for a new subscription:
   * - `position`: go on behind this position, `{ stream, serial }`, whose state the page has
   * - `rewind`: begin with earlier events, `{ count }` or `{ seconds }`, where the broker's rule allows it
   * - `fresh`: begin anew, although the channel was left within `resubscribeGrace`
   *
   * A channel that was left within that time continues at its position, and on the same connection with the same signature.
   * One that is subscribed keeps its place: if that is ahead of `position`, `pusher:continuity` reports a gap.
   */
  subscribe(name, options = {}) {
    let subscription = this.#subscriptions.get(name);
    if (!subscription) {
      const left = this.#left.take(name);
      subscription = this.#makeSubscription(name, options, options.fresh ? undefined : left);
      this.#subscriptions.set(name, subscription);
      if (this.socketID) this.#requestSubscription(subscription);
    } else {
      if (options.position) subscription.startBehind(options.position);
      if (subscription.isRefused && this.socketID) this.#requestSubscription(subscription);
    }
    return subscription.channel;
  }

  /** Returns the channel, if it is subscribed. */
  channel(name) {
    return this.#subscriptions.get(name)?.channel;
  }

  /** Ends a subscription; its position is forgotten after `resubscribeGrace`. */
  unsubscribe(name) {
    const subscription = this.#subscriptions.get(name);
    if (!subscription) return;
    const { isRequested } = subscription;
    this.#left.keep(name, subscription.abandon());
    this.#outbox.clear(subscription);
    this.#subscriptions.delete(name);
    if (isRequested) this.#send("pusher:unsubscribe", { channel: name });
  }

  /** Signs in the user that `authorize` returns, also after each reconnect. */
  signIn() {
    if (this.#isSigningIn) return;
    this.#isSigningIn = true;
    if (this.socketID) this.#requestSignIn();
  }

  #makeSubscription(name, options, left) {
    return new Subscription(name, options, {
      trigger: (...event) => this.#trigger(...event),
      resubscribe: (subscription) => this.#resubscribe(subscription),
      refused: (subscription, error) => this.#refused(subscription, error),
      opened: () => this.#outbox.flush(),
      failed: (message) => this.onerror({ message }),
      emit: (...event) => this.emit(...event),
      decrypt: this.options.decrypt,
    }, left);
  }

  /** Reports a state, as the last step: the page may end or destroy the client meanwhile. */
  #became(state, detail = {}) {
    this.connection = { state, ...detail };
    this.onstate(state, detail);
    this.emit("fanfare:state", this.connection, {});
  }

  /** Tries again at once when the network or the page returns; Node has neither, workers have no document. */
  #listen() {
    if (this.#page) return;
    // With its signal, it is also the options of the listeners.
    const page = this.#page = new AbortController();
    const { addEventListener, document } = globalThis;
    const wakeUp = () => this.#wakeUp();
    addEventListener?.("online", wakeUp, page);
    addEventListener?.("offline", wakeUp, page);
    addEventListener?.("pageshow", ({ persisted }) => persisted && wakeUp(), page);
    document?.addEventListener("visibilitychange", () => document.hidden || wakeUp(), page);
  }

  #open() {
    this.#drop();
    const query = `protocol=7&client=fanfare-js&version=${VERSION}&receipts=true`;
    const { WebSocket = globalThis.WebSocket } = this.options;
    const socket = new WebSocket(`${this.url}/app/${encodeURIComponent(this.key)}?${query}`);
    this.#socket = socket;
    // Ignores late events of a replaced socket.
    const ifCurrent = (step) => (event) => this.#socket === socket && step(event);
    socket.onmessage = ifCurrent((event) => this.#receive(event.data));
    // Node's `ws` throws an error that nothing handles; each is followed by the close.
    socket.onerror = () => {};
    socket.onclose = ifCurrent((event) => {
      if (!event.wasClean && this.socketID) this.#learnFromCut();
      this.#ended(event.code, event.reason);
    });
    this.#after(ESTABLISH_TIME_MAX, () => this.#ended(1006, "connection timed out"));
    this.#became("connecting");
  }

  /** Drops the socket without waiting for its closing handshake. */
  #drop() {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    this.socketID = null;
    this.#isWaiting = false;
    this.#connection.abort();
    for (const subscription of [this.#userSubscription, ...this.#subscriptions.values()]) subscription.ended();
    this.#outbox.connectionEnded();
    for (const ended of this.#pings.splice(0)) ended(false);
    socket?.close();
  }

  #after(time, step) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(step, time);
  }

  // Messages

  #receive(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return this.onerror({ message: "a message is not JSON" });
    }
    const data = decoded(message.data);
    if (!this.socketID) return this.#establish(message.event, data);

    this.#expectActivity();
    const isUsers = message.channel === this.#userSubscription.name;
    const subscription = isUsers ? this.#userSubscription : this.#subscriptions.get(message.channel);
    switch (message.event) {
      case "pusher:ping":
        return this.#send("pusher:pong", {});
      case "pusher:pong":
        return this.#pings.shift()?.(true);
      case "pusher:error":
        return this.onerror(data ?? {});
      case "pusher:signin_success":
        return this.#signedIn(data);
      case "pusher_internal:subscription_succeeded":
        return subscription?.acknowledge(data, this.socketID);
      case "pusher_internal:member_added":
        return subscription?.join(data);
      case "pusher_internal:member_removed":
        return subscription?.leave(data);
      case "pusher_internal:subscription_count":
        return subscription?.emit("pusher:subscription_count", data);
      case "pusher_internal:position":
        if (message.key) this.#outbox.confirm(message.key);
        return subscription?.receivePosition(message.serial);
      default:
        if (!message.event?.startsWith("pusher_internal:")) subscription?.receive(message, data);
    }
  }

  /** Handles the first message: `connection_established` or an error. */
  #establish(event, data) {
    if (event === "pusher:error") return this.#ended(data?.code, data?.message);
    if (event !== "pusher:connection_established" || !data?.socket_id) {
      return this.#ended(1002, "not a server of this protocol");
    }
    this.socketID = data.socket_id;
    this.#connection = new AbortController();
    this.#establishedAt = performance.now();
    this.#outbox.expectsReceipts = data.receipts === true;
    const timeout = data.activity_timeout * 1000 || ACTIVITY_TIMEOUT_MAX;
    this.#activityTimeout = Math.min(timeout, this.#silenceMax);
    this.#expectActivity();
    if (this.#isSigningIn) this.#requestSignIn();
    for (const subscription of this.#subscriptions.values()) this.#requestSubscription(subscription);
    // Last: what the callback subscribes to is requested at once, and must not be requested twice.
    this.#became("connected", { socketID: this.socketID });
  }

  #send(event, data, channel, key) {
    this.#socket.send(JSON.stringify({ event, channel, data, key }));
  }

  /** Sends or queues a client event; it waits for its subscription, unless that was refused or ended. */
  #trigger(subscription, event, data, isTransient) {
    const { name } = subscription;
    const isWanted = this.#subscriptions.get(name) === subscription && !subscription.isRefused;
    if (!isWanted || !isClientEvent(event, data, name)) return false;
    if (!isTransient) return this.#outbox.add({ subscription, event, data });
    if (!subscription.isSubscribed || subscription.tracking.isReplaying) return false;
    this.#send(event, data, name);
    return true;
  }

  // Subscriptions, the sign-in and their signatures

  async #requestSubscription(subscription) {
    const { name } = subscription;
    const signal = subscription.beginAttempt();
    if (!/^(private|presence)-/.test(name)) return this.#subscribe(subscription, { auth: "" });
    const { socketID } = this;
    // A signature is valid for a whole connection: behind a hole, and for a channel that was left. The key of an encrypted
    // channel comes with it, and may be another one by now.
    if (subscription.signature?.socketID !== socketID || name.startsWith("private-encrypted-")) {
      const signed = await this.#authorized({ channel: name, signal }, ({ message }) => {
        const error = { type: "AuthError", error: message };
        subscription.emit("pusher:subscription_error", error);
        this.#refused(subscription, error);
      });
      if (!signed) return;
      subscription.signature = { socketID, signed };
    }
    const { auth, channel_data } = subscription.signature.signed;
    subscription.me = channel_data && JSON.parse(channel_data).user_id;
    this.#subscribe(subscription, { auth, channel_data });
  }

  #subscribe(subscription, signed) {
    subscription.isRequested = true;
    const position = this.options.recovery ? subscription.tracking.request : {};
    this.#send("pusher:subscribe", { ...signed, channel: subscription.name, ...position });
  }

  /** Drops what waits for a refused subscription; tries again later if the broker is overloaded. */
  #refused(subscription, error) {
    // A listener has left the channel.
    if (![this.#userSubscription, this.#subscriptions.get(subscription.name)].includes(subscription)) return;
    const status = error?.status;
    if (status === 429 || status >= 500) {
      subscription.failures += 1;
      return this.#resubscribe(subscription, subscription.failures);
    }
    subscription.isRefused = true;
    if (this.#outbox.clear(subscription)) this.onerror({ message: `the client events for ${subscription.name} were dropped` });
  }

  /** Subscribes again, from the channel's position; at once, or later if that did not help before. */
  async #resubscribe(subscription, failures = subscription.tracking.holes - 1) {
    const { isRequested } = subscription;
    subscription.ended();
    if (!this.socketID) return;
    if (isRequested) this.#send("pusher:unsubscribe", { channel: subscription.name });
    const signal = subscription.beginAttempt();
    if (failures > 0) await pause(pauseBefore(failures));
    if (!signal.aborted) this.#requestSubscription(subscription);
  }

  async #requestSignIn() {
    const { signal } = this.#connection;
    const signed = await this.#authorized({ signal }, (error) => this.onerror({ message: error.message }));
    if (signed) this.#send("pusher:signin", { auth: signed.auth, user_data: signed.user_data });
  }

  #signedIn({ user_data }) {
    const { id } = JSON.parse(user_data);
    const name = `#server-to-user-${id}`;
    const subscription = this.#userSubscription;
    // The position of another user's channel means nothing here.
    if (subscription.name !== name) subscription.track(null);
    subscription.name = name;
    this.user.id = id;
    subscription.beginAttempt();
    this.#subscribe(subscription, { auth: "" });
    subscription.emit("pusher:signin_success", { id });
  }

  /** Returns the backend's signature; null when it refuses or the request is obsolete. */
  async #authorized(request, refused) {
    const { socketID } = this;
    const { signal } = request;
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        const signed = await this.options.authorize({ socketID, ...request });
        return signal.aborted ? null : signed;
      } catch (error) {
        if (signal.aborted) return null;
        if (error instanceof NotAuthorized) return refused(error);
        this.onerror({ message: `${request.channel ?? "the sign-in"} is not authorized yet: ${error?.message ?? error}; asking again` });
        await pause(pauseBefore(attempt));
      }
    }
    return null;
  }

  // Inactivity: ping after the activity timeout, disconnect without a pong.

  #expectActivity() {
    this.#heardAt = performance.now();
    this.#after(this.#activityTimeout, () => this.#ping(PONG_TIME_MAX));
  }

  /** Pings earlier from now on, if the connection was silent: a proxy has probably ended it for that. */
  #learnFromCut() {
    const silence = performance.now() - this.#heardAt;
    if (this.#pings.length > 0 || silence < SILENCE_MIN || silence >= this.#activityTimeout) return;
    this.#silenceMax = Math.max(silence * 0.75, SILENCE_MIN);
  }

  #ping(time, ended = () => {}) {
    this.#pings.push(ended);
    this.#send("pusher:ping", {});
    this.#after(time, () => this.#ended(4201, "no pong from the server"));
  }

  /** Retries at once, or checks a connection that may be dead. */
  #wakeUp() {
    if (this.#isWaiting) this.#open();
    else if (this.socketID) this.#ping(CHECK_TIME_MAX);
  }

  // The end of a connection and the reaction to its code

  #ended(code, reason) {
    if (this.socketID && performance.now() - this.#establishedAt >= STABLE_TIME) this.#failures = -1;
    this.#drop();
    if (code === 4000 && !this.options.tls && this.options.tlsPort) {
      this.options = { ...this.options, tls: true, port: this.options.tlsPort };
      return this.#open();
    }
    if (code >= 4000 && code < 4100) return this.#became("stopped", { code, reason: reason || `refused with code ${code}` });
    // Only the first attempt is immediate, to avoid overloading a failing server.
    const atOnce = code >= 4200 && code < 4300 && this.#failures < 0;
    this.#failures = atOnce ? 0 : Math.max(this.#failures, 0) + 1;
    const delay = atOnce ? 0 : pauseBefore(this.#failures);
    this.#isWaiting = true;
    this.#after(delay, () => this.#open());
    this.#became("waiting", { retryAt: Date.now() + delay, reason });
  }
}

/** The broker that this file was loaded from, if it was: not in Node, nor in a bundle. */
function home() {
  if (!import.meta.url?.startsWith("http")) return {};
  const { protocol, hostname, port, pathname } = new URL(".", import.meta.url);
  return { host: hostname, port: port || undefined, tls: protocol === "https:", path: pathname.slice(0, -1) };
}

/** Decodes data, which is JSON in a string; a string that is not JSON is text. */
function decoded(data) {
  if (typeof data !== "string") return data;
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}
