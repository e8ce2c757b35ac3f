import Primitives

/// The path of a request of a session over HTTP: `/pusher/app/KEY/SERVER/SESSION/xhr_streaming` and its likes.
///
/// Clients that cannot use WebSockets send and receive by HTTP requests. SERVER is a number of up to three digits, and
/// SESSION has eight characters; the client chooses both, and together they name the session (SockJS protocol 0.3.3).
public struct HTTPSessionURL: Sendable {
    /// What a request asks for.
    public enum Operation: Sendable {
        /// `xhr_streaming`: a response without end, a message a line.
        case streaming
        /// `xhr`: one response with the messages that wait.
        case polling
        /// `xhr_send`: the content has messages of the client.
        case send

        init?(_ name: Span<UInt8>) {
            switch true {
            case name.equals("xhr_send"): self = .send
            case name.equals("xhr_streaming"): self = .streaming
            case name.equals("xhr"): self = .polling
            default: return nil
            }
        }
    }

    /// What the request asks for.
    public let operation: Operation
    /// The range of `SERVER/SESSION` in the path.
    public let session: Range<Int>
    /// The path in front of the one that a WebSocket of the same client has.
    public let hasPusherPrefix: Bool
    /// The end of that path, which has the app's key and the session token.
    public let connectionEnd: Int

    private static let prefix: StaticString = "/pusher"
    /// The lengths of SERVER and of SESSION, in characters.
    private static let lengths = (server: 1...3, session: 8)

    /// Reads a path; `nil` if it is not one of a session.
    ///
    /// - Parameters:
    ///   - path: The path of the request, without the query.
    ///   - pathPrefix: The path in front, such as `/ws`; empty for none.
    public init?(path: Span<UInt8>, pathPrefix: String = "") {
        guard let operationStart = Self.lastSlash(of: path, before: path.count),
            let operation = Operation(path.extracting(operationStart + 1..<path.count)),
            let sessionStart = Self.lastSlash(of: path, before: operationStart),
            let serverStart = Self.lastSlash(of: path, before: sessionStart),
            operationStart - sessionStart - 1 == Self.lengths.session,
            Self.lengths.server.contains(sessionStart - serverStart - 1)
        else { return nil }
        for index in serverStart + 1..<operationStart where index != sessionStart {
            guard path[index].isLetter || path[index].isDigit else { return nil }
        }
        self.operation = operation
        session = serverStart + 1..<operationStart
        connectionEnd = serverStart
        let start = pathPrefix.utf8.count
        hasPusherPrefix =
            path.starts(with: pathPrefix)
            && path.extracting(start..<path.count).starts(with: Self.prefix)
    }

    /// The path in front of `/app/KEY` and the session token.
    public func connectionPrefix(after pathPrefix: String) -> String {
        hasPusherPrefix ? "\(pathPrefix)\(Self.prefix)" : pathPrefix
    }

    private static func lastSlash(of path: Span<UInt8>, before end: Int) -> Int? {
        var index = end
        while index > 0 {
            index -= 1
            if path[index] == UInt8(ascii: "/") { return index }
        }
        return nil
    }
}
