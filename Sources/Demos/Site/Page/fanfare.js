// A client of the Pusher Channels protocol, version 7, for browsers. It reconnects automatically, restores its
// subscriptions, and gets the events that it has missed, each once and in order, or tells that there is a gap.
//
//     import { Fanfare } from "/fanfare.js";
//
//     const fanfare = new Fanfare("app-key", { host: "127.0.0.1", port: 6001, authEndpoint: "/auth" });
//     const users = fanfare.subscribe("userslist");
//     users.bind("addUser", (user) => list.add(user));
//     users.state(async () => list.show(await (await fetch("/users")).json()));
//     fanfare.connect();
//
// The protocol of positions is described in PROTOCOL.md, "Positions and replays".

export const VERSION = "0.2.0";

// All times are milliseconds.
const ESTABLISH_TIME_MAX = 10_000;
const ACTIVITY_TIMEOUT_MAX = 120_000;
const PONG_TIME_MAX = 30_000;
/** The same when there is a reason for doubt: the network has changed, or the page was hidden. */
const CHECK_TIME_MAX = 5_000;
const FIRST_PAUSE = 1_000;
const PAUSE_MAX = 30_000;
const RECEIPT_TIME_MAX = 10_000;

/** The maximum number of client events that wait or have no receipt, and of attempts on one connection. */
const OUTBOX_MAX = 100;
const ATTEMPTS_MAX = 3;
/** The pauses before a state that failed to load is loaded again. */
const STATE_PAUSES = [500, 1_000, 2_000, 4_000, 8_000];
/** The maximum number of events that wait for a state. */
const WAITING_MAX = 10_000;

/** The position in a channel's stream, `{ stream, serial }`: every message up to it was received. */
class Tracking {
  /** The number of holes without a message in order between them. */
  holes = 0;
  /** Whether earlier messages arrive. */
  isReplaying = false;
  #position;
  #rewind;
  #awaitsOpening = false;
  // The connection whose own events a replay leaves out. While a replay arrives it is the one before: meanwhile no client
  // events are sent, so that the current one has nothing to leave out.
  #socketID = null;
  #currentSocketID = null;
  #replay = null;

  constructor(position = null, rewind = null) {
    this.#position = position;
    this.#rewind = rewind;
  }

  get position() {
    return this.#position && { ...this.#position };
  }

