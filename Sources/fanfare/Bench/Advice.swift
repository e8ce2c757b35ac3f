/// What to do about a refusal, in a sentence; nil where there is nothing better than the refusal itself.
enum Advice {
    /// A refusal with the advice behind it.
    static func append(_ advice: String?, to reason: String) -> String {
        guard let advice else { return reason }
        return reason + (reason.hasSuffix(".") ? " " : ". ") + advice
    }

    /// About a code of the Pusher protocol, in a `pusher:error` or a close frame.
    static func forCode(_ code: Int) -> String? {
        switch code {
        case 4000: "The app wants TLS: give a wss:// URL."
        case 4001: "Check --key."
        case 4003: "Enable the app in the server's configuration."
        case 4004: "Raise the app's limit of connections in the server's configuration."
        case 4005: "Check the path in --url: it stands in front of /app/KEY."
        case 4009: "Check --key and --secret, and what the app lets connections do."
        case 4100:
            "Raise the server's limits of connections and of queued bytes, or take a lower load."
        case 4200...4202: "Something stopped the server, or it found the connection dead."
        default: nil
        }
    }

    /// About the status of a refused opening handshake.
    static func forUpgrade(status: Int) -> String? {
        switch status {
        case 301, 302, 307, 308: "Give the URL that the server redirects to."
        case 400, 426: "Is it a WebSocket server? A proxy may have taken the upgrade away."
        case 401, 403: "Check --key, and what stands in front of the server."
        case 404: "Check the path in --url: it stands in front of /app/KEY."
        case 429, 503: "The server is at a limit: raise it, or take fewer connections."
        default: nil
        }
    }

    /// About the status of a refused subscription.
    static func forSubscription(status: Int) -> String? {
        switch status {
        case 401, 403: "Check --key and --secret."
        case 4100: "The channel or the server is at a limit: raise it, or take a lower load."
        default: nil
        }
    }

    /// About the status of a refused event.
    static func forEvent(status: Int) -> String? {
        switch status {
        case 401: "Check --key, --secret and --app-id, and the clocks of both machines."
        case 403: "Is the app enabled?"
        case 404: "Check --app-id, and the path in --url: it stands in front of /apps/ID/events."
        case 413: "Take a smaller --size, or raise the server's limit of an event's data."
        case 429: "Raise the app's limit of events, or take a lower --rate."
        default: nil
        }
    }
}
