// Message recovery for pusher-js, version 8: a page gets the events that it has missed, each once and in order, or is
// told that there is a gap. Load it behind pusher-js and before `new Pusher`:
//
//     <script src="https://js.pusher.com/8.4.0/pusher.min.js"></script>
//     <script src="https://broker.example/fanfare-pusher.js"></script>
//
// With a bundler: `fanfareRecovery(Pusher, options)`. The protocol is described in docs/proof/protocol.md, "Positions and replays".

import { LeftChannels } from "./left-channels.js";
import { pause, pauseBefore } from "./pauses.js";
import { TrackedChannel } from "./tracked-channel.js";

/**
 * Adds recovery to the class `Pusher` of pusher-js; connections that are open already have none.
 *
 * `resubscribeGrace` is the time in milliseconds for which a channel that was left keeps its position; 0 for none.
 */
globalThis.fanfareRecovery = (Pusher, { resubscribeGrace = 30_000 } = {}) => {
  const { Runtime, prototype } = Pusher;
  if (Runtime.fanfare) return;
  Runtime.fanfare = true;
  const { createWebSocket } = Runtime;
  Runtime.createWebSocket = function (url) {
    const instanceOf = (socketID) => Pusher.instances.find(({ connection }) => connection.socket_id === socketID);
    return track(createWebSocket.call(this, url), instanceOf, (socketID) => {
      const pusher = socketID && instanceOf(socketID);
      if (pusher) {
        lostAt.set(pusher, Date.now());
        reviveWhenFailed(pusher.connection);
      } else if (!socketID) for (const pusher of Pusher.instances) if (url.includes(`/app/${pusher.key}?`)) retrySoon(pusher);
    });
  };
  /** The channels that each client has left. */
  const leftChannels = new WeakMap();
  const leftOf = (pusher) => {
    if (!leftChannels.has(pusher)) leftChannels.set(pusher, new LeftChannels(resubscribeGrace));
    return leftChannels.get(pusher);
  };
  // For a new subscription: `position`, `rewind`, and `fresh` to begin anew.
  const { subscribe, unsubscribe } = prototype;
  prototype.subscribe = function (name, options = {}) {
    const channels = leftOf(this);
    wrapAuthorizer(this, "channelAuthorizer", channels);
    if (options.fresh) channels.take(name);
    const channel = subscribe.call(this, name);
    const tracked = trackedChannels.get(channel);
    if (!tracked) add(new PusherChannel(this, name, options, channels.take(name)), channel);
    else if (options.position) tracked.startBehind(options.position);
    return channel;
  };
  const { signin } = prototype;
  // Earlier versions of pusher-js have none, and pages look for it.
  if (signin) {
    prototype.signin = function () {
      wrapAuthorizer(this, "userAuthenticator");
      signin.call(this);
    };
  }
  prototype.unsubscribe = function (name) {
    const channel = this.channel(name);
    const tracked = trackedChannels.get(channel);
    unsubscribe.call(this, name);
    // pusher-js keeps a channel whose subscription is not confirmed.
    if (this.channel(name) === channel) tracked?.cancelState();
    else if (tracked) leftOf(this).keep(name, tracked.abandon());
  };
};

/** For how long, in milliseconds, a client tries again at short intervals after it has lost a connection. */
const RESTART_TIME_MAX = 15_000;

/** When each client lost its connection. */
const lostAt = new WeakMap();
/** The clients that are about to try again. */
const retrying = new WeakSet();

/** Tries again soon if a broker that is being restarted has refused the connection: pusher-js waits for 15 seconds. */
function retrySoon(pusher) {
  const { connection } = pusher;
  if (retrying.has(pusher) || Date.now() - (lostAt.get(pusher) ?? 0) > RESTART_TIME_MAX) return;
  retrying.add(pusher);
  setTimeout(() => {
    retrying.delete(pusher);
    if (["connecting", "unavailable"].includes(connection.state)) connection.retryIn?.(0);
  }, 500 + Math.random() * 500);
}

/** The connections that are revived when they fail. */
const revived = new WeakSet();

/**
 * Makes a client that has been connected begin anew when it gives up: versions of pusher-js before 8.2 use no more WebSockets
 * after two that ended without a close frame.
 */
function reviveWhenFailed(connection) {
  if (revived.has(connection)) return;
  revived.add(connection);
  connection.bind("failed", () => {
    connection.updateStrategy?.();
    connection.connect();
  });
}

/** The tracked channels by their channel objects, and a user's own channel by its user object. */
const trackedChannels = new WeakMap();

/** The functions of configurations that are wrapped. */
const wrapped = new WeakSet();

/**
 * Drops the backend's answers that were asked for a former connection: pusher-js would send them on this one. A channel that
 * was left on this connection needs no other signature.
 */
function wrapAuthorizer(pusher, name, leftChannels) {
  const { config, connection } = pusher;
  const ask = config?.[name];
  if (!ask || wrapped.has(ask)) return;
  config[name] = (request, callback) => {
    const { socketId: socketID, channelName } = request;
    const signature = leftChannels?.get(channelName)?.signature;
    if (signature?.socketID === socketID) return callback(null, { ...signature.signed });
    ask(request, (error, signed) => {
      if (connection.state !== "connected" || connection.socket_id !== socketID) return;
      const tracked = trackedChannels.get(pusher.channel(channelName));
      // A copy: pusher-js takes the secret of an encrypted channel out of it.
      if (tracked && !error) tracked.signature = { socketID, signed: { ...signed } };
      callback(error, signed);
    });
  };
  wrapped.add(config[name]);
}

