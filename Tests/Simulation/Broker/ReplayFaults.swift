import Broker
import PusherProtocol
import Shard

/// Faults of a home's answer to a client that tracks its position.
extension LinkMessage {
    /// Changes the replay of a grant that has one.
    private func withReplay(_ change: (inout Replay) -> Void) -> LinkMessage {
        guard
            case .granted(let address, let request, .tracked(var replay, let members, let cached)) =
                message
        else { return self }
        change(&replay)
        let grant = Grant.tracked(replay, members: members, cached: cached)
        return LinkMessage(message: .granted(address, request, grant))
    }

    /// Changes the earlier messages of a grant that has some, of a client that tracks nothing.
    func withOpening(_ change: (inout [ReplayedMessage]) -> Void) -> LinkMessage {
        guard
            case .granted(
                let address,
                let request,
                .opened(var messages, let members, let cached)
            ) =
                message
        else { return self }
        change(&messages)
        let grant = Grant.opened(messages, members: members, cached: cached)
        return LinkMessage(message: .granted(address, request, grant))
    }

    /// Messages in which the replays of grants come behind everything else: the clients join the fan-out before.
    static func withReplaysLast(_ messages: [LinkMessage]) -> [LinkMessage] {
        var late: [LinkMessage] = []
        let rest = messages.map { message in
            guard case .granted(_, let request, .tracked) = message.message else { return message }
            return message.withReplay { replay in
                late += replay.messages.compactMap { $0.message(to: request.socketID) }
                replay.messages = []
            }
        }
        return rest + late
    }

    /// A replay without its oldest message.
    func withoutFirstOfReplay() -> LinkMessage {
        withReplay { if !$0.messages.isEmpty { $0.messages.removeFirst() } }
    }

    /// A replay that ends one message early, and says so.
    func withoutLastOfReplay() -> LinkMessage {
        withReplay { replay in
            guard case .recovered(let count) = replay.start.continuity, count > 0 else { return }
            replay.messages.removeLast()
            replay.start.continuity = .recovered(replay: count - 1)
        }
    }

    /// A replay without the numbers of what excludes its reader.
    func withoutNumbers() -> LinkMessage {
        withReplay { replay in
            replay.messages.removeAll { if case .leftOut = $0 { true } else { false } }
        }
    }

    /// A replay whose first message comes twice.
    func withDoubledReplay() -> LinkMessage {
        withReplay { if let first = $0.messages.first { $0.messages.insert(first, at: 0) } }
    }

    /// A subscription that begins one message later than it does.
    func withPositionTooHigh() -> LinkMessage {
        withReplay { replay in
            let position = replay.start.position
            replay.start.position = ChannelPosition(
                stream: position.stream,
                serial: position.serial + 1
            )
        }
    }

    /// A gap in place of a replay.
    func withFalseGap() -> LinkMessage {
        withReplay { replay in
            guard case .recovered(let count) = replay.start.continuity else { return }
            let position = replay.start.position
            replay.start = SubscriptionStart(
                ChannelPosition(stream: position.stream, serial: position.serial + UInt64(count)),
                .gap(RecoveryGap(.truncated, missed: UInt64(count)))
            )
            replay.messages = []
        }
    }

    /// A recovery in place of a gap.
    func withUntoldGap() -> LinkMessage {
        withReplay { replay in
            guard case .gap = replay.start.continuity else { return }
            replay.start.continuity = .recovered(replay: 0)
        }
    }
}

extension ReplayedMessage {
    /// The message on a way of its own to a connection; `nil` for a number alone.
    fileprivate func message(to socketID: SocketID) -> LinkMessage? {
        guard case .envelope(let envelope) = self,
            let message = try? ServerMessage.parse(envelope.text.span)
        else { return nil }
        return LinkMessage(message: .reply(message, to: socketID))
    }
}
