import Primitives
import PusherProtocol

extension Webhook {
    /// Parses the content of a webhook.
    init(_ body: [UInt8]) throws(WebhookRefusal) {
        let text = body.span
        var time: Int64?
        var events: [WebhookEvent]?
        do throws(JSONError) {
            var scanner = JSONScanner()
            try scanner.beginObject(in: text)
            while let name = try scanner.nextName(in: text) {
                let value = try scanner.value(in: text)
                if name.equals("time_ms", in: text), value.kind == .number {
                    time = Int64(value.string(in: text))
                }
                if name.equals("events", in: text), value.kind == .array {
                    events = Self.events(value, in: text)
                }
            }
            try scanner.finish(in: text)
        } catch {
            throw .malformed("it is not a JSON object: \(error)")
        }
        guard let time else { throw .malformed("time_ms is missing or not an integer") }
        guard let events else { throw .malformed("events is missing or not an array") }
        milliseconds = time
        self.events = events
    }

    private static func events(_ array: JSONValue, in text: Span<UInt8>) -> [WebhookEvent] {
        var events: [WebhookEvent] = []
        // The whole text was validated above, so these scanners cannot fail.
        var scanner = JSONScanner(at: array.range.lowerBound)
        try? scanner.beginArray(in: text)
        while let element = try? scanner.nextElement(in: text) {
            events.append(WebhookEvent(WebhookMembers(element, in: text)))
        }
        return events
    }
}

/// The string and number members of one event of a webhook.
private struct WebhookMembers {
    let json: String
    private var values: [String: String] = [:]

    init(_ object: JSONValue, in text: Span<UInt8>) {
        json = String(decoding: object.token(in: text), as: UTF8.self)
        guard object.kind == .object else { return }
        var scanner = JSONScanner(at: object.range.lowerBound)
        try? scanner.beginObject(in: text)
        while let name = try? scanner.nextName(in: text),
            let value = try? scanner.value(in: text)
        {
            switch value.kind {
            case .string, .number: values[name.string(in: text)] = value.string(in: text)
            default: break
            }
        }
    }

    subscript(name: String) -> String? { values[name] }
}

extension WebhookEvent {
    fileprivate init(_ members: WebhookMembers) {
        let name = members["name"] ?? ""
        self =
            Self.known(name, members, channel: members["channel"])
            ?? .unknown(name: name, json: members.json)
    }

    private static func known(
        _ name: String,
        _ members: WebhookMembers,
        channel: String?
    ) -> WebhookEvent? {
        guard let channel else { return nil }
        let user = members["user_id"]
        switch name {
        case "channel_occupied": return .channelOccupied(channel: channel)
        case "channel_vacated": return .channelVacated(channel: channel)
        case "cache_miss": return .cacheMiss(channel: channel)
        case "member_added": return user.map { .memberAdded(channel: channel, userID: $0) }
        case "member_removed": return user.map { .memberRemoved(channel: channel, userID: $0) }
        case "subscription_count":
            return members["subscription_count"].flatMap(Int.init).map {
                .subscriptionCount(channel: channel, count: $0)
            }
        case "client_event":
            guard let event = members["event"], let socketID = members["socket_id"] else {
                return nil
            }
            return .clientEvent(
                ClientEvent(
                    channel: channel,
                    event: event,
                    data: members["data"],
                    socketID: socketID,
                    userID: user
                )
            )
        default: return nil
        }
    }
}