  /** The members that a subscription adds to its data. */
  get request() {
    if (!this.#position) return { position: {}, ...(this.#rewind && { rewind: this.#rewind }) };
    return {
      position: {
        ...this.#position, ...(this.#socketID && { socket: this.#socketID }), ...(this.#awaitsOpening && { opening: true }),
      },
    };
  }

  /**
   * Handles the data of an acknowledgement; `isLive` if the channel was subscribed on this connection already.
   *
   * Returns what it says about the time since the position: `{ kind, replayed, reason, missed }`; null if nothing new.
   */
  acknowledged(data, socketID, isLive) {
    const { position, recovered, replay = 0, gap, opening } = data ?? {};
    if (!isPosition(position)) {
      if (isLive) return null;
      this.#position = null;
      this.#socketID = null;
      return { kind: "unknown" };
    }
    const known = this.#position;
    // The answer to an earlier request: the messages up to the position arrived meanwhile.
    const isLate = isLive && known?.stream === position.stream && position.serial <= known.serial;
    if (isLate && !gap) return null;
    this.#position = { stream: position.stream, serial: position.serial };
    this.#rewind = null;
    this.#awaitsOpening = opening === true;
    this.#currentSocketID = socketID;
    let continuity = { kind: "began" };
    if (known && gap) continuity = { kind: "gap", reason: gap.reason, missed: gap.missed ?? null };
    else if (known && recovered) continuity = { kind: "resumed", replayed: replay };
    // The broker does not know the position.
    else if (known) continuity = { kind: "gap", reason: "unknown_stream", missed: null };
    const isResumed = continuity.kind === "resumed";
    this.#replay = { end: position.serial + (isResumed || !known ? replay : 0), continuity: isResumed ? continuity : null };
    this.isReplaying = true;
    if (!isResumed) this.#socketID = socketID;
    return continuity;
  }

  /** Handles the number of a message: "next", "known" (drop it), or "hole" (subscribe again). */
  receive(serial) {
    if (!this.#position) return "next";
    if (serial <= this.#position.serial) return "known";
    if (serial > this.#position.serial + 1) {
      this.holes += 1;
      return "hole";
    }
    this.holes = 0;
    this.#position.serial = serial;
    return "next";
  }

  /** Records that an event without a number has arrived: the cached event, if one is expected. */
  receivedWithoutNumber() {
    this.#awaitsOpening = false;
  }

  /** Returns the end of a replay once, when its messages have arrived: `{ continuity }`, null unless it was resumed. */
  takeReplayEnd() {
    if (!this.#replay || this.#position.serial < this.#replay.end) return null;
    const { continuity } = this.#replay;
    this.ended();
    this.#socketID = this.#currentSocketID;
    return { continuity };
  }

  /** Records that the subscription has ended, on this connection or with it. */
  ended() {
    this.#replay = null;
    this.isReplaying = false;
  }
}

/**
 * The state of an app that a channel's events follow.
 *
 * `load(continuity)` gets and shows the state; it may return its position. It is called when nothing was recovered.
 * Events that arrive meanwhile wait, and are applied behind the state. A state that fails to load is loaded again.
 */
class FollowedState {
  // "waiting" for the first acknowledgement, "loading", or "live".
  #phase = "waiting";
  #load;
  #channel;
  #waiting = [];
  /** The position behind which the waiting events begin; null where there are no positions. */
  #start = null;
  /** The position of a loaded state; events up to it are in the state. */
  #loaded = null;
  #continuity = null;
  #isRunning = false;
  #isObsolete = false;
  #failures = 0;

  /** `channel` has `position`, `resubscribe(position)`, `apply(event)`, `failed(error)` and `isSubscribed`. */
  constructor(load, channel) {
    this.#load = load;
    this.#channel = channel;
    if (channel.isSubscribed) this.acknowledged({ kind: "began" });
  }

  get isLive() {
    return this.#phase === "live";
  }

  /** Ends it: nothing is loaded or applied any more. */
  cancel() {
    this.#load = null;
    this.#waiting = [];
  }

  /** Handles what an acknowledgement says. */
  acknowledged(continuity) {
    if (continuity.kind !== "resumed") {
      this.#continuity = continuity;
      this.#begin();
    } else if (this.#phase === "waiting") {
      // The app has the state of the position that it subscribed from.
      this.#phase = "live";
      this.#failures = 0;
    }
  }

  /** Handles an event with its serial, if it has one; applies it now or behind the state. */
  receive(serial, event) {
    if (this.#phase === "live") {
      if (!this.#isInState(serial)) this.#channel.apply(event);
    } else if (this.#waiting.length < WAITING_MAX) {
      this.#waiting.push({ serial, event });
    } else {
      // A state that is loaded from now on contains them.
      this.#begin();
    }
  }

  #begin() {
    this.#phase = "loading";
    this.#waiting = [];
    this.#loaded = null;
    this.#start = this.#channel.position;
    this.#isObsolete = true;
    this.#run();
  }

  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#load && this.#phase === "loading" && this.#isObsolete) {
      if (this.#failures > 0) await pause(STATE_PAUSES[Math.min(this.#failures, STATE_PAUSES.length) - 1]);
      if (!this.#load) break;
      this.#isObsolete = false;
      try {
        const position = await this.#load(this.#continuity);
        if (this.#load && !this.#isObsolete) this.#finish(position);
      } catch (error) {
        this.#failures += 1;
        this.#isObsolete = true;
        if (this.#load) this.#channel.failed(error);
      }
    }
    this.#isRunning = false;
  }

  #finish(position) {
    if (this.#start && isPosition(position)) {
      if (position.stream !== this.#start.stream || position.serial < this.#start.serial) {
        // Events between the state and the subscription are missing: the broker replays them, or tells a gap.
        this.#failures += 1;
        this.#phase = "waiting";
        this.#waiting = [];
        return this.#channel.resubscribe({ stream: position.stream, serial: position.serial });
      }
      this.#loaded = position;
    }
    this.#failures = 0;
    this.#phase = "live";
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { serial, event } of waiting) if (!this.#isInState(serial)) this.#channel.apply(event);
  }

  #isInState(serial) {
    return serial !== undefined && this.#loaded !== null && serial <= this.#loaded.serial;
  }
}

function isPosition(value) {
  return typeof value?.stream === "string" && Number.isSafeInteger(value.serial);
}

function pause(time) {
  return new Promise((resume) => setTimeout(resume, time));
}

/** The app's backend refused: thrown by `authorize`. Its other errors are retried. */
export class NotAuthorized extends Error {}

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
export class Fanfare {
  onstate = (_state, _detail) => {};
  /** Called with a `pusher:error` that does not end the connection, and other reports: `{ code, message }`. */
  onerror = (_error) => {};
  /** The channel of the signed-in user's events; `user.id` is the user's id. */
  user;
  /** The socket ID, or null while not connected. */
  socketID = null;

  #key;
  #options;
  #socket = null;
  #channels = new Map();
  #outbox;
  #isSigningIn = false;
  #activityTimeout = ACTIVITY_TIMEOUT_MAX;
  /** Attempts since a connection was last established. */
  #attempts = 0;
  /** The timer of the handshake, of inactivity, or of the next attempt. */
  #timer = null;
  #isWaiting = false;

  /**
   * Options:
   * - `host`, `port`, `tls` (default false), `path`: the broker; by default the server that this file was loaded from
   * - `tlsPort`: the port of a server that requires TLS
   * - `authorize`: an async function that takes `{ socketID, channel }`, without `channel` for a sign-in, and returns the
   *   app's signature: `{ auth, channel_data }` or `{ auth, user_data }`
   * - `authEndpoint`, `userAuthEndpoint`, `authHeaders`: the app's URLs for that, which get a form as from pusher-js
   * - `recovery` (default true): whether missed events are asked for
   * - `clientEventsPerSecond` (default 10): the broker's limit; more are delayed
   */
  constructor(key, options = {}) {
    this.#key = key;
    const server = options.host ? { tls: false, path: "" } : home();
    this.#options = { ...server, recovery: true, clientEventsPerSecond: 10, ...options };
    this.#options.port ??= this.#options.tls ? 443 : 80;
    this.#options.authorize ??= (request) => askEndpoint(this.#options, request);
    this.user = this.#makeChannel("user");
    this.#outbox = new Outbox(this.#options.clientEventsPerSecond, {
      send: ({ event, data, channel, key }) => this.#send(event, data, channel.name, key),
      failed: (message) => this.onerror({ message }),
    });
    addEventListener("online", () => this.#wakeUp());
    addEventListener("offline", () => this.#wakeUp());
    addEventListener("pageshow", ({ persisted }) => persisted && this.#wakeUp());
    document.addEventListener("visibilitychange", () => !document.hidden && this.#wakeUp());
  }

  /** The broker's URL, without the path of an app. */
  get url() {
    const { host, port, tls, path } = this.#options;
    return `${tls ? "wss" : "ws"}://${host}:${port}${path ?? ""}`;
  }

  /** Connects; while waiting for a retry, connects immediately. */
  connect() {
    if (!this.#socket) this.#open();
  }

  /** Ends the connection until `connect()`; client events that wait are dropped. */
  disconnect() {
    this.#drop();
    this.#outbox.clear();
    this.onstate("stopped", { code: 1000, reason: "disconnected by this page" });
  }

  /** Ends the connection until `connect()`; what was missed arrives then, and client events that wait are sent. */
  suspend() {
    this.#drop();
    this.onstate("suspended", {});
  }

  /**
   * Subscribes, also after each reconnect. Options, for a new subscription:
   * - `position`: go on behind this position, `{ stream, serial }`, whose state the page has
   * - `rewind`: begin with earlier events, `{ count }` or `{ seconds }`, where the broker's rule allows it
   */
  subscribe(name, options) {
    let channel = this.#channels.get(name);
    if (!channel) {
      channel = this.#makeChannel(name, options);
      this.#channels.set(name, channel);
      if (this.socketID) this.#requestSubscription(channel);
    }
    return channel;
  }

  /** Ends a subscription; its position is forgotten. */
  unsubscribe(name) {
    const channel = this.#channels.get(name);
    if (!channel) return;
    channel.ended();
    channel.cancel();
    this.#outbox.clear(channel);
    this.#channels.delete(name);
    if (this.socketID) this.#send("pusher:unsubscribe", { channel: name });
  }

  /** Signs in the user that `authorize` returns, also after each reconnect. */
  signIn() {
    if (this.#isSigningIn) return;
    this.#isSigningIn = true;
    if (this.socketID) this.#requestSignIn();
  }

  #makeChannel(name, options) {
    return new Channel(name, options, {
      trigger: (channel, event, data, isTransient) => this.#trigger(channel, event, data, isTransient),
      resubscribe: (channel) => this.#resubscribe(channel),
      opened: () => this.#outbox.flush(),
      failed: (message) => this.onerror({ message }),
    });
  }

  #open() {
    this.#drop();
    this.#attempts += 1;
    this.onstate("connecting", {});
    const query = `protocol=7&client=fanfare-js&version=${VERSION}&receipts=true`;
    const socket = new WebSocket(`${this.url}/app/${encodeURIComponent(this.#key)}?${query}`);
    this.#socket = socket;
    // Ignores late events of a replaced socket.
    const ifCurrent = (step) => (event) => this.#socket === socket && step(event);
    socket.onmessage = ifCurrent((event) => this.#receive(event.data));
    socket.onclose = ifCurrent((event) => this.#ended(event.code, event.reason));
    this.#after(ESTABLISH_TIME_MAX, () => this.#ended(1006, "connection timed out"));
  }

  /** Drops the socket without waiting for its closing handshake. */
  #drop() {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    this.socketID = null;
    this.#isWaiting = false;
    for (const channel of this.#allChannels()) channel.ended();
    this.#outbox.connectionEnded();
    socket?.close();
  }

  #after(time, step) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(step, time);
  }

  #allChannels() {
    return [this.user, ...this.#channels.values()];
  }

  // Messages

  #receive(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return this.onerror({ message: "the server sent a message that is not JSON" });
    }
    const data = decoded(message.data);
    if (!this.socketID) return this.#establish(message.event, data);

    this.#expectActivity();
    const channel = message.channel === this.user.name ? this.user : this.#channels.get(message.channel);
    switch (message.event) {
      case "pusher:ping":
        return this.#send("pusher:pong", {});
      case "pusher:pong":
        return;
      case "pusher:error":
        return this.onerror(data ?? {});
      case "pusher:signin_success":
        return this.#signedIn(data);
      case "pusher_internal:subscription_succeeded":
        return channel?.acknowledge(data, this.socketID);
      case "pusher_internal:member_added":
        return channel?.join(data);
      case "pusher_internal:member_removed":
        return channel?.leave(data);
      case "pusher_internal:subscription_count":
        return channel?.emit("pusher:subscription_count", data);
      case "pusher_internal:position":
        if (message.key) this.#outbox.confirm(message.key);
        return channel?.receivePosition(message.serial);
      default:
        if (!message.event?.startsWith("pusher_internal:")) channel?.receive(message, data);
    }
  }

  /** Handles the first message: `connection_established` or an error. */
  #establish(event, data) {
    // An error without a code is final.
    if (event === "pusher:error") return this.#ended(data?.code || 4300, data?.message);
    if (event !== "pusher:connection_established" || !data?.socket_id) {
      return this.#ended(1002, "the server does not speak the protocol");
    }
    this.socketID = data.socket_id;
    this.#attempts = 0;
    this.#outbox.expectsReceipts = data.receipts === true;
    const timeout = data.activity_timeout * 1000 || ACTIVITY_TIMEOUT_MAX;
    this.#activityTimeout = Math.min(timeout, ACTIVITY_TIMEOUT_MAX);
    this.#expectActivity();
    this.onstate("connected", { socketID: this.socketID });
    if (this.#isSigningIn) this.#requestSignIn();
    for (const channel of this.#channels.values()) this.#requestSubscription(channel);
  }

  #send(event, data, channel, key) {
    this.#socket.send(JSON.stringify({ event, channel, data, key }));
  }

  /** Sends or queues a client event; only subscribed private and presence channels have them. */
  #trigger(channel, event, data, isTransient) {
    if (!channel.isSubscribed || !/^(private|presence)-/.test(channel.name) || !/^client-./.test(event)) return false;
    if (!isTransient) return this.#outbox.add({ channel, event, data });
    if (channel.isReplaying) return false;
    this.#send(event, data, channel.name);
    return true;
  }

  // Subscriptions, the sign-in and their signatures

  async #requestSubscription(channel) {
    const { name } = channel;
    const attempt = channel.beginAttempt();
    const isWanted = () => channel.isAttempt(attempt);
    if (!/^(private|presence)-/.test(name)) return this.#subscribe(channel, { auth: "" });
    const signed = await this.#authorized({ channel: name }, isWanted, (error) =>
      channel.emit("pusher:subscription_error", { type: "AuthError", error: error.message }));
    if (!signed) return;
    const { auth, channel_data } = signed;
    channel.me = channel_data && JSON.parse(channel_data).user_id;
    this.#subscribe(channel, { auth, channel_data });
  }

  #subscribe(channel, signed) {
    this.#send("pusher:subscribe", { ...signed, channel: channel.name, ...(this.#options.recovery && channel.request) });
  }

  /** Subscribes again, from the channel's position; at once, or later if that did not help before. */
  async #resubscribe(channel) {
    const { socketID } = this;
    channel.ended();
    if (!socketID) return;
    this.#send("pusher:unsubscribe", { channel: channel.name });
    const attempt = channel.beginAttempt();
    if (channel.holes > 1) await pause(pauseBefore(channel.holes - 1));
    if (this.socketID === socketID && channel.isAttempt(attempt)) this.#requestSubscription(channel);
  }

