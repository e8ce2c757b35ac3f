// The types of fanfare.js. docs/fanfare-js.md describes each call, and what it does when the connection is cut.
//
// A map of channels and their events gives each event's data a type:
//
//     const fanfare = new Fanfare<{ userslist: { addUser: User }; [room: `private-${string}`]: Messages }>("app-key");
//     fanfare.subscribe("userslist").bind("addUser", (user) => …);

/** The version of the client. */
export const VERSION: string;

/** A place in a channel's stream: every message up to it was received. */
export interface Position {
  /** The ID of the stream; another one behind a loss of the broker's messages. */
  readonly stream: string;
  /** The number of the last message. */
  readonly serial: number;
}

/** How much of the past a first subscription begins with, where the broker's rule allows it. */
export type Rewind = { count: number } | { seconds: number };

/** What a subscription means for the time before it. */
export type Continuity =
  /** It is new. */
  | { kind: "began" }
  /** Nothing is missing; told behind the replayed events. */
  | { kind: "resumed"; replayed: number }
  /** Events are missing: `missed` of them, null if they cannot be counted. */
  | { kind: "gap"; reason: GapReason; missed: number | null }
  /** The broker keeps no events. */
  | { kind: "unknown" };

/** Why events are missing; a later broker may have further reasons. */
export type GapReason = "unknown_stream" | "truncated" | "too_much" | "ahead" | "behind" | (string & {});

/** The signature of the app's backend, for a channel or for the sign-in. */
export interface Signature {
  auth: string;
  /** Presence channels: the JSON of `user_id` and `user_info`. */
  channel_data?: string;
  /** Sign-in: the JSON of the user, with `id`. */
  user_data?: string;
  /** Encrypted channels: the key, in base64. */
  shared_secret?: string;
}

/** The request for a signature: for a channel, or for the sign-in if there is none. */
export interface SignatureRequest {
  socketID: string;
  channel?: string;
  /** Aborted when the signature is of no use any more: the connection has ended, or the channel was left. */
  signal: AbortSignal;
}

export interface Options {
  /** The broker's host; by default the server that fanfare.js was loaded from, with its port, TLS and path. */
  host?: string;
  /** The class to connect with where there is none, such as that of the package `ws`: in Node before version 22. */
  WebSocket?: any;
  /** By default 80, or 443 with TLS. */
  port?: number | string;
  /** By default false. */
  tls?: boolean;
  /** The path in front of `/app`, such as `/push`. */
  path?: string;
  /** The port to use when the broker refuses a connection without TLS. */
  tlsPort?: number | string;
  /** Resolves to the backend's signature; rejects with `NotAuthorized` for a refusal. Other errors are retried. */
  authorize?: (request: SignatureRequest) => Promise<Signature>;
  /** The backend's URL for channels, instead of `authorize`; gets a form as from pusher-js. */
  authEndpoint?: string;
  /** The backend's URL for the sign-in, instead of `authorize`. */
  userAuthEndpoint?: string;
  /** Fields of the requests to both URLs. */
  authHeaders?: HeadersInit | (() => HeadersInit);
  /** Decrypts the events of encrypted channels: the function of fanfare-encrypted.js. */
  decrypt?: (data: any, sharedSecret: string) => any;
  /** Whether missed events are asked for; by default true. */
  recovery?: boolean;
  /** The broker's limit of client events a second, by default 10; more are delayed. */
  clientEventsPerSecond?: number;
  /** The milliseconds for which a channel that was left keeps its position, by default 30,000; 0 for none. */
  resubscribeGrace?: number;
}

export interface SubscribeOptions {
  /** Go on behind this position, whose state the page has. */
  position?: Position | null;
  /** Begin with earlier events. */
  rewind?: Rewind | null;
  /** Begin anew, although the channel was left within `resubscribeGrace`. */
  fresh?: boolean;
}

/** The details of each state of a connection. */
export interface StateDetails {
  /** Before the first `connect()`. */
  initialized: {};
  connecting: {};
  connected: { socketID: string };
  /** `retryAt` in milliseconds, as of `Date.now()`. */
  waiting: { retryAt: number; reason?: string };
  /** By `suspend()`. */
  suspended: {};
  /** By the broker or by `disconnect()`; `connect()` reconnects. */
  stopped: { code: number; reason: string };
}

/** The state of a connection and its details. */
export type Connection = { [S in keyof StateDetails]: { state: S } & StateDetails[S] }[keyof StateDetails];

/** A report that does not end the connection: an error of the broker, or of the client itself, which has no code. */
export interface Report {
  code?: number | null;
  message?: string;
}

/** Channels of any names, with events of any names and data. */
export interface AnyChannels {
  [channel: string]: AnyEvents;
}

/** Events of any names and data. */
export interface AnyEvents {
  [event: string]: any;
}

/** The channel of a name in a map of channels. */
export type ChannelOf<Channels, Name extends keyof Channels> = Channel<Channels[Name]>;

/** The names of a map that are texts. */
export type NameIn<Map> = keyof Map & string;

/** The data of an event of a name, on any of the channels. */
export type DataIn<Channels, E> = { [N in keyof Channels]: E extends keyof Channels[N] ? Channels[N][E] : never }[keyof Channels];

/** The names of the events on any of the channels. */
export type EventIn<Channels> = { [N in keyof Channels]: NameIn<Channels[N]> }[keyof Channels];

