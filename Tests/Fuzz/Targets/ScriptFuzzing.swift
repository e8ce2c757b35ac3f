import Primitives
import RESP
import Redis

/// Replies to the scripts of a cluster, and what they publish: the input is a stream of values of Redis.
///
/// Each value is read as the reply to every script. What is accepted has counts, serials and times from 0 to 2^53 − 1.
enum ScriptFuzzing {
    static func run(_ input: [UInt8]) throws(Finding) {
        var parser = RESPParser(limits: RESPLimits())
        var index = 0
        var finding: Finding?
        do throws(RESPError) {
            while try parser.next(
                in: input.span,
                from: &index,
                { view in
                    do throws(Finding) {
                        try readReply(view)
                        try readPublished(view)
                    } catch { finding = error }
                }
            ) {}
        } catch {}
        if let finding { throw finding }
    }

    private static func readReply(_ view: borrowing RESPView) throws(Finding) {
        if let registration = Registration(view) {
            try expectSafe(registration.counter, registration.time)
            try expectSafe(registration.epoch.since, registration.base)
        }
        if let heartbeat = Heartbeat(view) {
            try expectSafe(heartbeat.counter, heartbeat.time)
            try expectSafe(heartbeat.epoch.since)
        }
        _ = Condemnation(view)
        if let positions = StreamPositions(view) {
            try expectSafe(positions.since)
            for position in positions.newest { try expectSafe(position) }
        }
        for attachment in ChannelAttachment.all(view) ?? [] {
            try expectSafe(attachment.subscriptionCount, attachment.counter)
            try expectSafe(attachment.newest)
            try expectSafe(attachment.oldest)
            _ = attachment.cachedEvent.map { ChannelAnnouncement($0) }
        }
        if let detachment = ChannelDetachment(view) {
            try expectSafe(detachment.subscriptionCount)
        }
        switch MemberArrival(view) {
        case .refused(let count)?, .newMember(let count)?, .knownMember(let count)?:
            try expectSafe(count)
        case nil: break
        }
        _ = (MemberDeparture(view), SessionParking(view))
        if let reaping = Reaping(view) { try expectSafe(reaping.memberCount) }
        if let connections = UserConnections(view) {
            try expectSafe(connections.count, connections.terminatedAt ?? 0)
        }
        if let claim = ClaimedSession(view) {
            try expectSafe(claim.forgottenCount, claim.lastForgottenAt ?? 0)
        }
        if let work = DueWork(view) {
            try expectSafe(work.waitingCount, work.droppedCount)
            for webhook in work.webhooks {
                try expectSafe(webhook.time)
                try expectSafe(webhook.id)
            }
        }
        switch PublishOutcome(view) {
        case .numbered(let serial)?: try expectSafe(serial)
        case .placed(let position)?: try expectSafe(position)
        case .repeated(let position)?, .outdated(let position)?: try expectSafe(position)
        case .counted?, .stale?, .refused?, nil: break
        }
        var continuation = StreamContinuation(behind: StreamPosition(stream: 1, serial: 1))
        view.forEach { entry in _ = continuation.advance(to: entry) }
        try expectSafe(continuation.position)
    }

    private static func readPublished(_ view: borrowing RESPView) throws(Finding) {
        let bytes = view.copy()
        if let announcement = ChannelAnnouncement(bytes) {
            try expectSafe(announcement.time)
            try expectSafe(announcement.serial)
            if case .stream(let id, _) = announcement.content { try expectSafe(id) }
            if case .count(let count) = announcement.content { try expectSafe(count) }
        }
        switch UserAnnouncement(bytes) {
        case .online(let time)?, .offline(let time)?, .terminate(let time)?: try expectSafe(time)
        case nil: break
        }
        if case .yield(let time)? = InboxMessage(bytes)?.content { try expectSafe(time) }
    }

    private static func expectSafe(_ position: StreamPosition?) throws(Finding) {
        guard let position else { return }
        try expectSafe(position.stream, position.serial)
    }

    private static func expectSafe<Number: FixedWidthInteger>(
        _ numbers: Number...
    ) throws(Finding) {
        for number in numbers {
            try expect(Number(safe: number) == number, "\(number) is accepted")
        }
    }
}
