// A client of the Pusher Channels protocol, version 7, for browsers. It reconnects automatically and restores its
// subscriptions.
//
//     const fanfare = new Fanfare("app-key", { host: "127.0.0.1", port: 6001, authorize });
//     fanfare.onstate = (state, detail) => …;
//     fanfare.subscribe("userslist").bind("addUser", (data) => …);
//
//     const chat = fanfare.subscribe("presence-chat");
//     chat.bind("pusher:subscription_succeeded", () => show([...chat.members]));
//     chat.bind("pusher:member_added", ({ id, info }) => …);
//     chat.bind("client-typing", (data, { userID }) => …);
//     chat.trigger("client-typing", { text: "…" });
//     fanfare.connect();

const VERSION = "0.2.0";

// All times are milliseconds.
const ESTABLISH_TIME_MAX = 10_000;
const ACTIVITY_TIMEOUT_MAX = 120_000;
const PONG_TIME_MAX = 30_000;
const FIRST_PAUSE = 1_000;
const PAUSE_MAX = 30_000;

/** The app's backend refused: thrown by `authorize`. Its other errors are retried. */
export class NotAuthorized extends Error {}

/**
 * A connection that reconnects automatically.
 *
 * `onstate` is called with each state:
 * - `connecting`
 * - `connected`, with `{ socketID }`
 * - `waiting`, with `{ retryAt, reason }`: time in milliseconds as of `Date.now()`
 * - `stopped`, with `{ code, reason }`: by the server or by `disconnect()`; `connect()` reconnects
 */
export class Fanfare {
  onstate = (_state, _detail) => {};
  /** Called with a `pusher:error` that does not end the connection: `{ code, message }`. */
  onerror = (_error) => {};
  /** The channel of the signed-in user's events; `user.id` is the user's id. */
  user = new Channel("user", () => false);
  /** The socket ID, or null while not connected. */
  socketID = null;

  #key;
  #options;
  #socket = null;
  #channels = new Map();
  #isSigningIn = false;
  #activityTimeout = ACTIVITY_TIMEOUT_MAX;
  /** Attempts since a connection was last established. */
  #attempts = 0;
  /** The timer of the handshake, of inactivity, or of the next attempt. */
  #timer = null;
  #isWaiting = false;

