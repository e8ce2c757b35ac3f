// A client of the Pusher Channels protocol, version 7, for browsers: public channels, live connection.
//
//     const fanfare = new Fanfare("app-key", { host: "127.0.0.1", port: 6001 });
//     fanfare.onstate = (state, detail) => …;
//     fanfare.subscribe("userslist").bind("addUser", (data) => …);
//     fanfare.connect();

const VERSION = "0.1.0";

// All times are milliseconds.
const ESTABLISH_TIME_MAX = 10_000;
const ACTIVITY_TIMEOUT_MAX = 120_000;
const PONG_TIME_MAX = 30_000;
const FIRST_PAUSE = 1_000;
const PAUSE_MAX = 30_000;

/**
 * A connection that keeps itself up.
 *
 * `onstate` hears of each state:
 * - `connecting`
 * - `connected`, with `{ socketID }`
 * - `waiting`, with `{ retryAt, reason }`: time in milliseconds as of `Date.now()`
 * - `stopped`, with `{ code, reason }`: by the server's word, or by `disconnect()`; only `connect()` goes on
 */
export class Fanfare {
  onstate = (_state, _detail) => {};
  /** Hears of a `pusher:error` that does not end the connection. */
  onerror = (_error) => {};

  #key;
  #options;
  #socket = null;
  #channels = new Map();
  #isEstablished = false;
  #activityTimeout = ACTIVITY_TIMEOUT_MAX;
  /** Attempts since a connection was last established. */
  #attempts = 0;
  /** The one timer: for the handshake, then for silence, then for the next attempt. */
  #timer = null;
  #isWaiting = false;

  /** Options: `host`, `port`, `tls` (default false), `tlsPort` for a server that insists on TLS. */
  constructor(key, options) {
    this.#key = key;
    this.#options = { tls: false, ...options };
    // A network that is back is worth an attempt now; one that went may have taken the socket along.
    addEventListener("online", () => this.#isWaiting && this.#open());
    addEventListener("offline", () => this.#isEstablished && this.#ping());
  }

  get url() {
    const { host, port, tls } = this.#options;
    return `${tls ? "wss" : "ws"}://${host}:${port}`;
  }

  /** Connects, or tries again at once when it is waiting to. */
  connect() {
    if (!this.#socket) this.#open();
  }

  disconnect() {
    this.#drop();
    this.onstate("stopped", { code: 1000, reason: "disconnected by this page" });
  }

  /** Subscribes now, and again with each new connection. */
  subscribe(name) {
    let channel = this.#channels.get(name);
    if (!channel) {
      channel = new Channel(name);
      this.#channels.set(name, channel);
      if (this.#isEstablished) this.#requestSubscription(channel);
    }
    return channel;
  }

  unsubscribe(name) {
    if (this.#channels.delete(name) && this.#isEstablished) {
      this.#send("pusher:unsubscribe", { channel: name });
    }
  }

  #open() {
    this.#drop();
    this.#attempts += 1;
    this.onstate("connecting", {});
    const query = `protocol=7&client=fanfare-js&version=${VERSION}`;
    const socket = new WebSocket(`${this.url}/app/${encodeURIComponent(this.#key)}?${query}`);
    this.#socket = socket;
    // A socket that was dropped may still have something to say: it is not heard.
    const ifCurrent = (step) => (event) => this.#socket === socket && step(event);
    socket.onmessage = ifCurrent((event) => this.#receive(event.data));
    socket.onclose = ifCurrent((event) => this.#ended(event.code, event.reason));
    this.#after(ESTABLISH_TIME_MAX, () => this.#ended(1006, "no answer in time"));
  }

  /** Lets go of the socket without waiting for its closing handshake. */
  #drop() {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    this.#isEstablished = false;
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
    if (!this.#isEstablished) return this.#establish(message.event, data);

    this.#expectActivity();
    const channel = this.#channels.get(message.channel);
    switch (message.event) {
      case "pusher:ping":
        return this.#send("pusher:pong", {});
      case "pusher:pong":
        return;
      case "pusher:error":
        return this.onerror(data ?? {});
      case "pusher_internal:subscription_succeeded":
        if (channel) channel.isSubscribed = true;
        return channel?.emit("pusher:subscription_succeeded", data);
      default:
        if (!message.event?.startsWith("pusher_internal:")) channel?.emit(message.event, data);
    }
  }

  /** The first message is `connection_established`, or says why there will be no connection. */
  #establish(event, data) {
    // An error without a code gives no hope that another attempt would end better.
    if (event === "pusher:error") return this.#ended(data?.code || 4300, data?.message);
    if (event !== "pusher:connection_established" || !data?.socket_id) {
      return this.#ended(1002, "the server does not speak the protocol");
    }
    this.#isEstablished = true;
    this.#attempts = 0;
    const timeout = data.activity_timeout * 1000 || ACTIVITY_TIMEOUT_MAX;
    this.#activityTimeout = Math.min(timeout, ACTIVITY_TIMEOUT_MAX);
    this.#expectActivity();
    this.onstate("connected", { socketID: data.socket_id });
    for (const channel of this.#channels.values()) this.#requestSubscription(channel);
  }

  #requestSubscription(channel) {
    this.#send("pusher:subscribe", { auth: "", channel: channel.name });
  }

  #send(event, data) {
    this.#socket.send(JSON.stringify({ event, data }));
  }

  // Silence: ping after the activity timeout, give up when nothing answers.

  #expectActivity() {
    this.#after(this.#activityTimeout, () => this.#ping());
  }

  #ping() {
    this.#send("pusher:ping", {});
    this.#after(PONG_TIME_MAX, () => this.#ended(4201, "the server fell silent"));
  }

  // The end of a connection, and what its code asks for

  #ended(code, reason) {
    const wasEstablished = this.#isEstablished;
    this.#drop();
    if (code === 4000 && !this.#options.tls && this.#options.tlsPort) {
      this.#options = { ...this.#options, tls: true, port: this.#options.tlsPort };
      return this.#open();
    }
    const isFinal = (code >= 4000 && code < 4100) || code >= 4300;
    if (isFinal) {
      return this.onstate("stopped", { code, reason: reason || `refused with code ${code}` });
    }
    // "At once" is for the first attempt only, or a server in trouble would be stormed.
    const atOnce = code >= 4200 && code < 4300 && wasEstablished;
    const pause = atOnce ? 0 : pauseBefore(this.#attempts);
    this.#isWaiting = true;
    this.onstate("waiting", { retryAt: Date.now() + pause, reason });
    this.#after(pause, () => this.#open());
  }
}

/** A channel's subscription: functions bound to event names. */
export class Channel {
  isSubscribed = false;
  #bindings = new Map();

  constructor(name) {
    this.name = name;
  }

  /** Calls `action` with the data of each such event; `pusher:subscription_succeeded` is one of them. */
  bind(event, action) {
    const actions = this.#bindings.get(event) ?? new Set();
    this.#bindings.set(event, actions.add(action));
    return this;
  }

  unbind(event, action) {
    this.#bindings.get(event)?.delete(action);
    return this;
  }

  emit(event, data) {
    for (const action of [...(this.#bindings.get(event) ?? [])]) action(data);
  }
}

/** Data comes as JSON inside a string; what is not JSON is meant as text. */
function decoded(data) {
  if (typeof data !== "string") return data;
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

/** Doubles with each attempt; the random part keeps a thousand pages from coming back in one instant. */
function pauseBefore(attempts) {
  const pause = Math.min(FIRST_PAUSE * 2 ** Math.max(attempts - 1, 0), PAUSE_MAX);
  return pause * (0.75 + Math.random() / 2);
}
