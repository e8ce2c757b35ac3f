// The page's connection to the broker, with fanfare.js, or with pusher-js for ?client=pusher-js. Both have the interface
// of `Fanfare`, and the broker serves the scripts of both.

import { Attempts } from "./fanfare-live.js";
import { request, Refused } from "./backend.js";
import { me } from "./me.js";
import { offerOffline } from "./offline.js";
import { notice, showConnection } from "./site.js";

/** Connects and shows the state on the page; `prepare(client)` subscribes before the connection opens. */
export async function connect(prepare) {
  const client = await make(await config());
  client.onstate = (state, detail) => showConnection(client, state, detail);
  client.onerror = ({ message }) => message && notice(`Error from the broker: ${message}`);
  prepare(client);
  client.connect();
  offerOffline(client);
  return client;
}

async function make({ key, host = location.hostname, port, tls, pusherJS: url }) {
  const broker = `${tls ? "https" : "http"}://${host}:${port}`;
  if (new URLSearchParams(location.search).get("client") === "pusher-js") {
    try {
      const { pusherJS } = await import("./pusher-js.js");
      return await pusherJS(url, broker, key, { host, port, tls, authorize });
    } catch (error) {
      notice(`${error.message} Using fanfare.js instead.`);
    }
  }
  const { Fanfare, NotAuthorized } = await load(`${broker}/fanfare.js`, broker);
  return new Fanfare(key, {
    authorize: (request) => authorize(request).catch((error) => {
      throw error instanceof Refused ? new NotAuthorized(error.message) : error;
    }),
  });
}

/** Imports a module as soon as the broker can be reached. */
async function load(url, broker) {
  const attempts = new Attempts();
  for (let number = 1; ; number += 1) {
    try {
      // A browser may remember the failure of a URL.
      return await import(number === 1 ? url : `${url}?attempt=${number}`);
    } catch {
      showConnection({ url: broker, connect: () => attempts.hurry() }, "waiting");
      await attempts.pause();
    }
  }
}

async function config() {
  const attempts = new Attempts();
  for (;;) {
    try {
      return await request("GET", "/config.json");
    } catch {
      await attempts.pause();
    }
  }
}

/** The keys of the encrypted channels that this page was authorized for, in base64. */
export const sharedSecrets = new Map();

/** Requests the site's signature for this page's user. */
async function authorize({ socketID, channel }) {
  const signed = await request("POST", "/auth", {
    socket_id: socketID, ...(channel && { channel_name: channel }), user_id: me.id, user_name: me.name,
  });
  if (signed.shared_secret) sharedSecrets.set(channel, signed.shared_secret);
  return signed;
}