/** Adds `channel.position` and `channel.state(getState)`. */
function add(tracked, channel) {
  trackedChannels.set(channel, tracked);
  Object.defineProperty(channel, "position", { get: () => tracked.position });
  channel.state = (getState) => {
    tracked.follow(getState);
    return channel;
  };
}

function trackedChannel(pusher, name) {
  if (!pusher) return undefined;
  const channel = pusher.channel(name);
  if (channel || !name.startsWith("#")) return trackedChannels.get(channel);
  let tracked = trackedChannels.get(pusher.user);
  if (tracked?.name !== name) trackedChannels.set(pusher.user, (tracked = new PusherChannel(pusher, name)));
  return tracked;
}

/** A channel of pusher-js. */
class PusherChannel extends TrackedChannel {
  #pusher;
  /** The connection and the data of the last subscription. */
  #connection = null;
  #data = null;
  #attempt = 0;

  /** `left` is what was kept of the channel when the app left it. */
  constructor(pusher, name, options, left) {
    super(name, options, left);
    this.#pusher = pusher;
  }

  /** Delivers an event as the connection does, unless the app has left the channel. */
  deliver(event) {
    if (trackedChannels.get(this.#pusher.channel(this.name)) === this) this.#pusher.connection.emit("message", event);
  }

  continuityChanged(continuity) {
    this.#emit("pusher:continuity", continuity);
    const { kind, reason, missed } = continuity;
    if (kind === "gap") this.#emit("pusher:gap", { reason, missed });
  }

  #emit(event, data) {
    this.#pusher.connection.emit("message", { event, channel: this.name, data });
  }

  failed(message) {
    this.#pusher.connection.emit("error", { type: "RecoveryError", error: new Error(message) });
  }

  /** Begins a subscription with the data of pusher-js; returns the data to send. */
  begin(data, connection) {
    this.ended();
    this.#connection = connection;
    this.#data = data;
    return { ...data, ...this.tracking.request };
  }

  ended() {
    super.ended();
    this.#attempt += 1;
    this.#connection = null;
  }

  isOn(connection) {
    return this.#connection === connection;
  }

  /** Handles a message; `pass()` gives it to pusher-js. */
  receive(message, pass) {
    const { event, serial } = message;
    if (event === "pusher_internal:subscription_succeeded") {
      const data = decoded(message.data);
      if (!this.isObsolete(data)) this.acknowledged(data, this.#connection.socketID, pass);
      return;
    }
    if (!this.advance(serial)) return;
    if (event.startsWith("pusher_internal:")) {
      pass();
    } else {
      this.receiveEvent(event, serial, () => eventOf(message), pass);
      const isRefused = event === "pusher:subscription_error" && decoded(message.data)?.type === "InvalidPosition";
      if (isRefused) this.track(null);
    }
    this.finishReplay();
  }

  /** Subscribes again, from the position; the signature of the connection and the channel is still valid. */
  async resubscribe() {
    const connection = this.#connection;
    if (!connection) return;
    super.ended();
    this.#attempt += 1;
    const attempt = this.#attempt;
    connection.send("pusher:unsubscribe", { channel: this.name });
    const { holes } = this.tracking;
    if (holes > 1) await pause(pauseBefore(holes - 1));
    if (this.#attempt === attempt) connection.send("pusher:subscribe", { ...this.#data, ...this.tracking.request });
  }
}

/**
 * Adds positions to the messages of a WebSocket, whose `onmessage` and `send` are those of pusher-js; calls `closed` at its
 * end, without a socket ID if it was never connected.
 */
function track(socket, instanceOf, closed) {
  const channels = new Map();
  const send = socket.send.bind(socket);
  const connection = {
    socketID: null,
    send: (event, data) => send(JSON.stringify({ event, data })),
  };
  let onmessage = null;
  // pusher-js removes it when it ends the connection; then nothing counts as received.
  Object.defineProperty(socket, "onmessage", { get: () => null, set: (action) => (onmessage = action) });
  socket.addEventListener("message", (event) => {
    if (!onmessage) return;
    const pass = () => onmessage?.call(socket, event);
    const message = decoded(event.data);
    if (message?.event === "pusher:connection_established") connection.socketID = decoded(message.data).socket_id;
    const tracked = channels.get(message?.channel);
    if (!tracked) pass();
    // Otherwise of a subscription that was left: what the next one has not got, it gets by its position.
    else if (tracked.isOn(connection)) tracked.receive(message, pass);
  });
  socket.addEventListener("close", () => {
    closed(connection.socketID);
    for (const tracked of channels.values()) if (tracked.isOn(connection)) tracked.ended();
  });
  socket.send = (text) => {
    const { event, data } = decoded(text) ?? {};
    const name = data?.channel;
    if (event === "pusher:unsubscribe" && channels.get(name)?.isOn(connection)) channels.get(name).ended();
    if (event !== "pusher:subscribe") return send(text);
    const tracked = trackedChannel(instanceOf(connection.socketID), name);
    channels.set(name, tracked);
    if (!tracked) return send(text);
    connection.send(event, tracked.begin(data, connection));
  };
  return socket;
}

/** The event that pusher-js makes of a message. */
function eventOf({ event, channel, data, user_id }) {
  return { event, channel, data: decoded(data), ...(user_id && { user_id }) };
}

/** Decodes JSON; anything else is itself. */
function decoded(text) {
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

if (globalThis.Pusher) globalThis.fanfareRecovery(globalThis.Pusher);
