/// A presence channel's notice of one of the benchmark's members.
struct PresenceNotice: Equatable {
    var isJoin: Bool
    /// The marker in the member's user ID; its sequence number is that of the join.
    var marker: EventMarker
}

/// Finds the `member_added` and `member_removed` notices of one run's members.
///
/// A member's user ID is an ``EventMarker``. All observers receive the same bytes, so that a notice is found by
/// comparing a few words.
struct PresenceNoticeScanner {
    private var joins: EventMarkerScanner
    private var leaves: EventMarkerScanner
    /// The offset of the last notice's event name, in bytes from the start of the message.
    private var offset = 0

    // A channel's name has no colon, and a quote inside a string has a backslash.
    private static let prefix = Array("\"pusher_internal:member_".utf8)

    init(run: UInt32) {
        joins = EventMarkerScanner(run: run)
        leaves = EventMarkerScanner(run: run)
    }

    mutating func find(in message: Span<UInt8>) -> PresenceNotice? {
        if !Self.hasPrefix(message, at: offset) {
            let end = message.count - Self.prefix.count
            guard end > 0, let start = (0..<end).first(where: { Self.hasPrefix(message, at: $0) })
            else { return nil }
            offset = start
        }
        switch message[offset + Self.prefix.count] {
        case UInt8(ascii: "a"):
            return joins.find(in: message).map { PresenceNotice(isJoin: true, marker: $0) }
        case UInt8(ascii: "r"):
            return leaves.find(in: message).map { PresenceNotice(isJoin: false, marker: $0) }
        default: return nil
        }
    }

    /// Whether the event name starts there, with at least one byte after the prefix.
    private static func hasPrefix(_ message: Span<UInt8>, at start: Int) -> Bool {
        guard start + prefix.count < message.count else { return false }
        for index in prefix.indices where message[start + index] != prefix[index] { return false }
        return true
    }
}
