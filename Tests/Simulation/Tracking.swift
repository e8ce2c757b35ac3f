import PusherProtocol

/// What a device keeps of a channel that it tracks, over all of its connections.
final class Tracking {
    let model: ChannelModel
    /// The position behind the last message; `nil` before the first acknowledgement.
    var position: ChannelPosition?
    /// The connections that have tracked the channel, the last one last.
    private(set) var socketIDs: [String] = []
    /// The step since which nothing may be missing.
    var beganAt = 0
    /// The events that have arrived since then.
    var received: Set<Int> = []
    /// The numbers that the broker has sent in place of a message, since the device is excluded.
    var leftOut: Set<ChannelPosition> = []
    /// The last time at which the broker certainly had the device as a subscriber.
    var contactAt = 0
    /// Whether the cached event that the acknowledgement announced has not arrived.
    var lacksOpening = false

    init(_ model: ChannelModel) { self.model = model }

    /// Adds the connection that subscribes.
    func connect(_ socketID: String) {
        if socketIDs.last != socketID { socketIDs.append(socketID) }
    }

    /// Begins anew: what came before is missed.
    func begin(at position: ChannelPosition, step: Int) {
        self.position = position
        beganAt = step
        received = []
        leftOut = []
    }

    /// Whether an event excludes one of the device's connections.
    func isExcluded(from publication: Publication) -> Bool {
        publication.excludedSocketID.map(socketIDs.contains) == true
            || publication.sender?.client.socketID.map(socketIDs.contains) == true
    }
}

/// The part of a tracked subscription that other subscriptions lack.
final class TrackedPart {
    let tracking: Tracking
    /// The position that the client has sent; `nil` for none.
    let requested: ChannelPosition?
    /// The connection whose exclusions hold for the replay.
    let formerSocketID: String?
    /// Whether the client has asked for the cached event that did not arrive the last time.
    let wantsOpening: Bool
    /// The position behind the last message of this subscription.
    var position: ChannelPosition?
    /// The number of messages of the replay that have not arrived.
    var replayCount = 0

    init(_ tracking: Tracking) {
        self.tracking = tracking
        requested = tracking.position
        // It is sent with a position.
        formerSocketID = tracking.position == nil ? nil : tracking.socketIDs.last
        wantsOpening = tracking.position != nil && tracking.lacksOpening
    }
}

extension ChannelModel {
    /// Records the number of an event, which is the same for all subscribers and for ever.
    func number(_ position: ChannelPosition, _ event: Int) throws(Violation) {
        if let other = numbers[position], other != event {
            throw Violation(
                .serials,
                "event \(event) has the number \(position) of event \(other) on \(name)"
            )
        }
        if let other = serials[event], other != position {
            throw Violation(
                .serials,
                "event \(event) has the numbers \(other) and \(position) on \(name)"
            )
        }
        numbers[position] = event
        serials[event] = position
    }

    /// The position of a message that a client without a position has got; `nil` if its stream is not known.
    func position(of serial: UInt64) -> ChannelPosition? {
        guard purgeCount == 0, let stream = streams.first else { return nil }
        return ChannelPosition(stream: stream, serial: serial)
    }

    /// Records a stream, which is the only one but for purges.
    func record(_ stream: StreamID) throws(Violation) {
        streams.insert(stream)
        guard streams.count <= purgeCount + 1 else {
            throw Violation(
                .serials,
                "\(name) has \(streams.count) streams, and was purged \(purgeCount) times"
            )
        }
    }

    /// The size that the largest events of this number may have together, in bytes.
    func byteCount(of count: Int) -> Int {
        published.map { $0.data.utf8.count + 200 }.sorted(by: >).prefix(count).reduce(0, +)
    }

    /// Checks that the devices on the channel have got all that came behind their first acknowledgement or last gap.
    func checkRecovery() throws(Violation) {
        for subscription in standing {
            guard let tracked = subscription.tracked else { continue }
            let tracking = tracked.tracking
            if tracked.replayCount > 0 {
                throw subscription.client.broken(
                    .recovery,
                    "still waits for \(tracked.replayCount) messages of a replay on \(name)"
                )
            }
            for publication in published
            where publication.status == .accepted && publication.step > tracking.beganAt {
                guard !tracking.received.contains(publication.id),
                    !tracking.isExcluded(from: publication)
                else { continue }
                throw subscription.client.broken(
                    .recovery,
                    "has never got event \(publication.id) on \(name), which it tracks since step \(tracking.beganAt)"
                )
            }
            for position in tracking.leftOut {
                guard let event = numbers[position],
                    let publication = subscription.client.world.publications[event],
                    !tracking.isExcluded(from: publication)
                else { continue }
                throw subscription.client.broken(
                    .recovery,
                    "got only the number of event \(event) on \(name), which does not exclude it"
                )
            }
        }
    }
}
