import Broker
import HTTP1

/// A resource of the broker's HTTP API, by the path of the request.
enum Route: Equatable {
    /// `/apps/{id}/events`
    case events(AppID)
    /// `/apps/{id}/batch_events`
    case batchEvents(AppID)
    /// `/apps/{id}/channels`
    case channels(AppID)
    /// `/apps/{id}/channels/{name}`, the name still percent-encoded.
    case channel(AppID, name: String)
    /// `/health`, for load balancers and container engines.
    case health

    /// The route of `path`, without its query and the configured prefix; `nil` when nothing is there.
    init?(path: Substring) {
        if path == "/health" {
            self = .health
            return
        }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.count >= 4, segments[0].isEmpty, segments[1] == "apps", !segments[2].isEmpty
        else { return nil }
        let app = AppID(String(segments[2]))
        switch (segments[3], segments.count) {
        case ("events", 4): self = .events(app)
        case ("batch_events", 4): self = .batchEvents(app)
        case ("channels", 4): self = .channels(app)
        case ("channels", 5) where !segments[4].isEmpty:
            self = .channel(app, name: String(segments[4]))
        default: return nil
        }
    }

    /// The app that the request is for.
    var app: AppID? {
        switch self {
        case .events(let app), .batchEvents(let app), .channels(let app), .channel(let app, _): app
        case .health: nil
        }
    }

    /// The methods that the resource takes.
    var methods: [Method] {
        switch self {
        case .events, .batchEvents: [.post]
        case .channels, .channel: [.get]
        case .health: [.get, .head]
        }
    }
}
