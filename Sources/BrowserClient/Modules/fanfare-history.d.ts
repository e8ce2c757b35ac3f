// The types of fanfare-history.js.

import type { Fanfare, Rewind } from "./fanfare.js";

/** An event of a channel. */
export interface PastEvent {
  event: string;
  data: any;
  /** The number of the message in the channel's stream. */
  serial: number;
  /** On presence channels, who sent a client event. */
  userID?: string;
}

/**
 * Resolves to the last events of a channel, where the broker's rule for it has `rewind`, over another connection with the options
 * of `client`. Rejects when the broker, its rule or the app's backend refuses, and when `signal` is aborted.
 */
export function history(
  client: Fanfare<any>, name: string, range: Rewind & { signal?: AbortSignal },
): Promise<{ events: PastEvent[]; isComplete: boolean }>;
