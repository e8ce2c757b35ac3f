/** The position in a channel's stream, `{ stream, serial }`: every message up to it was received. */
export class Tracking {
  /** The number of holes without a message in order between them. */
  holes = 0;
  /** Whether earlier messages arrive. */
  isReplaying = false;
  #position;
  #rewind;
  #awaitsOpening = false;
  // The connection whose own events a replay leaves out. While a replay arrives it is the one before: meanwhile no client
  // events are sent, so that the current one has nothing to leave out.
  #socketID = null;
  #currentSocketID = null;
  #replay = null;
  /** The positions of parts of the page that wait for the first acknowledgement. */
  #starts = [];

  constructor(position = null, rewind = null) {
    this.#position = position;
    this.#rewind = rewind;
  }

  get position() {
    return this.#position && { ...this.#position };
  }

  /**
   * Returns the gap between an earlier `start` and this position; null if there is none. Before the first acknowledgement
   * that is not known: `takeGaps()` returns it then.
   */
  gapBehind(start) {
    const position = this.#position;
    const { stream, serial } = start;
    if (!position) {
      this.#starts.push(start);
      return null;
    }
    if (position.stream !== stream) return { kind: "gap", reason: "unknown_stream", missed: null };
    return serial < position.serial ? { kind: "gap", reason: "behind", missed: position.serial - serial } : null;
  }

  /** Returns the gaps of the starts that waited. */
  takeGaps() {
    return this.#position ? this.#starts.splice(0).map((start) => this.gapBehind(start)).filter((gap) => gap) : [];
  }

  /** Goes back to an earlier position, up to which the page has handled what arrived; to none for null. */
  goBack(position) {
    this.#position = position;
  }

  /** Goes back before the last message, which the page could not handle. */
  stepBack() {
    this.#position.serial -= 1;
  }

  /** The members that a subscription adds to its data. */
  get request() {
    if (!this.#position) return { position: {}, ...(this.#rewind && { rewind: this.#rewind }) };
    return {
      position: {
        ...this.#position, ...(this.#socketID && { socket: this.#socketID }), ...(this.#awaitsOpening && { opening: true }),
      },
    };
  }

  /**
   * Whether an acknowledgement answers another request than the last one: of a subscription that was left before its answer
   * came. What follows it is replayed behind the answer to the last one.
   */
  isObsolete(data) {
    if (!data?.recovered || !isPosition(data.position)) return false;
    const { stream, serial } = this.#position ?? {};
    return data.position.stream === stream && data.position.serial !== serial;
  }

  /**
   * Handles the data of an acknowledgement; `isLive` if the channel was subscribed on this connection already.
   *
   * Returns what it says about the time since the position: `{ kind, replayed, reason, missed }`; null if nothing new.
   */
  acknowledged(data, socketID, isLive) {
    const { position, recovered, replay = 0, gap, opening } = data ?? {};
    if (!isPosition(position)) {
      if (isLive) return null;
      this.#position = null;
      this.#socketID = null;
      return { kind: "unknown" };
    }
    const known = this.#position;
    // The answer to an earlier request: the messages up to the position arrived meanwhile.
    const isLate = isLive && known?.stream === position.stream && position.serial <= known.serial;
    if (isLate && !gap) return null;
    this.#position = { stream: position.stream, serial: position.serial };
    this.#rewind = null;
    this.#awaitsOpening = opening === true;
    this.#currentSocketID = socketID;
    let continuity = { kind: "began" };
    if (known && gap) continuity = { kind: "gap", reason: gap.reason, missed: gap.missed ?? null };
    else if (known && recovered) continuity = { kind: "resumed", replayed: replay };
    // The broker does not know the position.
    else if (known) continuity = { kind: "gap", reason: "unknown_stream", missed: null };
    const isResumed = continuity.kind === "resumed";
    this.#replay = { end: position.serial + (isResumed || !known ? replay : 0), continuity: isResumed ? continuity : null };
    this.isReplaying = true;
    if (!isResumed) this.#socketID = socketID;
    return continuity;
  }

  /** Handles the number of a message: "next", "known" (drop it), or "hole" (subscribe again). */
  receive(serial) {
    if (!this.#position) return "next";
    if (serial <= this.#position.serial) return "known";
    if (serial > this.#position.serial + 1) {
      this.holes += 1;
      return "hole";
    }
    this.holes = 0;
    this.#position.serial = serial;
    return "next";
  }

  /** Records that an event without a number has arrived: the cached event, if one is expected. */
  receivedWithoutNumber() {
    this.#awaitsOpening = false;
  }

  /** Returns the end of a replay once, when its messages have arrived: `{ continuity }`, null unless it was resumed. */
  takeReplayEnd() {
    if (!this.#replay || this.#position.serial < this.#replay.end) return null;
    const { continuity } = this.#replay;
    this.ended();
    this.#socketID = this.#currentSocketID;
    return { continuity };
  }

  /** Records that the subscription has ended, on this connection or with it. */
  ended() {
    this.#replay = null;
    this.isReplaying = false;
  }
}

/** Whether a value is a position. */
export function isPosition(value) {
  return typeof value?.stream === "string" && /^[\w-]{1,64}$/.test(value.stream)
    && Number.isSafeInteger(value.serial) && value.serial >= 0;
}
