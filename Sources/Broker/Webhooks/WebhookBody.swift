public import PusherProtocol

/// Writes the JSON body of webhooks.
public enum WebhookBody {
    /// Writes an event that leads to a webhook as an element of `events`, a JSON object.
    public static func object(_ event: ChannelEvent, on channel: ChannelName) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("name")
        json.string(WebhookKind(event)?.rawValue ?? "")
        json.name("channel")
        json.string(channel.text)
        switch event {
        case .memberAdded(let userID), .memberRemoved(let userID):
            json.name("user_id")
            json.string(userID.text)
        case .clientEvent(let event, let sender, let userID):
            json.name("event")
            json.verbatim(event.nameToken)
            if let dataToken = event.dataToken {
                json.name("data")
                json.verbatim(dataToken)
            }
            json.name("socket_id")
            json.string(sender.description)
            if let userID {
                json.name("user_id")
                json.string(userID.text)
            }
        case .subscriptionCount(let count):
            json.name("subscription_count")
            json.integer(count)
        default: break
        }
        json.endObject()
        return json.bytes
    }

    /// Writes the body of a request, to sign and to send.
    ///
    /// - Parameters:
    ///   - time: The time of the webhook's creation, in milliseconds since 1970.
    ///   - events: One or more objects, separated by commas.
    /// - Returns: The bytes.
    package static func bytes(time: Int64, events: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(events.count + 48)
        bytes.append(contentsOf: "{\"time_ms\":\(time),\"events\":[".utf8)
        bytes.append(contentsOf: events)
        bytes.append(contentsOf: "]}".utf8)
        return bytes
    }
}
