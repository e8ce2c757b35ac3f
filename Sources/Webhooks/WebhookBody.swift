internal import Broker
internal import PusherProtocol

/// The JSON text that a receiver gets, made after filtering and before signing.
enum WebhookBody {
    /// Writes an event as one of `events`.
    ///
    /// - Parameter event: What happened; not ``WebhookEvent/cacheFilled(_:)``, of which nothing is told.
    /// - Returns: A JSON object.
    static func object(_ event: WebhookEvent) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("name")
        json.string(event.kind.rawValue)
        json.name("channel")
        json.string(event.channel.text)
        switch event {
        case .channelOccupied, .channelVacated, .cacheMiss, .cacheFilled: break
        case .memberAdded(_, let userID), .memberRemoved(_, let userID):
            json.name("user_id")
            json.string(userID.text)
        case .clientEvent(_, let nameToken, let dataToken, let sender, let userID):
            json.name("event")
            json.verbatim(nameToken)
            if let dataToken {
                json.name("data")
                json.verbatim(dataToken)
            }
            json.name("socket_id")
            json.string(sender.description)
            if let userID {
                json.name("user_id")
                json.string(userID.text)
            }
        case .subscriptionCount(_, let count):
            json.name("subscription_count")
            json.integer(count)
        }
        json.endObject()
        return json.bytes
    }

    /// Writes the whole content of a request.
    ///
    /// - Parameters:
    ///   - time: When the webhook was made, in milliseconds since 1970.
    ///   - events: One or more objects with commas between them.
    /// - Returns: The bytes to sign and to send.
    static func bytes(time: Int64, events: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(events.count + 48)
        bytes.append(contentsOf: "{\"time_ms\":\(time),\"events\":[".utf8)
        bytes.append(contentsOf: events)
        bytes.append(contentsOf: "]}".utf8)
        return bytes
    }
}
