import PusherProtocol

/// What a client that tracks nothing has got of a channel that opens with earlier messages.
final class EarlierMessages {
    /// The number of the last message; `nil` before the first.
    private(set) var last: UInt64?
    /// The numbers between messages that have not arrived: those of messages that exclude the client.
    private(set) var missing: Set<UInt64> = []
    /// The number of messages that have arrived.
    private(set) var count = 0
    /// Whether one has arrived that came behind the subscription: earlier ones precede it.
    private var isLive = false

    /// Adds the next message.
    ///
    /// - Returns: Whether the number is behind that of the message before.
    func add(_ serial: UInt64) -> Bool {
        guard serial > last ?? 0 else { return false }
        if let last { missing.formUnion(last + 1..<serial) }
        last = serial
        count += 1
        return true
    }

    /// Whether a message may have come ahead of the subscription.
    ///
    /// - Parameters:
    ///   - began: The step in which its request began.
    ///   - granted: The step in which the client saw its grant.
    /// - Returns: Whether none has arrived that came behind it.
    func mayBeEarlier(began: Int, granted: Int) -> Bool {
        if began > granted { isLive = true }
        return !isLive
    }
}

extension ClientModel {
    /// Checks the number of a message on a channel that opens with earlier ones.
    ///
    /// - Returns: Whether the message may have come ahead of the subscription.
    func number(
        _ serial: UInt64?,
        _ publication: Publication,
        _ earlier: EarlierMessages,
        _ subscription: SubscriptionModel
    ) throws(Violation) -> Bool {
        let name = subscription.model.name
        guard let serial else {
            throw broken(.serials, "got event \(publication.id) on \(name) without a number")
        }
        guard earlier.add(serial) else {
            throw broken(
                .repeats,
                "got number \(serial) on \(name) behind \(earlier.last ?? 0)"
            )
        }
        return earlier.mayBeEarlier(began: publication.step, granted: subscription.grantedAt ?? 0)
    }
}

extension ChannelModel {
    /// Checks that new clients have got the last of what came before them, and everything since.
    func checkOpenings() throws(Violation) {
        for subscription in standing {
            guard let earlier = subscription.earlier else { continue }
            let client = subscription.client
            for serial in earlier.missing {
                guard let event = position(of: serial).flatMap({ numbers[$0] }),
                    let publication = client.world.publications[event],
                    !publication.excludes(client)
                else { continue }
                throw client.broken(
                    .recovery,
                    "has missed event \(event), number \(serial), on \(name)"
                )
            }
            try checkOpening(of: subscription)
        }
    }

    /// Checks that each event is among the first that the client has got, unless too many may have come behind it.
    private func checkOpening(of subscription: SubscriptionModel) throws(Violation) {
        let (client, asked) = (subscription.client, subscription.askedAt)
        guard let granted = subscription.grantedAt, !subscription.isOpeningChecked else { return }
        subscription.isOpeningChecked = true
        let ageMax = Scenario.messageAgeMax - 2
        for publication in published
        where publication.status == .accepted && publication.time > asked - ageMax * 1_000 {
            guard let settledAt = publication.settledAt, settledAt <= asked,
                client.world.now - publication.time < ageMax * 1_000,
                !publication.excludes(client), !subscription.first.contains(publication.id),
                !subscription.seen.contains(.event(publication.id))
            else { continue }
            let later = mayFollow(publication, until: granted, subscription)
            let byteCount = later.reduce(0) { $0 + $1.data.utf8.count + 200 }
            guard later.count <= Scenario.openingCount, byteCount < Scenario.replayBytesMax else {
                continue
            }
            throw client.broken(
                .recovery,
                "has not got event \(publication.id) on \(name), which came before it"
            )
        }
    }

    /// The events, this one included, that may have been sequenced from it on until the subscription was granted.
    private func mayFollow(
        _ publication: Publication,
        until granted: Int,
        _ subscription: SubscriptionModel
    ) -> [Publication] {
        let known = published.filter { $0.status != .refused && $0.step <= granted }
        let last = subscription.first.compactMap { serials[$0]?.serial }.max()
        if let last, let serial = serials[publication.id]?.serial {
            // Behind the last that it has got there may be some that exclude it.
            let count =
                Int(last + 1 - min(serial, last)) + known.count { $0.excludes(subscription.client) }
            // As long as they can be.
            return Array(known.sorted { $0.data.utf8.count > $1.data.utf8.count }.prefix(count))
        }
        // A request that began earlier may have been sequenced later, unless it was settled before.
        return known.filter { !($0.settledAt.map { $0 < publication.time } ?? false) }
    }
}
