/// The readers of sequences whose buffers are full, by channel.
///
/// The client holds back the events of these channels, and requests them again once the readers have caught up. Other
/// channels are not affected.
struct SlowReaders: Sendable {
    /// The time without a read after which the unread elements are replaced by a gap: other readers of the channel
    /// must not wait for a reader that is stuck.
    static let stuckAfter = Duration.seconds(10)

    private struct SlowReader: Sendable {
        weak let reader: (any SequenceReader)?
        /// The unread elements at the last check.
        var unreadCount: Int
    }

    private var channels: [String: [ObjectIdentifier: SlowReader]] = [:]

    /// Whether the events of a channel are held back.
    func holdBack(_ channel: String) -> Bool { channels[channel] != nil }

    /// Adds a reader of a channel; returns whether it is the only slow one.
    mutating func add(_ reader: any SequenceReader, _ load: Load, of channel: String) -> Bool {
        let isFirst = channels[channel] == nil
        channels[channel, default: [:]][reader.id] =
            SlowReader(reader: reader, unreadCount: load.count)
        return isFirst
    }

    /// Removes a reader that has caught up; returns its channel if the reader was the last slow one.
    mutating func remove(_ reader: ObjectIdentifier) -> String? {
        for channel in channels.keys where channels[channel]?.removeValue(forKey: reader) != nil {
            return removeIfEmpty(channel) ? channel : nil
        }
        return nil
    }

    /// Replaces the unread elements of readers that have read nothing since the last check; returns whether the channel
    /// has no other slow readers.
    mutating func endStuck(of channel: String) -> Bool {
        for (id, slow) in channels[channel] ?? [:] {
            let unreadCount = slow.reader?.unreadCount ?? 0
            if unreadCount < slow.unreadCount, unreadCount > 0 {
                channels[channel]?[id]?.unreadCount = unreadCount
            } else {
                slow.reader?.dropUnread()
                channels[channel]?[id] = nil
            }
        }
        return removeIfEmpty(channel)
    }

    private mutating func removeIfEmpty(_ channel: String) -> Bool {
        guard channels[channel]?.isEmpty != false else { return false }
        channels[channel] = nil
        return true
    }
}
