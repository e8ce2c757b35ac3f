import FanfareClient
import FanfareServer
import Primitives

/// Formats changes of the connection's status.
enum StatusLine {
    /// The line for a status; `nil` if the user asked for it, or it is reported as an error.
    static func text(_ status: ConnectionStatus, endpoint: Endpoint) -> String? {
        switch status {
        case .connecting(attempt: 1): "connecting to \(endpoint) …"
        case .connecting(let attempt): "connecting to \(endpoint), attempt \(attempt) …"
        case .connected(let socketID): "connected as \(socketID)"
        case .waiting(let delay, let error):
            "\(sentence(error)); the next attempt is in \(seconds(delay)) s"
        case .disconnected, .failed: nil
        }
    }

    /// The error's text without a full stop.
    private static func sentence(_ error: FanfareError) -> String {
        let text = "\(error)"
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }

    private static func seconds(_ delay: Duration) -> String {
        let tenths = delay.inSeconds * 10
        return "\(tenths.rounded() / 10)"
    }
}

/// Formats the protocol's own events, which are reported on standard error.
enum ProtocolLine {
    /// Whether an event is about the connection, and not from a publisher or another member.
    static func isConnectionEvent(_ event: ChannelEvent) -> Bool {
        [
            "pusher:subscription_succeeded", "pusher:subscription_error", "pusher:signin_success",
        ].contains(event.name)
    }

    /// The line for such an event; `nil` if it is reported as an error or not at all.
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
