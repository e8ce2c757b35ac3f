// The types of fanfare-react.js: hooks for React 18 and later. docs/fanfare-js.md shows each.

import type { AnyChannels, AnyEvents, Channel, ChannelEvents, Connection, EventDetail, Fanfare, Member, NameIn, SubscribeOptions } from "./fanfare.js";
import type { ListView, LiveList, Row } from "./fanfare-live.js";

/** The functions for the events of a channel; `Events` maps their names to their data. */
export type Handlers<Events = AnyEvents> = {
  [E in keyof ChannelEvents]?: (data: ChannelEvents[E], detail: EventDetail) => void;
} & {
  [E in NameIn<Events>]?: (data: Events[E], detail: EventDetail) => void;
};

/** Gives the hooks below it their client, whose connection is the app's to open and to end. */
export function FanfareProvider(props: { client: Fanfare<any>; children?: any }): any;

/** The client of the provider above. */
export function useFanfare<Channels = AnyChannels>(): Fanfare<Channels>;

/**
 * Subscribes while the component is mounted, and calls the present one of `handlers` for each event. Returns the channel, or
 * null before; nothing is subscribed without a name.
 */
export function useChannel(name: string | null | undefined, handlers?: Handlers, options?: SubscribeOptions): Channel | null;
export function useChannel<Events>(
  name: string | null | undefined, handlers?: Handlers<Events>, options?: SubscribeOptions,
): Channel<Events> | null;

/** The members of a presence channel, and the ID of this page's user. */
export function usePresence<Info = any, Events = AnyEvents>(
  name: string | null | undefined,
): { members: (Member & { info: Info })[]; me: string | null; channel: Channel<Events> | null };

/** The state of the connection and its details. */
export function useConnection(): Connection;

/** Follows a list while the component is mounted, and returns what it shows. */
export function useLiveList<R extends Row>(list: LiveList<R>): ListView<R>;
