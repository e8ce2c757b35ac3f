import Broker
import PusherProtocol
import Shard

/// The answer to the question what became of a message.
struct DeliveryReport {
    let subject: DeliverySearch.Subject
    /// The message; `nil` if the channel has no stream.
    let message: TracedMessage?
    /// The milliseconds to add for the time since 1970.
    let calendarOffset: Int64

    /// The content of the response.
    func json(_ findings: DeliveryFindings) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        if let message { write(message, to: &json) }
        if case .everyone = subject, message?.isPublished == true {
            json.name("counts")
            json.beginObject()
            for verdict in DeliveryVerdict.allCases {
                guard let count = findings.counts[verdict] else { continue }
                json.name(verdict.rawValue)
                json.integer(count)
            }
            json.endObject()
        } else {
            json.name("verdict")
            json.string(verdict(findings).rawValue)
        }
        if !findings.connections.isEmpty {
            json.name("connections")
            json.beginArray()
            for connection in findings.connections { write(connection, to: &json) }
            json.endArray()
        }
        json.endObject()
        return json.bytes
    }

    /// The verdict over all connections: the one that says most.
    private func verdict(_ findings: DeliveryFindings) -> DeliveryVerdict {
        guard let message else { return .notKept }
        guard message.isPublished else { return .neverPublished }
        return findings.connections.map(\.verdict).min { $0.rank < $1.rank } ?? .unknownConnection
    }

    private func write(_ message: TracedMessage, to json: inout JSONWriter) {
        json.name("message")
        json.beginObject()
        json.name("serial")
        json.integer(Int(message.serial))
        json.name("last")
        json.integer(Int(message.last))
        json.name("kept")
        json.boolean(message.isKept)
        if let published = message.published {
            json.name("published")
            json.integer(Int(published))
        }
        write("excluded", message.except, to: &json)
        json.endObject()
    }

    private func write(_ connection: DeliveryFindings.Finding, to json: inout JSONWriter) {
        let (record, identity) = (connection.record, connection.record.identity)
        json.beginObject()
        write("socket_id", identity.socketID, to: &json)
        json.name("verdict")
        json.string(connection.verdict.rawValue)
        for (name, text) in [("client", identity.client), ("user_id", identity.user?.text ?? "")]
        where !text.isEmpty {
            json.name(name)
            json.string(text)
        }
        if let (ending, time) = record.ending {
            write("closed", time, to: &json)
            if let code = ending.code {
                json.name("code")
                json.integer(code)
            }
            if ending.isByClient {
                json.name("closed_by_client")
                json.boolean(true)
            }
        }
        if let subscription = connection.subscription {
            json.name("subscription")
            write(subscription, to: &json)
        }
        json.endObject()
    }

    /// Writes the serials and times of a subscription, which prove the verdict.
    private func write(_ subscription: SubscriptionRecord, to json: inout JSONWriter) {
        json.beginObject()
        write("began", subscription.began, to: &json)
        if subscription.stream != nil {
            for (name, serial) in [
                ("resumed_from", subscription.resumed), ("start", subscription.start),
                ("live", subscription.live), ("end", subscription.end),
                ("dropped_from", subscription.droppedFrom),
                ("confirmed", subscription.confirmed?.serial),
            ] {
                guard let serial else { continue }
                json.name(name)
                json.integer(Int(serial))
            }
        }
        if let gap = subscription.gap {
            json.name("gap")
            json.string(gap.rawValue)
        }
        write("confirmed_at", subscription.confirmed?.time, to: &json)
        write("ended", subscription.ended, to: &json)
        write("predecessor", subscription.predecessor, to: &json)
        write("successor", subscription.successor, to: &json)
        json.endObject()
    }

    private func write(_ name: String, _ time: Int64?, to json: inout JSONWriter) {
        guard let time else { return }
        json.name(name)
        json.integer(Int(time + calendarOffset))
    }

    private func write(_ name: String, _ socketID: SocketID?, to json: inout JSONWriter) {
        guard let socketID else { return }
        json.name(name)
        json.string(socketID.description)
    }
}
