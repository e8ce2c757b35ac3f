/** The subscriptions that parts of a page hold together: by client, the number of holders by name. */
const holdsByClient = new WeakMap();

/**
 * Subscribes for a part of a page; returns the channel, and `release()`, which ends that.
 *
 * A subscription ends with its last holder, unless the app has made it itself. It does not end before the present turn does:
 * a part that is replaced by another one in it, as by React's StrictMode, leaves the subscription as it is.
 */
export function hold(client, name, options) {
  const holds = holdsByClient.get(client) ?? new Map();
  holdsByClient.set(client, holds);
  const isApps = client.channel(name) && !holds.has(name);
  const channel = client.subscribe(name, options);
  if (isApps) return { channel, release() {} };
  holds.set(name, (holds.get(name) ?? 0) + 1);
  return {
    channel,
    release() {
      holds.set(name, holds.get(name) - 1);
      queueMicrotask(() => {
        if (holds.get(name) !== 0) return;
        holds.delete(name);
        client.unsubscribe(name);
      });
    },
  };
}