  async #requestSignIn() {
    const signed = await this.#authorized({}, () => true, (error) => this.onerror({ message: error.message }));
    if (signed) this.#send("pusher:signin", { auth: signed.auth, user_data: signed.user_data });
  }

  #signedIn({ user_data }) {
    const { id } = JSON.parse(user_data);
    const name = `#server-to-user-${id}`;
    // The position of another user's channel means nothing here.
    if (this.user.name !== name) this.user.track(null);
    Object.assign(this.user, { id, name });
    this.user.beginAttempt();
    this.#subscribe(this.user, { auth: "" });
    this.user.emit("pusher:signin_success", { id });
  }

  /** Returns the backend's signature; null when it refuses or the request is obsolete. */
  async #authorized(request, isWanted, refused) {
    const { socketID } = this;
    const isCurrent = () => this.socketID === socketID && isWanted();
    for (let attempt = 1; isCurrent(); attempt += 1) {
      try {
        const signed = await this.#options.authorize({ socketID, ...request });
        return isCurrent() ? signed : null;
      } catch (error) {
        if (!isCurrent()) return null;
        if (error instanceof NotAuthorized) return refused(error);
        await pause(pauseBefore(attempt));
      }
    }
    return null;
  }

  // Inactivity: ping after the activity timeout, disconnect without a pong.

  #expectActivity() {
    this.#after(this.#activityTimeout, () => this.#ping(PONG_TIME_MAX));
  }

  #ping(time) {
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
    const wasEstablished = this.socketID !== null;
    this.#drop();
    if (code === 4000 && !this.#options.tls && this.#options.tlsPort) {
      this.#options = { ...this.#options, tls: true, port: this.#options.tlsPort };
      return this.#open();
    }
    const isFinal = (code >= 4000 && code < 4100) || code >= 4300;
    if (isFinal) {
      return this.onstate("stopped", { code, reason: reason || `refused with code ${code}` });
    }
    // Only the first attempt is immediate, to avoid overloading a failing server.
    const atOnce = code >= 4200 && code < 4300 && wasEstablished;
    const delay = atOnce ? 0 : pauseBefore(this.#attempts);
    this.#isWaiting = true;
    this.onstate("waiting", { retryAt: Date.now() + delay, reason });
    this.#after(delay, () => this.#open());
  }
}

