import PusherProtocol

/// Subscriptions whose device tracks its position.
extension ClientModel {
    /// The device's state on a channel.
    func tracking(of channel: Int) -> Tracking {
        let key = world.key(app, channel) * Scenario.clientCount + place
        if let tracking = world.trackings[key] { return tracking }
        let tracking = Tracking(world.model(app, channel))
        world.trackings[key] = tracking
        return tracking
    }

    /// The members of a subscription from the device's position, with the state that belongs to it.
    func track(_ channel: Int) -> (members: String, tracked: TrackedPart) {
        let tracking = tracking(of: channel)
        let tracked = TrackedPart(tracking)
        if let socketID { tracking.connect(socketID) }
        guard let position = tracked.requested else { return (#","position":{}"#, tracked) }
        var members =
            #","position":{"stream":"\#(position.stream)","serial":\#(position.serial)"#
        if let socketID = tracked.formerSocketID { members += #","socket":"\#(socketID)""# }
        if tracking.lacksOpening { members += #","opening":true"# }
        // The replay may fill the send queue.
        pendingBytes += tracking.model.published.suffix(Scenario.messagesMax)
            .reduce(0) { $0 + $1.data.utf8.count + 200 }
        return (members + "}", tracked)
    }

    /// The device has not missed anything yet.
    func recordContact() {
        guard isAlive, !isStalled, !wasStalled else { return }
        for subscription in currentSubscriptions where subscription.grantedAt != nil {
            subscription.tracked?.tracking.contactAt = world.now
        }
    }

    // MARK: - Acknowledgement

    /// Checks where a subscription begins.
    func receive(start data: String, _ subscription: SubscriptionModel) throws(Violation) {
        let start = SubscriptionStart(acknowledgement: data)
        guard let tracked = subscription.tracked else {
            guard start == nil else {
                throw broken(.answers, "was granted a position, and has asked for none: \(data)")
            }
            return
        }
        let name = subscription.model.name
        guard let start else {
            throw broken(.answers, "tracks \(name), and got no position: \(data)")
        }
        let model = subscription.model
        try model.record(start.position.stream)
        tracked.position = start.position
        switch start.continuity {
        case .began:
            guard tracked.requested == nil else {
                throw broken(.answers, "began on \(name), and has sent a position")
            }
            begin(subscription, tracked, at: start.position)
            tracked.replayCount = start.rewound
            guard start.rewound == 0 || subscription.model.channel.opens else {
                throw broken(.answers, "was rewound on \(name), and has not asked for it")
            }
            world.reach(start.rewound == 0 ? .tracked : .trackedEarlier)
        case .recovered(let count):
            guard let requested = tracked.requested, requested == start.position else {
                throw broken(
                    .recovery,
                    "goes on behind \(start.position) on \(name), and is at \(String(describing: tracked.requested))"
                )
            }
            tracked.replayCount = count
            subscription.goesOn = !tracked.wantsOpening
            world.reach(count == 0 ? .recoveredNothing : .recovered)
        case .gap(let gap):
            try check(gap, start.position, tracked)
            begin(subscription, tracked, at: start.position)
            world.reach(.gap(gap.reason.rawValue))
        }
        guard !subscription.isLeaving else { return }
        tracked.tracking.lacksOpening = start.hasOpening
        tracked.tracking.contactAt = world.now
    }

    /// Checks another acknowledgement: the channel goes on in another stream, and nothing is missing between the two.
    func receive(restart data: String, _ subscription: SubscriptionModel) throws(Violation) {
        let name = subscription.model.name
        guard let tracked = subscription.tracked, subscription.model.purgeCount > 0,
            let start = SubscriptionStart(acknowledgement: data)
        else { throw broken(.answers, "was granted \(name) twice") }
        guard case .gap(let gap) = start.continuity, gap.reason == .unknownStream,
            start.position.serial == 0, start.position.stream != tracked.position?.stream
        else {
            throw broken(.honesty, "goes on at \(start) on \(name), which was purged")
        }
        guard tracked.replayCount == 0 else {
            throw broken(.recovery, "got another stream of \(name) amid a replay")
        }
        try subscription.model.record(start.position.stream)
        world.reach(.restart)
        tracked.position = start.position
        guard !subscription.isLeaving else { return }
        tracked.tracking.position = start.position
        tracked.tracking.contactAt = world.now
    }

    private func begin(
        _ subscription: SubscriptionModel,
        _ tracked: TrackedPart,
        at position: ChannelPosition
    ) {
        guard !subscription.isLeaving else { return }
        tracked.tracking.begin(at: position, step: world.step)
    }

    /// Checks that a gap is told only where something is missing.
    private func check(
        _ gap: RecoveryGap,
        _ position: ChannelPosition,
        _ tracked: TrackedPart
    ) throws(Violation) {
        let name = tracked.tracking.model.name
        if gap.reason == .unknownStream, let requested = tracked.requested,
            requested.stream != position.stream
        {
            return
        }
        guard let requested = tracked.requested, position.serial > requested.serial else {
            throw broken(.honesty, "was told of a gap on \(name), and has missed nothing")
        }
        let missed = position.serial - requested.serial
        guard gap.missed == missed else {
            throw broken(
                .honesty,
                "was told of \(gap.missed ?? 0) missed messages on \(name), and has missed \(missed)"
            )
        }
        let seconds = (world.now - tracked.tracking.contactAt) / 1_000
        let isTrue =
            switch gap.reason {
            case .truncated: missed > Scenario.messagesMax || seconds >= Scenario.messageAgeMax - 1
            case .tooMuch:
                missed > Scenario.replayMessagesMax
                    || tracked.tracking.model.byteCount(of: Int(missed)) > Scenario.replayBytesMax
            default: false
            }
        guard isTrue else {
            throw broken(
                .honesty,
                "was told of \(missed) missed messages on \(name), \(gap.reason.rawValue), after \(seconds) seconds"
            )
        }
    }

    // MARK: - Messages

    /// Records the number of an event, and moves the position of a tracked subscription.
    ///
    /// - Returns: Whether the event is part of a replay.
    func number(
        _ event: ReceivedEvent,
        _ publication: Publication,
        _ subscription: SubscriptionModel
    ) throws(Violation) -> Bool {
        let stream = subscription.tracked?.position?.stream
        if let serial = event.serial,
            let position = stream.map({ ChannelPosition(stream: $0, serial: serial) })
                ?? subscription.model.position(of: serial)
        {
            try subscription.model.number(position, publication.id)
        }
        if let earlier = subscription.earlier {
            let isEarlier = try number(event.serial, publication, earlier, subscription)
            if isEarlier {
                subscription.first.insert(publication.id)
                world.reach(.earlier)
            }
            return isEarlier
        }
        guard let tracked = subscription.tracked else { return false }
        guard let serial = event.serial else {
            throw broken(.serials, "got event \(publication.id) without a number")
        }
        let isReplayed = try advance(tracked, to: serial, subscription)
        if !subscription.isLeaving { tracked.tracking.received.insert(publication.id) }
        if isReplayed, tracked.formerSocketID != nil,
            publication.excludedSocketID == tracked.formerSocketID
                || publication.sender?.client.socketID == tracked.formerSocketID
        {
            throw broken(.exclusion, "got event \(publication.id) again, which excludes it")
        }
        return isReplayed
    }

    /// Checks the number that a client gets in place of a message that excludes it.
    func receive(number serial: UInt64, _ subscription: SubscriptionModel) throws(Violation) {
        guard let tracked = subscription.tracked else {
            throw broken(.answers, "received a number of \(subscription.model.name)")
        }
        _ = try advance(tracked, to: serial, subscription)
        if !subscription.isLeaving, let position = tracked.position {
            tracked.tracking.leftOut.insert(position)
        }
        world.reach(.numberAlone)
    }

    private func advance(
        _ tracked: TrackedPart,
        to serial: UInt64,
        _ subscription: SubscriptionModel
    ) throws(Violation) -> Bool {
        guard let position = tracked.position else {
            throw broken(.answers, "got the number \(serial) ahead of its position")
        }
        let name = subscription.model.name
        guard serial > position.serial else {
            throw broken(.repeats, "got number \(serial) on \(name) behind \(position.serial)")
        }
        guard serial == position.serial + 1 else {
            throw broken(.recovery, "got number \(serial) on \(name) behind \(position.serial)")
        }
        let next = ChannelPosition(stream: position.stream, serial: serial)
        tracked.position = next
        if !subscription.isLeaving {
            tracked.tracking.position = next
            tracked.tracking.contactAt = world.now
        }
        guard tracked.replayCount > 0 else { return false }
        tracked.replayCount -= 1
        return true
    }
}
