// pusher-js and the broker's add-on, with the interface of fanfare.js, for pages opened with ?client=pusher-js.

/** Loads pusher-js from `url` and the add-on from the broker, and connects with the options of `Fanfare`. */
export async function pusherJS(url, broker, key, options) {
  await load(url);
  await load(`${broker}/fanfare-pusher.js`);
  return new PusherJS(key, options);
}

class PusherJS {
  onstate = (_state, _detail) => {};
  onerror = (_error) => {};
  user;

  #pusher;
  #channels = new Map();
  #isSuspended = false;

  constructor(key, { host, port, tls = false, authorize }) {
    this.url = `${tls ? "wss" : "ws"}://${host}:${port}`;
    const authorizer = (request, callback) =>
      authorize({ socketID: request.socketId, channel: request.channelName })
        .then((signed) => callback(null, signed), (error) => callback(error, null));
    // It connects on creation and reports no state before the next turn of the event loop.
    this.#pusher = new window.Pusher(key, {
      cluster: "", wsHost: host, wsPort: port, wssPort: port, forceTLS: tls,
      enabledTransports: ["ws", "wss"], enableStats: false,
      channelAuthorization: { customHandler: authorizer },
      userAuthentication: { customHandler: authorizer },
    });
    this.user = new PusherUser(this.#pusher);
    const { connection } = this.#pusher;
    connection.bind("state_change", ({ current }) => this.#changed(current));
    connection.bind("error", ({ data, error }) => this.onerror(data ?? error?.data ?? {}));
  }

  get socketID() {
    return this.#pusher.connection.socket_id ?? null;
  }

  connect() {
    this.#isSuspended = false;
    this.#pusher.connect();
  }

  /** pusher-js tells no round trips. */
  ping() {
    return Promise.resolve(null);
  }

  disconnect() {
    this.#pusher.disconnect();
  }

  /** Ends the connection until `connect()`; the add-on keeps the channels' positions. */
  suspend() {
    this.#isSuspended = true;
    this.#pusher.disconnect();
  }

  subscribe(name, options) {
    const channel = this.#channels.get(name) ?? new PusherChannel(this.#pusher.subscribe(name, options));
    this.#channels.set(name, channel);
    return channel;
  }

  channel(name) {
    return this.#channels.get(name);
  }

  unsubscribe(name) {
    this.#channels.delete(name);
    this.#pusher.unsubscribe(name);
  }

  signIn() {
    this.#pusher.signin();
  }

  #changed(state) {
    const states = {
      connecting: "connecting", connected: "connected", unavailable: "waiting",
      failed: "stopped", disconnected: this.#isSuspended ? "suspended" : "stopped",
    };
    if (states[state]) this.onstate(states[state], { socketID: this.socketID });
  }
}

class PusherChannel {
  #channel;
  /** The functions bound in pusher-js, by the function bound here. */
  #actions = new Map();
  /** Whether missed events arrive: from the acknowledgement on, until the end of the replay is told. */
  #isReplaying = false;

  constructor(channel) {
    this.#channel = channel;
    channel.bind("pusher:subscription_succeeded", (data) => { this.#isReplaying = data.recovered === true; });
    channel.bind("pusher:continuity", () => { this.#isReplaying = false; });
  }

  get name() {
    return this.#channel.name;
  }

  get position() {
    return this.#channel.position;
  }

  get isSubscribed() {
    return this.#channel.subscribed;
  }

  get members() {
    return new Map(Object.entries(this.#channel.members?.members ?? {}));
  }

  get me() {
    return this.#channel.members?.myID ?? null;
  }

  bind(event, action) {
    const bound = (data, metadata) => action(data, { userID: metadata?.user_id, isMissed: this.#isReplaying });
    this.#actions.set(action, bound);
    this.#channel.bind(event, bound);
    return this;
  }

  unbind(event, action) {
    this.#channel.unbind(event, this.#actions.get(action));
    return this;
  }

  trigger(event, data) {
    return this.isSubscribed && this.#channel.trigger(event, data);
  }
}

class PusherUser {
  #pusher;

  constructor(pusher) {
    this.#pusher = pusher;
  }

  get id() {
    return this.#pusher.user.user_data?.id;
  }

  bind(event, action) {
    // In pusher-js the sign-in is a message of the connection, after the user has handled it.
    if (event === "pusher:signin_success") {
      this.#pusher.connection.bind("message", (message) => message.event === event && action({ id: this.id }, {}));
    } else {
      this.#pusher.user.bind(event, (data) => action(data, {}));
    }
    return this;
  }
}

function load(url) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${url} cannot be loaded.`));
    document.head.append(script);
  });
}
