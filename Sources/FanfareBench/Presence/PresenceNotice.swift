/// What a presence channel says about one of a benchmark's members.
struct PresenceNotice: Equatable {
    /// Joined, or else left.
    var isJoin: Bool
    /// The marker that is the member's user id: its sequence number is that of the joining.
    var marker: EventMarker
}

/// Finds `member_added` and `member_removed` of one run's members in the messages of all observers.
///
/// A member's user id is a ``EventMarker``. All observers receive the same bytes, so a notice is found
/// by comparing a few words and is not parsed again.
struct PresenceNoticeScanner {
    private var joins: EventMarkerScanner
    private var leaves: EventMarkerScanner
    /// Where the last notice's event name began, in bytes from the message's beginning.
    private var offset = 0

    // A channel's name has no colon, and a quote inside a string has a backslash.
    private static let prefix = Array("\"pusher_internal:member_".utf8)

    /// Looks for the members of a run.
    ///
    /// - Parameter run: 24 bits.
    init(run: UInt32) {
        joins = EventMarkerScanner(run: run)
        leaves = EventMarkerScanner(run: run)
    }

    /// Finds the notice that a message is; nil if it is none about a member of this run.
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

    /// Whether the event name begins there, with at least a byte behind the prefix.
    private static func hasPrefix(_ message: Span<UInt8>, at start: Int) -> Bool {
        guard start + prefix.count < message.count else { return false }
        for index in prefix.indices where message[start + index] != prefix[index] { return false }
        return true
    }
}
