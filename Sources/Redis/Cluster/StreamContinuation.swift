public import RESP

/// Follows a channel's messages from a known position.
///
/// It finds the messages missed by a client that returns to a node, or by a node that returns to Redis. Redis has all
/// streams of a channel in one order. After the messages of a sealed stream follow an entry with the position that its
/// successor follows (`opening.lua`), and then the successor's messages. Such an entry is written only if nothing of
/// the sealed stream was lost. An entry that does not follow the last position shows a gap: messages were removed,
/// purged or lost.
public struct StreamContinuation: Hashable, Sendable {
    /// The position of the last message, or the beginning of a stream.
    public private(set) var position: StreamPosition

    /// Begins after a position.
    public init(behind position: StreamPosition) { self.position = position }

    /// The kind of an entry.
    public enum Step: Hashable, Sendable {
        /// The message that follows.
        case message
        /// The beginning of the next stream; nothing is missing of the preceding one.
        case stream
        /// Messages are missing before it.
        case gap
    }

    /// Continues to the next entry.
    ///
    /// - Parameters:
    ///   - next: The position of the entry.
    ///   - former: The position of the sealed stream that it follows, for an entry with serial 0.
    /// - Returns: The kind of the entry; after a gap the position stays.
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

    /// Continues to the next entry of a reply to `XRANGE`.
    public mutating func advance(to entry: borrowing RESPView) -> Step {
        guard let next = StreamPosition(entry[0]) else { return .gap }
        let former = next.serial == 0 ? StreamPosition(sealedBy: entry[1][1].copy()) : nil
        return advance(to: next, following: former)
    }
}

extension StreamPosition {
    /// Reads the position of a sealed stream that an entry with serial 0 follows: `! - TIME POSITION`; nil for another
    /// form.
    init?(sealedBy entry: [UInt8]) {
        let words = entry.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 4, words[0].elementsEqual("!".utf8) else { return nil }
        self.init(Array(words[3]).span)
    }
}
