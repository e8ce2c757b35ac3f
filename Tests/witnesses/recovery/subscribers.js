// Clients in a page, which record what they get; `checker.py` describes the entries of a log.
//
//     const page = await subscribe({ kind, key, host, port, channels, clients, scripts });
//
// `kind` is "fanfare.js", "add-on" (pusher-js with fanfare-pusher.js) or "token" (stock pusher-js with a session token);
// `scripts` is the URL that the broker serves its scripts at.

/** No less than what a replayed message counts beside its data, in bytes: its envelope, and 256. */
const MESSAGE_LENGTH = 512;

/** What one client has got, by channel. */
class Log {
  /** Of what came since the last ping. */
  #length = 0;

  constructor(channels) {
    this.entries = Object.fromEntries(channels.map((channel) => [channel, []]));
    this.lasts = Object.fromEntries(channels.map((channel) => [channel, 0]));
  }

  received(channel, data, serial = null) {
    this.#length += String(data).length + MESSAGE_LENGTH;
    const number = Number.parseInt(data, 10);
    const entries = this.entries[channel];
    const last = entries.at(-1);
    const isNext = typeof last?.[0] === "number" && last[1] === number - 1;
    if (isNext && (serial === null ? last[2] === null : last[2] + number - last[0] === serial)) last[1] = number;
    else entries.push([number, number, serial]);
    this.lasts[channel] = number;
  }

  add(channel, entry) {
    this.entries[channel].push(entry);
  }

  /** A connection was established. */
  opened() {
    this.#barrier(["open"]);
  }

  /** The broker asked for a confirmation. */
  asked() {
    this.#barrier(["ping", this.#length]);
  }

  #barrier(entry) {
    for (const entries of Object.values(this.entries)) entries.push(entry);
    this.#length = 0;
  }
}

async function followFanfare({ key, host, port, channels, scripts }, log) {
  const { Fanfare } = await import(`${scripts}/fanfare.js`);
  const client = new Fanfare(key, { host, port });
  const isSubscribed = channels.map((name) => new Promise((resolve) => {
    const channel = client.subscribe(name);
    channel.bind("message", (data, { serial }) => log.received(name, data, serial));
    channel.bind("pusher:continuity", ({ kind, reason }) => {
      if (kind === "gap" || kind === "unknown") log.add(name, ["gap", reason ?? kind]);
    });
    channel.bind("pusher:subscription_succeeded", resolve);
  }));
  client.connect();
  await Promise.all(isSubscribed);
}

async function followPusher({ kind, key, host, port, channels }, log) {
  const options = { wsHost: host, wsPort: port, forceTLS: false, enabledTransports: ["ws"], cluster: "none" };
  if (kind === "token") options.wsPath = `/r/${Date.now().toString(36)}-${crypto.randomUUID()}`;
  const client = new Pusher(key, options);
  if (kind !== "add-on") {
    client.connection.bind("connected", () => log.opened());
    client.connection.bind("message", ({ event }) => event === "pusher:ping" && log.asked());
  }
  await Promise.all(channels.map((name) => new Promise((resolve) => {
    const channel = client.subscribe(name);
    channel.bind("message", (data) => log.received(name, data));
    channel.bind("pusher:gap", ({ reason }) => log.add(name, ["gap", reason]));
    channel.bind("pusher:subscription_succeeded", resolve);
  })));
}

function load(url) {
  const script = Object.assign(document.createElement("script"), { src: url });
  document.head.append(script);
  return new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${url} cannot be loaded`));
  });
}

/** Starts the clients of a page; resolves when all subscriptions are confirmed. */
export async function subscribe({ clients, ...options }) {
  if (options.kind === "add-on") await load(`${options.scripts}/fanfare-pusher.js`);
  const logs = Array.from({ length: clients }, () => new Log(options.channels));
  const follow = options.kind === "fanfare.js" ? followFanfare : followPusher;
  await Promise.all(logs.map((log) => follow(options, log)));
  return {
    /** The smallest last number of each channel. */
    lasts: () => Object.fromEntries(
      options.channels.map((channel) => [channel, Math.min(...logs.map(({ lasts }) => lasts[channel]))])),
    report: () => logs.map(({ entries }) => entries),
  };
}
