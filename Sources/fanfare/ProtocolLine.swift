import FanfareClient
import FanfareServer

/// What `fanfare listen` reports of the protocol's own events that are not shown as events.
enum ProtocolLine {
    /// Whether an event says how the connection stands, rather than what others do.
    static func isOfTheConnection(_ event: ChannelEvent) -> Bool {
        [
            "pusher:subscription_succeeded", "pusher:subscription_error", "pusher:signin_success",
        ].contains(event.name)
    }

    /// The line for such an event; `nil` for one that is reported as an error or not at all.
    static func text(_ event: ChannelEvent) -> String? {
        switch event.name {
        case "pusher:subscription_succeeded":
            guard let channel = event.channel?.printable else { return nil }
            guard let snapshot: Snapshot = try? event.decode() else {
                return "subscribed to \(channel)"
            }
            let ids = snapshot.presence.ids
            return
                "subscribed to \(channel), \(ids.count == 1 ? "1 member" : "\(ids.count) members"): "
                + ids.map(\.printable).joined(separator: ", ")
        case "pusher:signin_success":
            guard let success: Success = try? event.decode() else { return "signed in" }
            let user = ChannelEvent(name: event.name, channel: nil, data: success.user_data)
            guard let id = (try? user.decode(User.self))?.id else { return "signed in" }
            return "signed in as \(id.printable)"
        default: return nil
        }
    }

    /// The data of a presence channel's acknowledgement.
    private struct Snapshot: Decodable {
        struct Presence: Decodable { let ids: [String] }

        let presence: Presence
    }

    private struct Success: Decodable { let user_data: String }

    private struct User: Decodable { let id: String }
}
