import Primitives

/// A request method (RFC 9110 §9); methods are case-sensitive.
public enum Method: Hashable, Sendable, CustomStringConvertible {
    /// Transfer a representation of the resource.
    case get
    /// Like GET, without the content.
    case head
    /// Process the content of the request.
    case post
    /// Replace the resource.
    case put
    /// Remove the resource.
    case delete
    /// Make a tunnel.
    case connect
    /// Describe the communication options.
    case options
    /// Test the path to the resource.
    case trace
    /// Change a part of the resource (RFC 5789).
    case patch
    /// Any other token.
    case other(String)

    /// Makes a method from a token of RFC 9110 §5.6.2.
    public init(_ name: String) {
        self = Self.known.first { $0.description == name } ?? .other(name)
    }

    /// The method as in a request line.
    public var description: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .connect: "CONNECT"
        case .options: "OPTIONS"
        case .trace: "TRACE"
        case .patch: "PATCH"
        case .other(let name): name
        }
    }

    private static let known: [Method] = [
        .get, .head, .post, .put, .delete, .connect, .options, .trace, .patch,
    ]

    /// Reads the token in `range`; allocates a string for an unknown method only.
    init(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        let name = bytes.extracting(range)
        switch name.count {
        case 3 where name.equals("GET"): self = .get
        case 3 where name.equals("PUT"): self = .put
        case 4 where name.equals("POST"): self = .post
        case 4 where name.equals("HEAD"): self = .head
        case 5 where name.equals("PATCH"): self = .patch
        case 5 where name.equals("TRACE"): self = .trace
        case 6 where name.equals("DELETE"): self = .delete
        case 7 where name.equals("OPTIONS"): self = .options
        case 7 where name.equals("CONNECT"): self = .connect
        default: self = .other(bytes.text(range))
        }
    }
}