/**
 * A channel's subscription: functions bound to event names.
 *
 * The protocol's own events are bound like others: `pusher:subscription_succeeded`, `pusher:subscription_error`
 * with `{ type, error }`, `pusher:cache_miss`, `pusher:subscription_count`, and on a presence channel
 * `pusher:member_added` and `pusher:member_removed` with `{ id, info }`.
 *
 * `pusher:continuity` tells what each subscription means for the time before:
 * - `{ kind: "began" }`: it is new
 * - `{ kind: "resumed", replayed }`: nothing is missing; told behind the replayed events
 * - `{ kind: "gap", reason, missed }`: events are missing, `missed` of them if they can be counted
 * - `{ kind: "unknown" }`: the broker keeps no events
 */
export class Channel {
  isSubscribed = false;
  /** The members of a presence channel: a map from id to info, in the order in which they joined. */
  members = new Map();
  /** On a presence channel, the id of this page's user. */
  me = null;

  #bindings = new Map();
  #connection;
  #tracking;
  #state = null;
  #attempt = 0;

  constructor(name, { position, rewind } = {}, connection) {
    this.name = name;
    this.#connection = connection;
    this.#tracking = new Tracking(position ?? null, rewind ?? null);
  }

  /** The position, `{ stream, serial }`, up to which every event was received; null if there is none. */
  get position() {
    return this.#tracking.position;
  }

