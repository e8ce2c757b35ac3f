import Primitives

/// The target of a client's opening handshake: `/app/KEY?protocol=7&client=…&version=…`.
public struct ConnectionURL: Equatable, Sendable {
    /// The supported protocol versions.
    public static let protocolVersions = 5...7
    /// The version that applies when a client names none.
    public static let currentProtocolVersion = 7

    /// The public key of the app.
    public var key: String
    /// The version of the protocol, one of ``protocolVersions``.
    public var protocolVersion: Int
    /// The name of the client's library; for logs only.
    public var client: String?
    /// The version of the client's library, in any form; for logs only.
    public var clientVersion: String?
    /// Whether the client requests receipts for client events with a key.
    public var wantsReceipts = false

    /// Creates the target for an app and a client.
    ///
    /// - Parameters:
    ///   - key: The public key of the app.
    ///   - protocolVersion: The version of the protocol.
    ///   - client: The name of the client's library.
    ///   - clientVersion: The version of the client's library.
    public init(
        key: String,
        protocolVersion: Int = currentProtocolVersion,
        client: String? = nil,
        clientVersion: String? = nil
    ) {
        self.key = key
        self.protocolVersion = protocolVersion
        self.client = client
        self.clientVersion = clientVersion
    }

    /// Calls `body` with the app's key from a request target; the query is not checked.
    ///
    /// - Parameters:
    ///   - target: The request target in origin form.
    ///   - pathPrefix: The path before `/app/`, such as `/ws`; empty for none.
    ///   - body: Called with the public key.
    /// - Returns: The result of `body`.
    /// - Throws: The code to close with once the connection is accepted: 4005 when the path is not `/app/KEY`, with or
    ///   without a session token.
    public static func withKey<R>(
        inTarget target: Span<UInt8>,
        pathPrefix: String = "",
        _ body: (Span<UInt8>) -> R
    ) throws(PusherCode) -> R {
        let segment = target.extracting(try parts(of: target, pathPrefix).key)
        guard segment.firstIndex(of: UInt8(ascii: "%")) != nil else { return body(segment) }
        return body(PercentEncoding.decodeLeniently(segment).span)
    }

    /// The session token of a stock client: `/r/TOKEN/app/KEY`, or `/app/KEY/r/TOKEN`.
    ///
    /// - Parameters:
    ///   - target: The request target in origin form.
    ///   - pathPrefix: The path before `/r/` or `/app/`, such as `/ws`; empty for none.
    /// - Returns: The token; `nil` for a client without one.
    /// - Throws: The violated rule; the client still gets a connection, but without recovery.
    public static func sessionToken(
        inTarget target: Span<UInt8>,
        pathPrefix: String = ""
    ) throws(SessionTokenError) -> SessionToken? {
        guard let token = try? parts(of: target, pathPrefix).token else { return nil }
        return try SessionToken(validating: target.extracting(token))
    }

    /// The ranges of the app's key and of the session token.
    private static func parts(
        of target: Span<UInt8>,
        _ pathPrefix: String
    ) throws(PusherCode) -> (key: Range<Int>, token: Range<Int>?) {
        let path = target.extracting(0..<(target.firstIndex(of: UInt8(ascii: "?")) ?? target.count))
        guard pathPrefix.isEmpty || path.starts(with: pathPrefix) else { throw .pathNotFound }
        var position = pathPrefix.utf8.count
        var token = segment(after: "/r/", in: path, at: &position)
        guard let key = segment(after: "/app/", in: path, at: &position), !key.isEmpty else {
            throw .pathNotFound
        }
        if token == nil { token = segment(after: "/r/", in: path, at: &position) }
        guard position == path.count else { throw .pathNotFound }
        return (key, token)
    }

    /// The range up to the next slash after `literal`; `nil` if the path does not continue with `literal`.
    private static func segment(
        after literal: StaticString,
        in path: Span<UInt8>,
        at position: inout Int
    ) -> Range<Int>? {
        guard path.extracting(position..<path.count).starts(with: literal) else { return nil }
        let start = position + literal.utf8CodeUnitCount
        position = path.firstIndex(of: UInt8(ascii: "/"), from: start) ?? path.count
        return start..<position
    }

    /// Reads the protocol version from a request target.
    ///
    /// - Parameters:
    ///   - target: The request target in origin form.
    ///   - isRequired: Whether a client must specify the version; otherwise the current version is the default.
    /// - Returns: One of ``protocolVersions``.
    /// - Throws: The code to close with once the connection is accepted: 4008 when a required version is missing, 4006
    ///   when it is not a number, 4007 when it is not supported.
    public static func version(
        inTarget target: Span<UInt8>,
        isRequired: Bool = false
    ) throws(PusherCode) -> Int {
        let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
        let query = target.extracting(min(mark + 1, target.count)..<target.count)
        guard isPlain(query) else {
            let text = QueryParameters(parsing: query)["protocol"] ?? ""
            return try text.withUTF8Bytes { (bytes) throws(PusherCode) in
                try version(bytes, isRequired: isRequired)
            }
        }
        var start = 0
        while start < query.count {
            let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
            let pair = query.extracting(start..<end)
            let nameEnd = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.count
            if pair.extracting(0..<nameEnd).equals("protocol") {
                // The first of several values applies.
                let value = pair.extracting(min(nameEnd + 1, pair.count)..<pair.count)
                return try version(value, isRequired: isRequired)
            }
            start = end + 1
        }
        return try version(query.extracting(0..<0), isRequired: isRequired)
    }

    /// Whether the client requests receipts for client events with a key: `receipts=true` in the query, not
    /// percent-encoded.
    ///
    /// - Parameter target: The request target in origin form.
    /// - Returns: Whether it does.
    public static func wantsReceipts(inTarget target: Span<UInt8>) -> Bool {
        var start = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
        while start < target.count {
            let end = target.firstIndex(of: UInt8(ascii: "&"), from: start + 1) ?? target.count
            if target.extracting((start + 1)..<end).equals("receipts=true") { return true }
            start = end
        }
        return false
    }

    private static func version(
        _ text: Span<UInt8>,
        isRequired: Bool
    ) throws(PusherCode) -> Int {
        guard !text.isEmpty else {
            guard !isRequired else { throw .noVersion }
            return currentProtocolVersion
        }
        var version = 0
        for index in text.indices {
            guard text[index].isDigit else { throw .invalidVersion }
            // Larger than every version: stop multiplying, which could overflow.
            if version < 1_000 { version = version * 10 + Int(text[index] - 0x30) }
        }
        guard protocolVersions.contains(version) else { throw .unsupportedVersion }
        return version
    }

    /// Whether names and values need no decoding: the fast path, because no library sends any that do.
    private static func isPlain(_ query: Span<UInt8>) -> Bool {
        let first = query.firstIndex(from: 0) {
            $0.equal(to: UInt8(ascii: "%")) | $0.equal(to: UInt8(ascii: "[")) | $0.capital
        }
        return first == query.count
    }

    /// The request target, with an optional path prefix such as `/ws`.
    public func target(pathPrefix: String = "") -> String {
        var target = "\(pathPrefix)/app/\(PercentEncoding.encode(key))?protocol=\(protocolVersion)"
        if let client { target += "&client=\(PercentEncoding.encode(client))" }
        if let clientVersion { target += "&version=\(PercentEncoding.encode(clientVersion))" }
        if wantsReceipts { target += "&receipts=true" }
        return target
    }
}
