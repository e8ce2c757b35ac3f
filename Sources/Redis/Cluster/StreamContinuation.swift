public import RESP

/// Follows a channel's messages from a known position on: what a client has missed that returns to a node, or a node that
/// returns to Redis.
///
/// Redis has all streams of a channel in one order: the messages of one that is sealed, the entry that says which position
/// its successor follows (`opening.lua`), the successor's messages. Such an entry is written only if nothing of the sealed
/// stream was lost. What does not follow the last position is a gap: something was removed, purged or lost.
public struct StreamContinuation: Hashable, Sendable {
    /// The position of the last message, or the beginning of a stream.
    public private(set) var position: StreamPosition

    /// Begins behind a position.
    public init(behind position: StreamPosition) { self.position = position }

    /// What an entry is.
    public enum Step: Hashable, Sendable {
        /// The message that follows.
        case message
        /// The beginning of the next stream: nothing is missing of the one before.
        case stream
        /// Something is missing ahead of it.
        case gap
    }

    /// Goes on to the next entry.
    ///
    /// - Parameters:
    ///   - next: The position of the entry.
    ///   - former: The position of the sealed stream that it follows, for an entry at place 0.
    /// - Returns: What the entry is; behind a gap the position stays.
    public mutating func advance(
        to next: StreamPosition,
        following former: StreamPosition?
    ) -> Step {
        if next.serial == 0 {
            guard former == position else { return .gap }
            position = next
            return .stream
        }
        guard next.stream == position.stream, next.serial == position.serial + 1 else {
            return .gap
        }
        position = next
        return .message
    }

    /// Goes on to the next entry of a reply to `XRANGE`.
    public mutating func advance(to entry: borrowing RESPView) -> Step {
        guard let next = StreamPosition(entry[0]) else { return .gap }
        let former = next.serial == 0 ? StreamPosition(sealedBy: entry[1][1].copy()) : nil
        return advance(to: next, following: former)
    }
}

extension StreamPosition {
    /// Reads which position of a sealed stream an entry at place 0 follows: `! - TIME POSITION`; nil for another form.
    init?(sealedBy entry: [UInt8]) {
        let words = entry.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 4, words[0].elementsEqual("!".utf8) else { return nil }
        self.init(Array(words[3]).span)
    }
}
