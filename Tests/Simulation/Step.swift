/// One thing that happens in a run; what it is about may not be there, and then nothing happens.
///
/// Steps refer to each other by nothing but numbers of places, so that any of them can be left out.
enum Step {
    case connect(Int, shard: Int, app: Int, compresses: Bool, room: Int)
    /// A client says something, and pushes so many bytes of what it has to say.
    case say(Int, Utterance, pushing: Int)
    case push(Int, Int)
    case read(Int, Int)
    /// The client reads nothing more until the next settlement.
    case stall(Int)
    /// The client neither speaks nor answers pings any more.
    case mute(Int)
    /// The client goes without a word, resetting the connection, or after it has sent all.
    case leave(Int, isReset: Bool)
    case ask(Request, shard: Int, pushing: Int)
    /// Backends push and read so many bytes of each request under way.
    case pursue(Int)
    case turn(Int)
    case carry(Int, from: Int, to: Int)
    /// Everybody moves on a bit.
    case bustle
    /// Backends publish this many events on a channel at once, of this length each, while everybody reads who is not stalled.
    case flood(app: Int, channel: Int, count: Int, length: Int)
    /// Milliseconds that pass unnoticed.
    case wait(Int)
    /// Seconds that pass while everybody goes on.
    case pass(Int)
    case reload(Reload)
    /// Everything arrives everywhere, and what must be so then is checked.
    case settle
}

/// What a client says.
enum Utterance {
    enum Signature { case right, none, wrong, ofAnotherSocket, foreign, second }
    enum Garbage {
        case noJSON, unknownEvent, noEvent, binary, invalidText, unmasked, reserved, tooLong
    }

    case subscribe(Int, Signature, user: Int?)
    case subscribeToInvalidName
    case unsubscribe(Int)
    /// Subscribes and gives it up at once, and perhaps subscribes again.
    case glance(Int, user: Int, stays: Bool)
    case signIn(Int, watching: [Int], Signature)
    case event(Int, length: Int)
    /// More events than a second allows.
    case burst(Int)
    /// More messages that are none than a minute allows.
    case flood
    case ping
    case pingFrame
    case garbage(Garbage)
    case close
}

/// What a backend asks.
enum Request {
    case trigger(app: Int, channels: [Int], length: Int, leavingOut: Int?, isSigned: Bool)
    case batch(app: Int, channels: [Int], length: Int)
    case terminate(app: Int, user: Int)
    case list(app: Int)
    case describe(app: Int, channel: Int)
    case members(app: Int, channel: Int)
}

/// What an operator changes.
enum Reload {
    case subscriptionsMax(Int)
    case clientEvents(Bool)
    case secondSecret(Bool)
    /// Whether the second app is served.
    case second(Bool)
}

/// A run, as its seed has it.
package struct Schedule {
    package let seed: UInt64
    package let shardCount: Int
    /// How everybody goes in the end.
    let ending: Ending
    /// How many messages wait on a line before triggers are refused.
    let lineLengthMax: Int
    var steps: [Step]

    /// How everybody goes in the end.
    enum Ending { case leave, drain, drainWhileBusy }

    /// How many steps there are, beside the end that every run has.
    package var stepCount: Int { steps.count }
}
