public import PusherProtocol

/// Streams that are numbered elsewhere: in a cluster, Redis assigns the IDs and serials of all nodes' messages.
///
/// This shard keeps a copy of the end, so that most replays need no other source.
extension Streams {
    /// Continues a channel's stream at the position of its last message, and returns its index.
    ///
    /// The kept messages stay if the position is the last one known here; otherwise they are dropped.
    mutating func follow(
        _ address: ChannelAddress,
        at position: ChannelPosition,
        _ settings: RecoverySettings,
        isVacant: Bool,
        at now: Int64
    ) -> Int {
        guard let index = index(of: address) else {
            var stream = ChannelStream(position.stream, of: address, rule(of: address, settings))
            stream.restore(lastSerial: position.serial)
            return insert(stream, isVacant: isVacant, at: now)
        }
        guard self[index].position != position else { return index }
        endOpened(index)
        change(index) { stream in
            stream.restart(as: position.stream)
            stream.restore(lastSerial: position.serial)
        }
        return index
    }

    /// Forgets a stream that is no longer followed.
    mutating func unfollow(_ address: ChannelAddress) {
        guard let index = index(of: address) else { return }
        endOpened(index)
        if self[index].isVacant { apps[self[index].sharedRule.app].vacantCount -= 1 }
        forget(index)
    }
}

extension HomeShardState {
    /// Continues a channel's stream at a position that was assigned elsewhere, and returns its index; see ``Streams``.
    public mutating func follow(
        _ address: ChannelAddress,
        at position: ChannelPosition,
        _ settings: RecoverySettings,
        isVacant: Bool,
        at now: Int64
    ) -> Int {
        streams.follow(address, at: position, settings, isVacant: isVacant, at: now)
    }

    /// Forgets the stream of a channel that is no longer followed.
    public mutating func unfollow(_ address: ChannelAddress) { streams.unfollow(address) }
}

extension ChannelStream {
    /// The messages that a replay needs from the store, because those kept here begin too late.
    ///
    /// The request has the position in the stream's own ID; it is `nil` for a client that does not track the channel.
    /// Returns `nil` if the messages kept here suffice, or others would not help.
    public func missingMessages(
        for request: PositionRequest?,
        _ settings: RecoverySettings
    ) -> MissingMessages? {
        let kept = firstKeptSerial
        guard kept > 1 else { return nil }
        let first: UInt64
        var ageMax: Int?
        if let known = request?.position {
            guard known.stream == id, known.serial < lastSerial else { return nil }
            first = known.serial + 1
        } else if case .replay(let count, let seconds) = rule.opening(for: request) {
            let wanted = UInt64(min(count ?? .max, settings.replayMessagesMax))
            first = lastSerial + 1 - min(wanted, lastSerial)
            ageMax = seconds
        } else {
            return nil
        }
        // A longer replay is refused anyway.
        guard first < kept, lastSerial + 1 - first <= UInt64(settings.replayMessagesMax) else {
            return nil
        }
        return MissingMessages(serials: first...kept - 1, ageMax: ageMax)
    }
}

/// Messages of a stream that a replay needs and that are not kept here.
public struct MissingMessages: Hashable, Sendable {
    /// The serials.
    public var serials: ClosedRange<UInt64>
    /// The maximum age, in seconds; `nil` for any.
    public var ageMax: Int?
}
