// Hooks for React 18 and later.

//     import { FanfareProvider, useChannel } from "fanfare/react";
//
//     const fanfare = new Fanfare("app-key", { host: "push.example.com", tls: true });
//     fanfare.connect();
//     createRoot(element).render(<FanfareProvider client={fanfare}><Users /></FanfareProvider>);
//
//     function Users() {
//       const [names, setNames] = useState([]);
//       useChannel("userslist", { addUser: ({ name }) => setNames((names) => [...names, name]) });
//       return names.join(", ");
//     }

import { createContext, createElement, useCallback, useContext, useEffect, useInsertionEffect, useReducer, useRef, useState, useSyncExternalStore } from "react";
import { hold } from "./holds.js";

const Context = createContext(null);

/** Gives the hooks below it their client, whose connection is the app's to open and to end. */
export function FanfareProvider({ client, children }) {
  return createElement(Context.Provider, { value: client }, children);
}

export function useFanfare() {
  const client = useContext(Context);
  if (!client) throw new Error("there is no FanfareProvider above this component");
  return client;
}

/**
 * Subscribes while the component is mounted, and calls the present one of `handlers` for each event. Returns the channel, or
 * null before; nothing is subscribed without a name.
 */
export function useChannel(name, handlers, options) {
  const client = useFanfare();
  const [channel, setChannel] = useState(null);
  const latest = useRef(handlers);
  useInsertionEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    if (!name) return;
    const { channel, release } = hold(client, name, options);
    const action = (event, data, detail) => latest.current?.[event]?.(data, detail);
    channel.bind_global(action);
    setChannel(channel);
    return () => {
      channel.unbind_global(action);
      release();
    };
  }, [client, name]);
  return channel?.name === name ? channel : null;
}

/** The members of a presence channel, `{ id, info }`, and the ID of this page's user. */
export function usePresence(name) {
  const [, redraw] = useReducer((count) => count + 1, 0);
  const channel = useChannel(name, {
    "pusher:subscription_succeeded": redraw, "pusher:member_added": redraw, "pusher:member_removed": redraw,
  });
  const members = [...channel?.members ?? []].map(([id, info]) => ({ id, info }));
  return { members, me: channel?.me ?? null, channel };
}

/** The state of the connection and its details: `{ state: "connected", socketID }`. */
export function useConnection() {
  const client = useFanfare();
  return useSource(client, () => client.connection);
}

/** Follows a list while the component is mounted, and returns its `view`. */
export function useLiveList(list) {
  const client = useFanfare();
  useEffect(() => list.follow(client), [client, list]);
  return useSource(list, () => list.view);
}

/** What `read` returns, which an event of `source` may change. */
function useSource(source, read) {
  const subscribe = useCallback((changed) => {
    source.bind_global(changed);
    return () => source.unbind_global(changed);
  }, [source]);
  return useSyncExternalStore(subscribe, read, read);
}