  /** Whether what the page shows is current: subscribed, and the state is loaded. */
  get isLive() {
    return this.isSubscribed && (this.#state?.isLive ?? true);
  }

  /**
   * Calls `action(data, { userID, serial, isMissed })` for each such event; client events on presence channels have a
   * `userID`, and events that were replayed are `isMissed`.
   */
  bind(event, action) {
    const actions = this.#bindings.get(event) ?? new Set();
    this.#bindings.set(event, actions.add(action));
    return this;
  }

  unbind(event, action) {
    this.#bindings.get(event)?.delete(action);
    return this;
  }

  /**
   * Keeps a state up to date: `getState(continuity)` gets and shows it, whenever nothing was recovered.
   *
   * Events wait meanwhile, and are delivered behind the state; if `getState` returns the state's position, only those
   * behind it. It is called again when it throws. Without a position it must be safe to apply an event twice.
   */
  state(getState) {
    this.#state?.cancel();
    const channel = this;
    this.#state = new FollowedState(getState, {
      get position() { return channel.position; },
      get isSubscribed() { return channel.isSubscribed; },
      resubscribe: (position) => {
        this.track(position);
        this.#connection.resubscribe(this);
      },
      apply: ([name, data, detail]) => this.emit(name, data, detail),
      failed: (error) => this.#connection.failed(`the state of ${this.name} cannot be loaded: ${error?.message ?? error}`),
    });
    return this;
  }

  /**
   * Sends a client event, whose name begins with `client-`; false when it cannot be sent.
   *
   * It is sent again until the broker confirms it, also after a reconnect, and published once. A `transient` one is sent
   * once and may be lost.
   */
  trigger(event, data, { transient = false } = {}) {
    return this.#connection.trigger(this, event, data, transient);
  }

  emit(event, data, detail = {}) {
    for (const action of [...(this.#bindings.get(event) ?? [])]) {
      // A fault of one listener must not cost others the event.
      try {
        action(data, detail);
      } catch (error) {
        reportError(error);
      }
    }
  }

  // Called by the connection

  get request() {
    return this.#tracking.request;
  }

  get isReplaying() {
    return this.#tracking.isReplaying;
  }

  get holes() {
    return this.#tracking.holes;
  }

  /** Begins an attempt to subscribe, which makes earlier ones obsolete. */
  beginAttempt() {
    this.#attempt += 1;
    return this.#attempt;
  }

  isAttempt(attempt) {
    return this.#attempt === attempt;
  }

  /** Replaces the position. */
  track(position) {
    this.#tracking = new Tracking(position);
  }

  acknowledge(data, socketID) {
    const continuity = this.#tracking.acknowledged(data, socketID, this.isSubscribed);
    this.isSubscribed = true;
    // Each subscription returns all members, without those that left during a disconnection.
    this.members = new Map(Object.entries(data?.presence?.hash ?? {}));
    if (continuity) this.#state?.acknowledged(continuity);
    this.emit("pusher:subscription_succeeded", data);
    if (continuity && continuity.kind !== "resumed") this.emit("pusher:continuity", continuity);
    this.#finishReplay();
    this.#connection.opened();
  }

  receive({ event, serial, user_id: userID }, data) {
    const isMissed = this.#tracking.isReplaying;
    if (!this.#advance(serial)) return;
    const detail = { userID, serial, isMissed };
    if (this.#state && !event.startsWith("pusher:")) this.#state.receive(serial, [event, data, detail]);
    else this.emit(event, data, detail);
    if (event === "pusher:subscription_error" && data?.type === "InvalidPosition") this.track(null);
    this.#finishReplay();
  }

  /** Handles the number of a message that is not for this client. */
  receivePosition(serial) {
    if (serial !== undefined && this.#advance(serial)) this.#finishReplay();
  }

  /** Moves the position; returns whether to deliver the message. */
  #advance(serial) {
    if (serial === undefined) {
      this.#tracking.receivedWithoutNumber();
      return true;
    }
    // Behind a hole: of the subscription before, and about to be replayed.
    if (!this.isSubscribed) return false;
    const verdict = this.#tracking.receive(serial);
    if (verdict === "hole") {
      this.#connection.failed(`events of ${this.name} before ${serial} did not arrive; asking for them again`);
      this.#connection.resubscribe(this);
    }
    return verdict === "next";
  }

  #finishReplay() {
    const end = this.#tracking.takeReplayEnd();
    if (!end) return;
    if (end.continuity) this.emit("pusher:continuity", end.continuity);
    this.#connection.opened();
  }

  join({ user_id: id, user_info: info }) {
    this.members.set(id, info);
    this.emit("pusher:member_added", { id, info });
  }

  leave({ user_id: id }) {
    const info = this.members.get(id);
    if (this.members.delete(id)) this.emit("pusher:member_removed", { id, info });
  }

  /** The subscription has ended, on this connection or with it. */
  ended() {
    this.isSubscribed = false;
    this.#attempt += 1;
    this.#tracking.ended();
  }

  cancel() {
    this.#state?.cancel();
    this.#state = null;
  }
}

/** The client events that have no receipt, in order; those of an ended connection are sent again under the same key. */
class Outbox {
  expectsReceipts = false;
  #events = [];
  #actions;
  #perSecond;
  #tokens;
  #filledAt = 0;
  #tokenTimer = null;
  #receiptTimer = null;
  #count = 0;
  #page = [...crypto.getRandomValues(new Uint32Array(3))].map((word) => word.toString(36)).join("");

  constructor(perSecond, actions) {
    this.#perSecond = perSecond;
    this.#actions = actions;
    this.#tokens = this.#tokensMax;
  }

  // A fifth less than the broker's, since events may arrive closer together than they were sent.
  get #tokensMax() {
    return Math.max(1, this.#perSecond * 0.8);
  }

  add(event) {
    if (this.#events.length >= OUTBOX_MAX) return false;
    this.#count += 1;
    this.#events.push({ ...event, key: `${this.#page}-${this.#count}`, sentAt: null, attempts: 0 });
    this.flush();
    return true;
  }

  /** Sends what may be sent: on subscribed channels, within the rate, and not while missed events arrive. */
  flush() {
    for (const event of [...this.#events]) {
      if (event.sentAt !== null || !event.channel.isSubscribed || event.channel.isReplaying) continue;
      if (!this.#takeToken()) return this.#awaitToken();
      event.sentAt = Date.now();
      event.attempts += 1;
      this.#actions.send(this.expectsReceipts ? event : { ...event, key: undefined });
      if (!this.expectsReceipts) this.#remove((other) => other === event);
    }
    this.#awaitReceipts();
  }

  confirm(key) {
    this.#remove((event) => event.key === key);
  }

  connectionEnded() {
    for (const event of this.#events) Object.assign(event, { sentAt: null, attempts: 0 });
  }

  /** Drops the events of a channel, or all. */
  clear(channel) {
    this.#remove((event) => !channel || event.channel === channel);
  }

  #remove(isObsolete) {
    this.#events = this.#events.filter((event) => !isObsolete(event));
  }

  #takeToken() {
    const now = Date.now();
    const refill = Math.max(0, now - this.#filledAt) / 1000 * this.#perSecond;
    this.#tokens = Math.min(this.#tokensMax, this.#tokens + refill);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #awaitToken() {
    this.#tokenTimer ??= setTimeout(() => {
      this.#tokenTimer = null;
      this.flush();
    }, (1 - this.#tokens) / this.#perSecond * 1000 + 1);
  }

  #awaitReceipts() {
    if (this.#receiptTimer !== null || !this.#events.some(({ sentAt }) => sentAt !== null)) return;
    this.#receiptTimer = setTimeout(() => {
      this.#receiptTimer = null;
      this.#retryLate();
    }, RECEIPT_TIME_MAX);
  }

  #retryLate() {
    const now = Date.now();
    for (const event of this.#events) {
      if (event.sentAt === null || now - event.sentAt < RECEIPT_TIME_MAX) continue;
      if (event.attempts < ATTEMPTS_MAX) {
        event.sentAt = null;
      } else {
        // The broker has told why by an error of its own.
        this.confirm(event.key);
        this.#actions.failed(`${event.event} on ${event.channel.name} was not confirmed`);
      }
    }
    this.flush();
  }
}

/** The broker that this file was loaded from. */
function home() {
  const { protocol, hostname, port, pathname } = new URL(".", import.meta.url);
  return { host: hostname, port: port || undefined, tls: protocol === "https:", path: pathname.slice(0, -1) };
}

/** Asks the app's backend for a signature, with the form that pusher-js sends. */
async function askEndpoint({ authEndpoint, userAuthEndpoint, authHeaders }, { socketID, channel }) {
  const url = channel ? authEndpoint : userAuthEndpoint;
  if (!url) throw new NotAuthorized(`neither \`authorize\` nor \`${channel ? "authEndpoint" : "userAuthEndpoint"}\` is set`);
  const body = new URLSearchParams({ socket_id: socketID, ...(channel && { channel_name: channel }) });
  const headers = typeof authHeaders === "function" ? authHeaders() : authHeaders;
  const response = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(ESTABLISH_TIME_MAX) });
  if (response.ok) return response.json();
  const message = `${url} answered with status ${response.status}`;
  throw response.status < 500 && response.status !== 429 ? new NotAuthorized(message) : new Error(message);
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

/** The retry delay: doubles with each attempt, with jitter to spread reconnects. */
function pauseBefore(attempts) {
  const time = Math.min(FIRST_PAUSE * 2 ** Math.max(attempts - 1, 0), PAUSE_MAX);
  return time * (0.75 + Math.random() / 2);
}
