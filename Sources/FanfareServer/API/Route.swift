import Broker
import HTTP1
import Primitives
import PusherProtocol

/// A resource of the broker's HTTP API.
///
/// Its names are ranges of the request's path.
enum Route: Equatable {
    /// `/apps/{id}/events`
    case events(app: Range<Int>)
    /// `/apps/{id}/batch_events`
    case batchEvents(app: Range<Int>)
    /// `/apps/{id}/channels`
    case channels(app: Range<Int>)
    /// `/apps/{id}/channels/{name}`, the name percent-encoded.
    case channel(app: Range<Int>, name: Range<Int>)
    /// `/apps/{id}/channels/{name}/users`, the name percent-encoded.
    case users(app: Range<Int>, channel: Range<Int>)
    /// `/apps/{id}/channels/{name}/history`, the name percent-encoded.
    case history(app: Range<Int>, channel: Range<Int>)
    /// `/apps/{id}/channels/{name}/messages/{serial}/delivery`, the name percent-encoded.
    case delivery(app: Range<Int>, channel: Range<Int>, serial: Range<Int>)
    /// `/apps/{id}/users/{user}/terminate_connections`, the user percent-encoded. The official Python library omits
    /// `/apps/{id}`; then the app is the one whose key has signed.
    case terminate(app: Range<Int>?, user: Range<Int>)
    /// `/apps/{id}/traces`
    case traces(app: Range<Int>)
    /// `/apps/{id}/traces/{trace}`
    case trace(app: Range<Int>, id: Range<Int>)
    /// `/health`, for load balancers: whether clients should be sent here.
    case health
    /// `/live`, for supervisors: whether the process runs, which a restart could not mend otherwise.
    case live

    /// Parses a path without its query, from index `start` on; `nil` if there is no such resource.
    init?(path: Span<UInt8>, from start: Int = 0) {
        func segment(_ range: Range<Int>?, is text: StaticString) -> Bool {
            range.map { path.extracting($0).equals(text) } ?? false
        }
        var position = start
        let first = Route.segment(of: path, at: &position)
        if segment(first, is: "health"), position == path.count {
            self = .health
            return
        }
        if segment(first, is: "live"), position == path.count {
            self = .live
            return
        }
        if segment(first, is: "users"), let user = Route.segment(of: path, at: &position),
            !user.isEmpty,
            segment(Route.segment(of: path, at: &position), is: "terminate_connections"),
            position == path.count
        {
            self = .terminate(app: nil, user: user)
            return
        }
        guard segment(first, is: "apps"),
            let app = Route.segment(of: path, at: &position), !app.isEmpty
        else { return nil }
        let resource = Route.segment(of: path, at: &position)
        let name = Route.segment(of: path, at: &position)
        let part = Route.segment(of: path, at: &position)
        guard name?.isEmpty != true else { return nil }
        if let name, segment(resource, is: "channels"), segment(part, is: "messages"),
            let serial = Route.segment(of: path, at: &position), !serial.isEmpty,
            segment(Route.segment(of: path, at: &position), is: "delivery"),
            position == path.count
        {
            self = .delivery(app: app, channel: name, serial: serial)
            return
        }
        guard position == path.count else { return nil }
        switch (name, part) {
        case (nil, nil) where segment(resource, is: "events"): self = .events(app: app)
        case (nil, nil) where segment(resource, is: "batch_events"): self = .batchEvents(app: app)
        case (nil, nil) where segment(resource, is: "channels"): self = .channels(app: app)
        case (nil, nil) where segment(resource, is: "traces"): self = .traces(app: app)
        case (let id?, nil) where segment(resource, is: "traces"): self = .trace(app: app, id: id)
        case (let name?, nil) where segment(resource, is: "channels"):
            self = .channel(app: app, name: name)
        case (let name?, _) where segment(resource, is: "channels") && segment(part, is: "users"):
            self = .users(app: app, channel: name)
        case (let name?, _) where segment(resource, is: "channels") && segment(part, is: "history"):
            self = .history(app: app, channel: name)
        case (let user?, _)
        where segment(resource, is: "users") && segment(part, is: "terminate_connections"):
            self = .terminate(app: app, user: user)
        default: return nil
        }
    }

    /// Parses a slash and the segment behind it; returns `nil` at the end.
    private static func segment(of path: Span<UInt8>, at position: inout Int) -> Range<Int>? {
        guard position < path.count, path[position] == UInt8(ascii: "/") else { return nil }
        let start = position + 1
        position = start
        while position < path.count, path[position] != UInt8(ascii: "/") { position += 1 }
        return start..<position
    }

    /// The range of the app's ID, if the path has one.
    var app: Range<Int>? {
        switch self {
        case .events(let app), .batchEvents(let app), .channels(let app), .channel(let app, _),
            .users(let app, _), .history(let app, _), .delivery(let app, _, _), .traces(let app),
            .trace(let app, _):
            app
        case .terminate(let app, _): app
        case .health, .live: nil
        }
    }

    /// Whether the answer may have the data of events.
    func showsData(_ method: Method, _ parameters: QueryParameters) -> Bool {
        switch self {
        case .history, .trace: method != .delete
        case .traces: true
        case .channels, .channel:
            parameters["info"]?.utf8.split(separator: UInt8(ascii: ","))
                .contains { $0.elementsEqual("cache".utf8) } == true
        default: false
        }
    }

    /// The kind of request, for its rate; `nil` for a route without an app.
    var kind: RequestAllowance.Kind? {
        switch self {
        case .events, .batchEvents: .trigger
        case .channels, .channel, .users, .history, .delivery, .traces, .trace: .query
        case .terminate: .termination
        case .health, .live: nil
        }
    }

    /// The methods that the resource allows.
    var methods: [Method] {
        switch self {
        case .events, .batchEvents, .terminate, .traces: Route.writeMethods
        case .channels, .channel, .users, .delivery, .health, .live: Route.readMethods
        case .history, .trace: Route.readMethods + [.delete]
        }
    }

    private static let writeMethods: [Method] = [.post]
    /// RFC 9110 §9.3.2: HEAD is answered as GET is, without the content.
    private static let readMethods: [Method] = [.get, .head]
}
