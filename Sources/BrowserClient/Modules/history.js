// The earlier events of a channel, for a page that does not follow it, or needs more of them.

//     import { history } from "/fanfare-history.js";
//
//     const { events, isComplete } = await history(fanfare, "news", { count: 20 });

/**
 * Resolves to the last `count` events, or those of the last `seconds`, where the broker's rule for the channel has `rewind`:
 * `{ events, isComplete }`. An event is `{ event, data, serial, userID }`; `isComplete` is false if some are not kept any more.
 *
 * A channel is subscribed once on a connection, so this takes another one with the options of `client`, until it has the
 * events. Rejects when the broker, its rule or the app's backend refuses, and when `signal` is aborted: while the broker cannot
 * be reached, it waits.
 */
export async function history(client, name, { signal, ...rewind }) {
  signal?.throwIfAborted();
  const reader = new client.constructor(client.key, client.options);
  try {
    return await new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      reader.onstate = (state, { reason }) => state === "stopped" && reject(new Error(reason));
      const channel = reader.subscribe(name, { rewind });
      const events = [];
      let end, isComplete;
      const finish = () => channel.position.serial >= end && resolve({ events, isComplete });
      channel.bind_global((event, data, { serial, userID }) => {
        if (serial === undefined) return;
        events.push({ event, data, serial, userID });
        finish();
      });
      channel.bind("pusher:subscription_error", ({ error }) => reject(new Error(error)));
      channel.bind("pusher:subscription_succeeded", ({ position, replay = 0, rewound }) => {
        if (!rewound) return reject(new Error(`the broker's rule for ${name} has no rewind`));
        end = position.serial + replay;
        isComplete = rewound.complete === true;
        finish();
      });
      reader.connect();
    });
  } finally {
    reader.destroy();
  }
}
