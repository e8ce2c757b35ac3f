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
    /// `/apps/{id}/channels/{name}/users`, the name still percent-encoded.
    case users(AppID, channel: String)
    /// `/health`, for load balancers and container engines.
    case health

    /// The route of `path`, without its query and the configured prefix; `nil` when nothing is there.
    init?(path: Span<UInt8>) {
        var position = 0
        switch Route.segment(of: path, at: &position) {
        case "health" where position == path.count: self = .health
        case "apps":
            guard let id = Route.segment(of: path, at: &position), !id.isEmpty,
                let resource = Route.segment(of: path, at: &position)
            else { return nil }
            let name = Route.segment(of: path, at: &position)
            let part = Route.segment(of: path, at: &position)
            guard position == path.count, name?.isEmpty != true else { return nil }
            let app = AppID(id)
            switch (resource, name, part) {
            case ("events", nil, nil): self = .events(app)
            case ("batch_events", nil, nil): self = .batchEvents(app)
            case ("channels", nil, nil): self = .channels(app)
            case ("channels", let name?, nil): self = .channel(app, name: name)
            case ("channels", let name?, "users"): self = .users(app, channel: name)
            default: return nil
            }
        default: return nil
        }
    }

    /// Takes a slash and what follows it up to the next, or returns `nil` at the end.
    private static func segment(of path: Span<UInt8>, at position: inout Int) -> String? {
        guard position < path.count, path[position] == UInt8(ascii: "/") else { return nil }
        let start = position + 1
        position = start
        while position < path.count, path[position] != UInt8(ascii: "/") { position += 1 }
        return path.extracting(start..<position)
            .withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// The app that the request is for.
    var app: AppID? {
        switch self {
        case .events(let app), .batchEvents(let app), .channels(let app), .channel(let app, _),
            .users(let app, _):
            app
        case .health: nil
        }
    }

    /// The methods that the resource takes.
    var methods: [Method] {
        switch self {
        case .events, .batchEvents: Route.writing
        case .channels, .channel, .users: Route.reading
        case .health: Route.probing
        }
    }

    private static let writing: [Method] = [.post]
    private static let reading: [Method] = [.get]
    private static let probing: [Method] = [.get, .head]
}
