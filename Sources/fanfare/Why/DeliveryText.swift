import FanfareAPI
import FoundationEssentials
import Primitives

/// What became of a message, in sentences.
struct DeliveryText {
    private let delivery: MessageDelivery
    private let serial: UInt64
    private let subject: MessageDelivery.Subject

    init(_ delivery: MessageDelivery, serial: UInt64, _ subject: MessageDelivery.Subject) {
        self.delivery = delivery
        self.serial = serial
        self.subject = subject
    }

    /// One sentence or two about the message, one about each connection, or the number of clients with each verdict.
    var lines: [String] {
        guard let message = delivery.message else {
            return [
                "No message of the channel has a serial: no client tracks it, and none is kept."
            ]
        }
        guard delivery.verdict != .neverPublished else {
            return ["\(serial) was never published: the last message is \(message.last)."]
        }
        var lines = [text(message)]
        if case .everyone = subject { return lines + counts }
        if delivery.connections.isEmpty { lines.append(unknown) }
        for (index, connection) in delivery.connections.enumerated() {
            let former = index > 0 ? delivery.connections[index - 1] : nil
            let isContinued = former?.subscription?.successor == connection.socketID
            lines.append(text(connection, isContinued: isContinued))
        }
        return lines
    }

    private func text(_ message: MessageDelivery.Message) -> String {
        guard let published = message.published else {
            return "\(serial) was published and is no longer kept."
        }
        let excluded = message.excluded.map { " It excluded \($0)." } ?? ""
        return "\(serial) was published at \(time(published)) and is kept." + excluded
    }

    private var unknown: String {
        switch subject {
        case .socket(let id): "No record of \(id) is kept."
        case .user(let id): "No record of a connection of \(id.printable) is kept."
        case .everyone: ""
        }
    }

    private var counts: [String] {
        let all: [MessageDelivery.Verdict] = [
            .confirmed, .replayed, .sent, .leftOut, .dropped, .gapTold, .afterLeaving,
            .beforeJoining, .notKept,
        ]
        let found = all.compactMap { verdict in
            delivery.counts[verdict].map {
                "\($0) \($0 == 1 ? "client" : "clients"): \(words(verdict))"
            }
        }
        return found.isEmpty ? ["No record of a client of the channel is kept."] : found
    }

    private func words(_ verdict: MessageDelivery.Verdict) -> String {
        verdict.rawValue.split(separator: "_").joined(separator: " ")
    }

    // MARK: - Connections

    private func text(_ connection: MessageDelivery.Connection, isContinued: Bool) -> String {
        var name = connection.socketID
        if let client = connection.client { name += " (\(client.printable))" }
        if let user = connection.userID { name += " of \(user.printable)" }
        guard let subscription = connection.subscription else {
            return "\(name) has not subscribed to the channel."
        }
        var text = isContinued ? "It reconnected as \(name)" : name
        if let resumed = subscription.resumedFrom {
            text += (isContinued ? ", " : " ") + "resumed from \(resumed)"
        } else if let start = subscription.start {
            text += (isContinued ? ", " : " ") + "subscribed at \(start)"
        } else {
            text += " subscribed at \(time(subscription.began))"
        }
        if let end = subscription.end { text += " and ended at \(end)" + ending(of: connection) }
        return text + "; " + outcome(connection.verdict, subscription) + "."
    }

    private func ending(of connection: MessageDelivery.Connection) -> String {
        guard connection.closed != nil else { return "" }
        if let code = connection.code {
            let reason = connection.subscription?.droppedFrom == nil ? "" : ", it read too slowly"
            return ": closed with \(code)" + reason
        }
        return connection.isClosedByClient ? ": closed by the client" : ": the connection was lost"
    }

    private func outcome(
        _ verdict: MessageDelivery.Verdict,
        _ subscription: MessageDelivery.Subscription
    ) -> String {
        let confirmed = subscription.confirmedAt.map { ", confirmed at \(time($0))" } ?? ""
        let isReplayed = serial > subscription.start ?? serial && serial <= subscription.live ?? 0
        switch verdict {
        case .confirmed where isReplayed: return "\(serial) was replayed\(confirmed)"
        case .confirmed where serial <= subscription.resumedFrom ?? 0:
            return "\(serial) had arrived before"
        case .confirmed: return "\(serial) was sent\(confirmed)"
        case .replayed: return "\(serial) was replayed, but is not confirmed"
        case .sent: return "\(serial) was sent, but is not confirmed"
        case .leftOut: return "\(serial) excluded this connection"
        case .dropped:
            return "\(serial) was dropped with the connection's queue"
        case .gapTold: return "it was notified of a gap, \(subscription.gap ?? "")"
        case .afterLeaving: return "\(serial) was published after that"
        case .beforeJoining: return "\(serial) was published before that"
        case .notKept: return "\(serial) was sent, unless it excluded this connection"
        default: return words(verdict)
        }
    }

    /// The time of day, UTC, with milliseconds.
    private func time(_ date: Date) -> String {
        let milliseconds = Int64((date.timeIntervalSince1970 * 1_000).rounded())
        return String(Timestamp(milliseconds * 1_000_000).text.dropFirst(11).dropLast())
    }
}
