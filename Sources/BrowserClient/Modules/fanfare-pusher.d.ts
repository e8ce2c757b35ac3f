// The types of fanfare-pusher.js, to be used beside those of pusher-js; fanfare.d.ts lies beside this file. docs/fanfare-js.md
// describes each call.
//
//     import Pusher from "pusher-js";
//     import "./fanfare-pusher.js";
//     import type { Recovered } from "./fanfare-pusher.js";
//
//     fanfareRecovery(Pusher);
//     const pusher = new Pusher("app-key", options) as Recovered<Pusher>;

import type { Continuity, GapReason, Position, SubscribeOptions } from "./fanfare.js";

export type { Continuity, GapReason, Position, Rewind, SubscribeOptions } from "./fanfare.js";

declare global {
  /**
   * Adds recovery to the class `Pusher` of pusher-js, once; connections that are open already have none.
   *
   * `resubscribeGrace` is the time in milliseconds for which a channel that was left keeps its position, by default 30,000; 0
   * for none.
   */
  function fanfareRecovery(Pusher: PusherClass, options?: { resubscribeGrace?: number }): void;
}

/** The class that pusher-js exports, and `window.Pusher`. */
export interface PusherClass {
  readonly Runtime: any;
  readonly instances: readonly any[];
  readonly prototype: any;
}

/** The events that the add-on tells on each channel, and their data. */
export interface RecoveryEvents {
  /** What a subscription means for the time before it; `resumed` comes behind the replayed events. */
  "pusher:continuity": Continuity;
  /** Events are missing: `missed` of them, null if they cannot be counted. */
  "pusher:gap": { reason: GapReason; missed: number | null };
}

/** The data of `pusher:subscription_succeeded`; on presence channels pusher-js gives the members instead. */
export interface SubscriptionSucceeded {
  /** Whether nothing is missing behind the position; absent on a first subscription. */
  recovered?: boolean;
  /** The number of missed events that follow. */
  replay?: number;
}

/** What the add-on adds to a channel `C` of pusher-js. */
export interface ChannelRecovery<C> {
  /** The position of what the page shows: up to it every event was delivered; null if there is none. */
  readonly position: Position | null;
  /**
   * Keeps a state up to date: `getState` gets and shows it, whenever nothing was recovered; events wait meanwhile.
   *
   * It may return the position of the state; then only the events behind it follow. It is called again when it throws.
   */
  state(
    getState: (continuity: Continuity) => Position | null | void | Promise<Position | null | void>,
  ): RecoveredChannel<C>;
  bind<E extends keyof RecoveryEvents>(event: E, action: (data: RecoveryEvents[E]) => void): RecoveredChannel<C>;
}

/** A channel of pusher-js with the add-on. */
export type RecoveredChannel<C> = ChannelRecovery<C> & C;

/** What the add-on adds to a client of pusher-js with channels `C`. */
export interface ClientRecovery<C> {
  /** Subscribes; a new subscription may go on behind a position, or begin with earlier events. */
  subscribe(name: string, options?: SubscribeOptions): RecoveredChannel<C>;
  channel(name: string): RecoveredChannel<C>;
}

/** A client of pusher-js with the add-on: `new Pusher(…) as Recovered<Pusher>`. */
export type Recovered<P extends { channel(name: string): any }> = ClientRecovery<ReturnType<P["channel"]>> & P;
