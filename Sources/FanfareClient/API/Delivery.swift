/// An element of a sequence of a channel's events.
public enum Delivery<Value: Sendable>: Sendable {
    /// An event, and its position if the broker numbers the channel's events.
    case event(Value, at: ChannelPosition?)
    /// An event whose data cannot be decoded; the sequence continues.
    case undecodable(ChannelEvent, FanfareError)
    /// The client has reconnected and received all missed events: nothing is missing.
    case recovered(count: Int)
    /// Events may be missing: load the current state, then continue.
    case gap(Gap)
}

extension Delivery: Equatable where Value: Equatable {}

extension Delivery {
    /// Returns the delivery with its event decoded.
    func decoded<Other>(
        by decode: (Value) throws(FanfareError) -> Other
    ) -> Delivery<Other> where Value == ChannelEvent {
        switch self {
        case .event(let event, let position):
            do throws(FanfareError) {
                return .event(try decode(event), at: position)
            } catch {
                return .undecodable(event, error)
            }
        case .undecodable(let event, let error): return .undecodable(event, error)
        case .recovered(let count): return .recovered(count: count)
        case .gap(let gap): return .gap(gap)
        }
    }
}

/// A position in a channel's sequence of events.
public struct ChannelPosition: Codable, Hashable, Sendable {
    /// The ID of the sequence; the broker starts a new one when it may have lost the end of the last one.
    public let stream: String
    /// The number in the sequence, from 1.
    public let serial: UInt64

    /// Creates a position.
    ///
    /// - Parameters:
    ///   - stream: The ID of the sequence.
    ///   - serial: The number in the sequence, from 1.
    public init(stream: String, serial: UInt64) {
        self.stream = stream
        self.serial = serial
    }
}

/// A part of a channel's events that was not, or may not have been, delivered.
public struct Gap: Hashable, Sendable {
    /// The reason for a gap; later versions may have others.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        /// The reason's name.
        public let description: String

        init(_ name: String) { description = name }

        /// The connection was lost, and the broker keeps no events for clients that reconnect.
        public static let brokerHasNoHistory = Reason("broker_has_no_history")
        /// The broker has started a new sequence for the channel: it was restarted, or no longer knows the channel.
        public static let unknownStream = Reason("unknown_stream")
        /// The broker no longer keeps the first missed event: the client was offline too long, or missed too many
        /// events.
        public static let truncated = Reason("truncated")
        /// More events were missed than the broker replays at once.
        public static let tooMuch = Reason("too_much")
        /// The channel has not reached this position yet.
        public static let ahead = Reason("ahead")
        /// The broker keeps no events of this channel.
        public static let notKept = Reason("not_kept")
        /// The lease began at an earlier position than the channel, which was subscribed already.
        public static let behind = Reason("behind")
        /// The sequence was not read, or not at all for a while, and its buffer is full.
        public static let overflow = Reason("overflow")
    }

    /// The reason.
    public let reason: Reason
    /// The number of missed events, if known.
    public let missed: Int?

    init(_ reason: Reason, missed: Int? = nil) {
        self.reason = reason
        self.missed = missed
    }
}