/** What can be bound to events: `this` for chains. */
export interface Bindings<Detail> {
  /** Unbinds `action`; without it all of the event. */
  unbind(event: string, action?: (data: any, detail: Detail) => void): this;
  /** Calls `action` for every event, with its name. */
  bind_global(action: (event: string, data: any, detail: Detail) => void): this;
  unbind_global(action: (event: string, data: any, detail: Detail) => void): this;
  /** Unbinds everything. */
  unbind_all(): this;
}

/** A connection that reconnects automatically; `Channels` maps the names of channels to their events and data. */
export interface Fanfare<Channels = AnyChannels> extends Bindings<ClientEventDetail> {}
export class Fanfare<Channels = AnyChannels> {
  constructor(key: string, options?: Options);
  readonly key: string;
  /** As given, and the defaults. */
  readonly options: Options;
  /** Called with each state of the connection. */
  onstate: <S extends keyof StateDetails>(state: S, detail: StateDetails[S]) => void;
  /** Called with errors that do not end the connection. */
  onerror: (error: Report) => void;
  /** The present state; a new object with each one. The event `fanfare:state` has it too. */
  connection: Connection;
  /** Calls `action` with the data of each such event on any channel, and of the client's own event. */
  bind(event: "fanfare:state", action: (connection: Connection) => void): this;
  bind<E extends keyof ChannelEvents>(event: E, action: (data: ChannelEvents[E], detail: ClientEventDetail) => void): this;
  bind<E extends EventIn<Channels>>(event: E, action: (data: DataIn<Channels, E>, detail: ClientEventDetail) => void): this;
  /** The channel of the signed-in user's events; `user.id` is the user's ID. */
  user: Channel & { id?: string };
  /** The socket ID; null while not connected. */
  socketID: string | null;
  /** The broker's URL, without the path of an app. */
  get url(): string;
  /** Connects; while waiting for a retry, connects immediately. */
  connect(): void;
  /** Ends the connection until `connect()`; client events that wait are dropped. */
  disconnect(): void;
  /** Ends the connection until `connect()`; what was missed arrives then, and client events that wait are sent. */
  suspend(): void;
  /** Ends the connection and all subscriptions, and unbinds everything: nothing of it stays with the page. */
  destroy(): void;
  /** Sends a ping; resolves with the milliseconds until the broker's pong, or with null if the connection ends first. */
  ping(): Promise<number | null>;
  /**
   * Subscribes, also after each reconnect; returns the channel of that name.
   *
   * A channel that was left within `resubscribeGrace` continues at its position.
   */
  subscribe<N extends NameIn<Channels>>(name: N, options?: SubscribeOptions): ChannelOf<Channels, N>;
  /** Returns the channel, if it is subscribed. */
  channel<N extends NameIn<Channels>>(name: N): ChannelOf<Channels, N> | undefined;
  /** Ends a subscription; its position is forgotten after `resubscribeGrace`. */
  unsubscribe(name: NameIn<Channels>): void;
  /** Signs in the user of the backend's signature, also after each reconnect. */
  signIn(): void;
}

/** What an event has beside its data. */
export interface EventDetail {
  /** On presence channels, who sent a client event. */
  userID?: string;
  /** The number of the message; an event without one is not replayed. */
  serial?: number;
  /** Whether it was replayed. */
  isMissed?: boolean;
}

/** What an event of any channel has beside its data. */
export interface ClientEventDetail extends EventDetail {
  channel?: string;
}

export interface Member {
  id: string;
  info: any;
}

/** The protocol's own events of a channel, and their data. */
export interface ChannelEvents {
  "pusher:subscription_succeeded": any;
  "pusher:subscription_error": { type: string; error: string; status?: number };
  "pusher:continuity": Continuity;
  "pusher:cache_miss": {};
  "pusher:subscription_count": { subscription_count: number };
  "pusher:member_added": Member;
  "pusher:member_removed": Member;
  "pusher:signin_success": { id: string };
}

/** A channel's subscription; `Events` maps the names of its events to their data. */
export interface Channel<Events = AnyEvents> extends Bindings<EventDetail> {}
export class Channel<Events = AnyEvents> {
  private constructor();
  readonly name: string;
  readonly isSubscribed: boolean;
  /** The members of a presence channel: a map from ID to info, in the order in which they joined. */
  readonly members: Map<string, any>;
  /** On a presence channel, the ID of this page's user. */
  readonly me: string | null;
  /** The position of what the page shows: up to it every event was delivered; null if there is none. */
  get position(): Position | null;
  /** Whether what the page shows is current: subscribed, and the state is loaded. */
  get isLive(): boolean;
  /** Calls `action` with the data of each such event. */
  bind<E extends keyof ChannelEvents>(event: E, action: (data: ChannelEvents[E], detail: EventDetail) => void): this;
  bind<E extends NameIn<Events>>(event: E, action: (data: Events[E], detail: EventDetail) => void): this;
  /**
   * Keeps a state up to date: `getState` gets and shows it, whenever nothing was recovered; events wait meanwhile.
   *
   * It may return the position of the state; then only the events behind it follow. It is called again when it throws.
   */
  state(getState: (continuity: Continuity) => Position | null | void | Promise<Position | null | void>): this;
  /** Sends a client event; false when it cannot be sent. A `transient` one is sent once and may be lost. */
  trigger<E extends NameIn<Events> & `client-${string}`>(event: E, data: Events[E], options?: { transient?: boolean }): boolean;
}

/** The app's backend refused: thrown by `authorize`. */
export class NotAuthorized extends Error {}
