// The types of fanfare-vue.js: composables for Vue 3. docs/fanfare-js.md shows each.

import type { AnyChannels, AnyEvents, Channel, ChannelEvents, Connection, EventDetail, Fanfare, Member, NameIn, SubscribeOptions } from "./fanfare.js";
import type { ListView, LiveList, Row } from "./fanfare-live.js";

/** As `Ref` and `ShallowRef` of Vue, which can be used as such. */
export interface ValueRef<T> {
  value: T;
}

/** A name, or a ref or a function of it. */
export type Name = string | null | undefined | { readonly value: string | null | undefined } | (() => string | null | undefined);

/** The functions for the events of a channel; `Events` maps their names to their data. */
export type Handlers<Events = AnyEvents> = {
  [E in keyof ChannelEvents]?: (data: ChannelEvents[E], detail: EventDetail) => void;
} & {
  [E in NameIn<Events>]?: (data: Events[E], detail: EventDetail) => void;
};

/** `app.use(fanfarePlugin, client)` gives the composables of an app their client. */
export const fanfarePlugin: { install(app: { provide(key: any, value: any): any }, client: Fanfare<any>): void };

/** The client of the app. */
export function useFanfare<Channels = AnyChannels>(): Fanfare<Channels>;

/**
 * Subscribes while the component is mounted, and calls the handler of each event. Returns a ref of the channel, null before;
 * nothing is subscribed without a name.
 */
export function useChannel(name: Name, handlers?: Handlers, options?: SubscribeOptions): ValueRef<Channel | null>;
export function useChannel<Events>(
  name: Name, handlers?: Handlers<Events>, options?: SubscribeOptions,
): ValueRef<Channel<Events> | null>;

/** Refs of the members of a presence channel, and of the ID of this page's user. */
export function usePresence<Info = any, Events = AnyEvents>(
  name: Name,
): { members: ValueRef<(Member & { info: Info })[]>; me: ValueRef<string | null>; channel: ValueRef<Channel<Events> | null> };

/** A ref of the state of the connection and its details. */
export function useConnection(): ValueRef<Connection>;

/** Follows a list while the component is mounted, and returns a ref of what it shows. */
export function useLiveList<R extends Row>(list: LiveList<R>): ValueRef<ListView<R>>;
