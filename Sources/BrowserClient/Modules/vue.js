// Composables for Vue 3.

//     import { fanfarePlugin, useChannel } from "fanfare/vue";
//
//     const fanfare = new Fanfare("app-key", { host: "push.example.com", tls: true });
//     fanfare.connect();
//     createApp(Users).use(fanfarePlugin, fanfare).mount("#users");
//
// In the setup of a component:
//
//     const names = ref([]);
//     useChannel("userslist", { addUser: ({ name }) => names.value.push(name) });

import { inject, onMounted, onUnmounted, shallowRef, unref, watch } from "vue";
import { hold } from "./holds.js";

const KEY = Symbol.for("fanfare");

/** Gives the composables of an app their client, whose connection is the app's to open and to end. */
export const fanfarePlugin = { install: (app, client) => app.provide(KEY, client) };

export function useFanfare() {
  const client = inject(KEY, null);
  if (!client) throw new Error("the app does not use the fanfarePlugin");
  return client;
}

/**
 * Subscribes while the component is mounted, and calls the handler of each event. Returns a ref of the channel, null before.
 * The name may be a ref or a function; nothing is subscribed without one.
 */
export function useChannel(name, handlers, options) {
  const client = useFanfare();
  const ref = shallowRef(null);
  const follow = (name, _, ended) => {
    ref.value = null;
    if (!name) return;
    const { channel, release } = hold(client, name, options);
    const action = (event, data, detail) => handlers?.[event]?.(data, detail);
    channel.bind_global(action);
    ref.value = channel;
    ended(() => {
      channel.unbind_global(action);
      release();
    });
  };
  // Not on a rendering server, which mounts nothing.
  onMounted(() => watch(typeof name === "function" ? name : () => unref(name), follow, { immediate: true, flush: "sync" }));
  return ref;
}

/** Refs of the members of a presence channel, `{ id, info }`, and of the ID of this page's user. */
export function usePresence(name) {
  const [members, me] = [shallowRef([]), shallowRef(null)];
  const read = () => {
    members.value = [...channel.value?.members ?? []].map(([id, info]) => ({ id, info }));
    me.value = channel.value?.me ?? null;
  };
  const channel = useChannel(name, {
    "pusher:subscription_succeeded": read, "pusher:member_added": read, "pusher:member_removed": read,
  });
  watch(channel, read, { flush: "sync" });
  return { members, me, channel };
}

/** A ref of the state of the connection and its details: `{ state: "connected", socketID }`. */
export function useConnection() {
  const client = useFanfare();
  return useSource(client, () => client.connection);
}

/** Follows a list while the component is mounted, and returns a ref of its `view`. */
export function useLiveList(list) {
  const client = useFanfare();
  let unfollow;
  onMounted(() => {
    unfollow = list.follow(client);
  });
  onUnmounted(() => unfollow?.());
  return useSource(list, () => list.view);
}

/** A ref of what `read` returns, which an event of `source` may change. */
function useSource(source, read) {
  const ref = shallowRef(read());
  const changed = () => {
    ref.value = read();
  };
  onMounted(() => {
    source.bind_global(changed);
    changed();
  });
  onUnmounted(() => source.unbind_global(changed));
  return ref;
}
