/// A step of a run; it has no effect if its client or exchange does not exist.
///
/// Steps refer to each other only by indices, so that any of them can be removed.
enum Step {
    case connect(Int, shard: Int, app: Int, compresses: Bool, bufferSize: Int)
    /// A client queues a message, and writes up to this number of bytes.
    case send(Int, ClientAction, pushing: Int)
    case push(Int, Int)
    case read(Int, Int)
    /// The client stops reading until the next settlement.
    case stall(Int)
    /// The client stops sending and answering pings.
    case mute(Int)
    /// The client disconnects without a close frame: with a reset, or after it has sent everything.
    case leave(Int, isReset: Bool)
    case request(Request, shard: Int, pushing: Int)
    /// Every exchange in progress writes and reads up to this number of bytes.
    case transfer(Int)
    case turn(Int)
    case deliver(Int, from: Int, to: Int)
    /// Everything transfers what it can, once.
    case round
    /// Backends publish this many events of this length at once on a channel, while all clients read that are not
    /// stalled.
    case flood(app: Int, channel: Int, count: Int, length: Int)
    /// Advances the clock by milliseconds.
    case wait(Int)
    /// Advances the clock by seconds, with a round after each.
    case advance(Int)
    case reload(Reload)
    /// Delivers everything, and checks the resulting state.
    case settle
}

/// An action of a client.
enum ClientAction {
    enum Signature { case right, none, wrong, ofAnotherSocket, foreign, second }
    enum Malformed {
        case noJSON, unknownEvent, noEvent, binary, invalidText, unmasked, reserved, tooLong
    }

    /// Subscribes; with `tracks` from the position that the device keeps of the channel.
    case subscribe(Int, Signature, user: Int?, tracks: Bool)
    case subscribeToInvalidName
    case unsubscribe(Int)
    /// Subscribes and unsubscribes at once, and optionally subscribes again.
    case subscribeBriefly(Int, user: Int, stays: Bool, tracks: Bool)
    case signIn(Int, watching: [Int], Signature)
    case event(Int, length: Int)
    /// Sends more client events than a second allows.
    case burst(Int)
    /// Sends more faulty messages than a minute allows.
    case flood
    case ping
    case pingFrame
    case malformed(Malformed)
    case close
}

/// A request of a backend.
enum Request {
    case trigger(app: Int, channels: [Int], length: Int, excluded: Int?, isSigned: Bool)
    case batch(app: Int, channels: [Int], length: Int)
    case terminate(app: Int, user: Int)
    case list(app: Int)
    case describe(app: Int, channel: Int)
    case members(app: Int, channel: Int)
    case purge(app: Int, channel: Int)
}

/// A change of the configuration.
enum Reload {
    case subscriptionsMax(Int)
    case clientEvents(Bool)
    case secondSecret(Bool)
    /// Whether the second app is enabled.
    case second(Bool)
}

/// The generated schedule of a run.
package struct Schedule {
    package let seed: UInt64
    package let shardCount: Int
    /// The end of the run.
    let ending: Ending
    /// The maximum number of events on a link before triggers are refused.
    let lineLengthMax: Int
    var steps: [Step]

    /// The end of a run.
    enum Ending { case leave, drain, drainWhileBusy }

    /// The number of steps, without the common end of all runs.
    package var stepCount: Int { steps.count }
}
