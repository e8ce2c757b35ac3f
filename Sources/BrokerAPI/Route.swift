import Broker
import HTTP1
import HTTPServer
import Observability
import Primitives
import PusherProtocol
import Shard

/// A resource of the broker's HTTP API: a row of the table in `Routes.swift`.
final class Route: Sendable {
    /// Answers a request, at once or when the homes of its channels have answered.
    typealias Answer = @Sendable (APICall, _ body: Span<UInt8>) throws(APIError) -> Void

    /// The path, with names in braces for what differs.
    let pattern: String
    /// The kind of request, for its rate; `nil` for a route without an app.
    let kind: RequestAllowance.Kind?
    /// The methods that the resource allows.
    let methods: [Method]
    /// Whether the answer may have the data of events.
    let showsData: @Sendable (Method, QueryParameters) -> Bool
    /// The answer of a route without an app, which needs no body.
    let status: (@Sendable (API) -> Response)?
    private let get: Answer?
    private let post: Answer?
    private let delete: Answer?
    private let parts: [Part]

    /// A segment of the path.
    private enum Part {
        case literal(String)
        /// The app's ID.
        case app
        /// Something else, percent-encoded.
        case argument
    }

    /// Creates a route that answers some methods; HEAD is answered as GET is, without the content (RFC 9110 §9.3.2).
    init(
        _ pattern: String,
        _ kind: RequestAllowance.Kind,
        showsData: @escaping @Sendable (Method, QueryParameters) -> Bool = { _, _ in false },
        get: Answer? = nil,
        post: Answer? = nil,
        delete: Answer? = nil
    ) {
        self.pattern = pattern
        self.kind = kind
        self.showsData = showsData
        self.get = get
        self.post = post
        self.delete = delete
        status = nil
        methods =
            (get == nil ? [] : [.get, .head]) + (post == nil ? [] : [.post])
            + (delete == nil ? [] : [.delete])
        parts = Self.parts(of: pattern)
    }

    /// Creates a route without an app and a signature.
    init(_ pattern: String, status: @escaping @Sendable (API) -> Response) {
        self.pattern = pattern
        self.status = status
        kind = nil
        showsData = { _, _ in false }
        (get, post, delete) = (nil, nil, nil)
        methods = [.get, .head]
        parts = Self.parts(of: pattern)
    }

    private static func parts(of pattern: String) -> [Part] {
        pattern.utf8.split(separator: UInt8(ascii: "/"))
            .map { part in
                guard part.first == UInt8(ascii: "{") else { return .literal("\(Substring(part))") }
                return part.elementsEqual("{app}".utf8) ? .app : .argument
            }
    }

    /// Answers a request with one of the route's methods.
    func answer(_ call: APICall, _ body: Span<UInt8>) throws(APIError) {
        switch call.head.method {
        case .post: try post?(call, body)
        case .delete: try delete?(call, body)
        default: try get?(call, body)
        }
    }

    /// The route of a path.
    struct Match {
        let route: Route
        /// The range of the app's ID, if the path has one.
        fileprivate(set) var app: Range<Int>?
        /// The ranges of the other names, in their order.
        fileprivate(set) var first = 0..<0
        fileprivate(set) var second = 0..<0
    }

    /// Finds the route of a path without its query, from index `start` on; `nil` if there is no such resource.
    static func find(_ path: Span<UInt8>, from start: Int = 0) -> Match? {
        var count = 0
        for index in start..<max(start, path.count) where path[index] == UInt8(ascii: "/") {
            count += 1
        }
        for route in all where route.parts.count == count {
            if let match = route.match(path, from: start) { return match }
        }
        return nil
    }

    private func match(_ path: Span<UInt8>, from start: Int) -> Match? {
        var match = Match(route: self)
        var position = start
        for part in parts {
            guard position < path.count, path[position] == UInt8(ascii: "/") else { return nil }
            let segmentStart = position + 1
            position = segmentStart
            while position < path.count, path[position] != UInt8(ascii: "/") { position += 1 }
            let segment = segmentStart..<position
            switch part {
            case .literal(let text):
                guard segment.count == text.utf8.count,
                    path.extracting(segment).starts(with: text)
                else { return nil }
            case .app: match.app = segment
            case .argument where match.first.isEmpty: match.first = segment
            case .argument: match.second = segment
            }
            guard !segment.isEmpty else { return nil }
        }
        return position == path.count ? match : nil
    }
}

/// A request to the HTTP API that was accepted.
struct APICall {
    let app: App
    let core: ShardCore
    let traces: EventTraces?
    let head: RequestHead
    let parameters: QueryParameters
    let exchange: HTTPExchange
    let match: Route.Match

    /// The first name in the path besides the app's ID, percent-encoded.
    var first: String { head.pathText(match.first) }
    /// The second one.
    var second: String { head.pathText(match.second) }
    var channels: ChannelsAPI { ChannelsAPI(app, core) }
}