  /**
   * Options: `host`, `port`, `tls` (default false), `tlsPort` for a server that requires TLS, and `authorize`:
   * an async function that takes `{ socketID, channel }`, without `channel` for a sign-in, and returns the app's
   * signature: `{ auth, channel_data }` or `{ auth, user_data }`.
   */
  constructor(key, options) {
    this.#key = key;
    this.#options = { tls: false, authorize: refuseAll, ...options };
    // Retries at once when the network is back; checks the socket when the network is lost.
    addEventListener("online", () => this.#isWaiting && this.#open());
    addEventListener("offline", () => this.socketID && this.#ping());
  }

  get url() {
    const { host, port, tls } = this.#options;
    return `${tls ? "wss" : "ws"}://${host}:${port}`;
  }

  /** Connects; while waiting for a retry, connects immediately. */
  connect() {
    if (!this.#socket) this.#open();
  }

  disconnect() {
    this.#drop();
    this.onstate("stopped", { code: 1000, reason: "disconnected by this page" });
  }

  /** Subscribes, also after each reconnect. */
  subscribe(name) {
    let channel = this.#channels.get(name);
    if (!channel) {
      channel = new Channel(name, (event, data) => this.#trigger(channel, event, data));
      this.#channels.set(name, channel);
      if (this.socketID) this.#requestSubscription(channel);
    }
    return channel;
  }

  unsubscribe(name) {
    const channel = this.#channels.get(name);
    if (!channel) return;
    channel.isSubscribed = false;
    this.#channels.delete(name);
    if (this.socketID) this.#send("pusher:unsubscribe", { channel: name });
  }

  /** Signs in the user that `authorize` returns, also after each reconnect. */
  signIn() {
    if (this.#isSigningIn) return;
    this.#isSigningIn = true;
    if (this.socketID) this.#requestSignIn();
  }

  #open() {
    this.#drop();
    this.#attempts += 1;
    this.onstate("connecting", {});
    const query = `protocol=7&client=fanfare-js&version=${VERSION}`;
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
    for (const channel of this.#channels.values()) channel.isSubscribed = false;
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
      return this.onerror({ message: "the server sent a message that is not JSON" });
    }
    const data = decoded(message.data);
    if (!this.socketID) return this.#establish(message.event, data);

    this.#expectActivity();
    const channel = this.#channels.get(message.channel);
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
        return channel?.succeed(data);
      case "pusher_internal:member_added":
        return channel?.join(data);
      case "pusher_internal:member_removed":
        return channel?.leave(data);
      default:
        if (message.event?.startsWith("pusher_internal:")) return;
        if (message.channel?.startsWith("#server-to-user-")) return this.user.emit(message.event, data);
        channel?.emit(message.event, data, { userID: message.user_id });
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
    const timeout = data.activity_timeout * 1000 || ACTIVITY_TIMEOUT_MAX;
    this.#activityTimeout = Math.min(timeout, ACTIVITY_TIMEOUT_MAX);
    this.#expectActivity();
    this.onstate("connected", { socketID: this.socketID });
    if (this.#isSigningIn) this.#requestSignIn();
    for (const channel of this.#channels.values()) this.#requestSubscription(channel);
  }

  #send(event, data, channel) {
    this.#socket.send(JSON.stringify({ event, channel, data }));
  }

  /** Sends a client event; only subscribed private and presence channels have them. */
  #trigger(channel, event, data) {
    if (!channel.isSubscribed || !/^(private|presence)-/.test(channel.name)) return false;
    this.#send(event, data, channel.name);
    return true;
  }

  // Subscriptions, the sign-in and their signatures

  async #requestSubscription(channel) {
    const { name } = channel;
    if (!/^(private|presence)-/.test(name)) return this.#send("pusher:subscribe", { auth: "", channel: name });
    const isWanted = () => this.#channels.get(name) === channel;
    const signed = await this.#authorized({ channel: name }, isWanted, (error) =>
      channel.emit("pusher:subscription_error", { type: "AuthError", error: error.message }));
    if (!signed) return;
    const { auth, channel_data } = signed;
    channel.me = channel_data && JSON.parse(channel_data).user_id;
    this.#send("pusher:subscribe", { auth, channel_data, channel: name });
  }

  async #requestSignIn() {
    const signed = await this.#authorized({}, () => true, (error) => this.onerror({ message: error.message }));
    if (signed) this.#send("pusher:signin", { auth: signed.auth, user_data: signed.user_data });
  }

  #signedIn({ user_data }) {
    this.user.id = JSON.parse(user_data).id;
    this.#send("pusher:subscribe", { auth: "", channel: `#server-to-user-${this.user.id}` });
    this.user.emit("pusher:signin_success", { id: this.user.id });
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
        await new Promise((resume) => setTimeout(resume, pauseBefore(attempt)));
      }
    }
    return null;
  }

  // Inactivity: ping after the activity timeout, disconnect without a pong.

  #expectActivity() {
    this.#after(this.#activityTimeout, () => this.#ping());
  }

  #ping() {
    this.#send("pusher:ping", {});
    this.#after(PONG_TIME_MAX, () => this.#ended(4201, "no pong from the server"));
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
    const pause = atOnce ? 0 : pauseBefore(this.#attempts);
    this.#isWaiting = true;
    this.onstate("waiting", { retryAt: Date.now() + pause, reason });
    this.#after(pause, () => this.#open());
  }
}

/**
 * A channel's subscription: functions bound to event names.
 *
 * The protocol's own events are bound like others: `pusher:subscription_succeeded`, `pusher:subscription_error`
 * with `{ type, error }`, and on a presence channel `pusher:member_added` and `pusher:member_removed` with
 * `{ id, info }`.
 */
export class Channel {
  isSubscribed = false;
  /** The members of a presence channel: a map from id to info, in the order in which they joined. */
  members = new Map();
  /** On a presence channel, the id of this page's user. */
  me = null;

  #bindings = new Map();
  #send;

  constructor(name, send) {
    this.name = name;
    this.#send = send;
  }

  /** Calls `action(data, { userID })` for each such event; client events on presence channels have a `userID`. */
  bind(event, action) {
    const actions = this.#bindings.get(event) ?? new Set();
    this.#bindings.set(event, actions.add(action));
    return this;
  }

  unbind(event, action) {
    this.#bindings.get(event)?.delete(action);
    return this;
  }

  /** Sends a client event, whose name begins with `client-`; false when it cannot be sent. */
  trigger(event, data) {
    return this.#send(event, data);
  }

  emit(event, data, detail = {}) {
    for (const action of [...(this.#bindings.get(event) ?? [])]) action(data, detail);
  }

  // Called by the connection

  succeed(data) {
    this.isSubscribed = true;
    // Each subscription returns all members, without those that left during a disconnection.
    this.members = new Map(Object.entries(data?.presence?.hash ?? {}));
    this.emit("pusher:subscription_succeeded", data);
  }

  join({ user_id: id, user_info: info }) {
    this.members.set(id, info);
    this.emit("pusher:member_added", { id, info });
  }

  leave({ user_id: id }) {
    const info = this.members.get(id);
    if (this.members.delete(id)) this.emit("pusher:member_removed", { id, info });
  }
}

async function refuseAll() {
  throw new NotAuthorized("no `authorize` option is set");
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
  const pause = Math.min(FIRST_PAUSE * 2 ** Math.max(attempts - 1, 0), PAUSE_MAX);
  return pause * (0.75 + Math.random() / 2);
}
