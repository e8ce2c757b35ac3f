// The page's connection to the broker, with fanfare.js, or with pusher-js for ?client=pusher-js.
// Both have the interface of `Fanfare`.

import { request, Refused } from "./backend.js";
import { Fanfare, NotAuthorized } from "./fanfare.js";
import { me } from "./me.js";
import { notice, showConnection } from "./site.js";

/** The retry delay for the site's configuration, in milliseconds. */
const CONFIG_PAUSE = 2_000;

/** Connects and shows the state on the page; `prepare(client)` subscribes before the connection opens. */
export async function connect(prepare) {
  const client = await make(await config());
  client.onstate = (state, detail) => showConnection(client, state, detail);
  client.onerror = ({ message }) => message && notice(`Error from the broker: ${message}`);
  prepare(client);
  client.connect();
  return client;
}

async function make({ key, host, port, tls, pusherJS: url }) {
  const options = { host: host ?? location.hostname, port, tls, authorize };
  if (new URLSearchParams(location.search).get("client") !== "pusher-js") return new Fanfare(key, options);
  try {
    const { pusherJS } = await import("./pusher-js.js");
    return await pusherJS(url, key, options);
  } catch (error) {
    notice(`${error.message} Using fanfare.js instead.`);
    return new Fanfare(key, options);
  }
}

async function config() {
  for (;;) {
    try {
      return await request("GET", "/config.json");
    } catch {
      await new Promise((resume) => setTimeout(resume, CONFIG_PAUSE));
    }
  }
}

/** Requests the site's signature for this page's user. */
async function authorize({ socketID, channel }) {
  try {
    return await request("POST", "/auth", {
      socket_id: socketID, ...(channel && { channel_name: channel }), user_id: me.id, user_name: me.name,
    });
  } catch (error) {
    throw error instanceof Refused ? new NotAuthorized(error.message) : error;
  }
}
