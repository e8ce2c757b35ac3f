// Has the names of pusher-js that a demo's page uses, and no more: pages are tried with it where there is no internet.
//
// Its own option `lives` is the number of connections without a close frame after which it fails, as versions before 8.2 do.

class Bindings {
  #actions = [];

  bind(event, action) {
    this.#actions.push([event, action]);
    return this;
  }

  unbind(event, action) {
    this.#actions = this.#actions.filter((bound) => bound[0] !== event || (action && bound[1] !== action));
    return this;
  }

  emit(event, ...values) {
    for (const [bound, action] of this.#actions) if (bound === event) action(...values);
  }
}

window.Pusher = class Pusher {
  static instances = [];
  static Runtime = { createWebSocket: (url) => new WebSocket(url) };
  connection = Object.assign(new Bindings(), { state: "initialized", socket_id: undefined });
  user = Object.assign(new Bindings(), { user_data: null });
  #channels = {};
  #url;
  config;

  constructor(key, options) {
    if (options.cluster === undefined) throw new Error("Options object must provide a cluster");
    const path = `${options.wsPath ?? ""}/app/${key}?protocol=7&client=js&version=8.4.0`;
    this.#url = `ws://${options.wsHost}:${options.wsPort}${path}`;
    const { customHandler, endpoint } = options.channelAuthorization ?? {};
    const channelAuthorizer = customHandler ?? ((request, callback) => askEndpoint(endpoint, request, callback));
    this.config = { channelAuthorizer };
    let lives = options.lives ?? Infinity;
    Object.assign(this.connection, {
      updateStrategy: () => (lives = options.lives),
      connect: () => (lives > 0 ? this.connect() : this.#become("failed")),
      ended: ({ wasClean }) => (lives -= wasClean ? 0 : 1),
    });
    Pusher.instances.push(this);
    this.connection.bind("message", (event) => this.#handle(event));
    this.connect();
  }

  connect() {
    if (this.socket) return;
    this.#become("connecting");
    this.socket = Pusher.Runtime.createWebSocket(this.#url);
    this.socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    this.socket.onclose = (event) => {
      this.socket = null;
      this.connection.ended(event);
      for (const channel of Object.values(this.#channels)) channel.subscribed = channel.isAsked = false;
      if (this.connection.state === "disconnected") return;
      this.#become("connecting");
      setTimeout(() => this.connection.connect(), 1000);
    };
  }

  disconnect() {
    this.#become("disconnected");
    this.socket?.close();
  }

  channel(name) {
    return this.#channels[name];
  }

  subscribe(name) {
    const channel = (this.#channels[name] ??= Object.assign(new Bindings(), { name, subscribed: false }));
    channel.trigger = (event, data) => this.#send(event, data, name);
    if (this.connection.state === "connected") this.#join(channel);
    return channel;
  }

  unsubscribe(name) {
    delete this.#channels[name];
    if (this.connection.state === "connected") this.#send("pusher:unsubscribe", { channel: name });
  }

  #join(channel) {
    const { name } = channel;
    if (channel.isAsked) return;
    channel.isAsked = true;
    if (!/^(private|presence)-/.test(name)) return this.#send("pusher:subscribe", { auth: "", channel: name });
    this.config.channelAuthorizer({ socketId: this.connection.socket_id, channelName: name }, (error, signed) => {
      const { message, status } = error ?? {};
      if (error) channel.isAsked = false;
      if (error) this.#channels[name]?.emit("pusher:subscription_error", { type: "AuthError", error: message, status });
      else this.#send("pusher:subscribe", { ...signed, channel: name });
    });
  }

  #receive({ event, channel, data, user_id }) {
    this.connection.emit("message", { event, channel, data: decoded(data), user_id });
  }

  #handle({ event, channel: name, data, user_id }) {
    const channel = this.#channels[name];
    if (event === "pusher:connection_established") {
      this.connection.socket_id = data.socket_id;
      this.#become("connected");
      for (const known of Object.values(this.#channels)) this.#join(known);
    } else if (event === "pusher:ping") {
      this.#send("pusher:pong", {});
    } else if (event === "pusher:error") {
      this.connection.emit("error", { type: "PusherError", data });
    } else if (event === "pusher_internal:subscription_succeeded") {
      // Left before the answer came.
      if (!channel) return;
      channel.subscribed = true;
      channel.members = { members: data.presence?.hash ?? {}, myID: null };
      channel.emit("pusher:subscription_succeeded", data);
    } else if (event === "pusher_internal:member_added") {
      channel?.emit("pusher:member_added", { id: data.user_id, info: data.user_info });
    } else if (event === "pusher_internal:member_removed") {
      channel?.emit("pusher:member_removed", { id: data.user_id });
    } else if (event === "pusher_internal:subscription_count") {
      channel?.emit("pusher:subscription_count", data);
    } else if (!event.startsWith("pusher_internal:")) {
      if (event === "pusher:subscription_error" && channel) channel.isAsked = false;
      channel?.emit(event, data, user_id ? { user_id } : {});
    }
  }

  #send(event, data, channel) {
    // Later, as pusher-js does.
    setTimeout(() => this.socket?.send(JSON.stringify({ event, data, channel })));
    return true;
  }

  #become(current) {
    const previous = this.connection.state;
    this.connection.state = current;
    this.connection.emit("state_change", { previous, current });
    this.connection.emit(current);
  }
};

async function askEndpoint(endpoint, { socketId, channelName }, callback) {
  const body = new URLSearchParams({ socket_id: socketId, channel_name: channelName });
  const response = await fetch(endpoint, { method: "POST", body });
  if (response.ok) callback(null, await response.json());
  else callback(Object.assign(new Error(response.statusText), { status: response.status }));
}

function decoded(data) {
  try {
    return typeof data === "string" ? JSON.parse(data) : data;
  } catch {
    return data;
  }
}
