/// The target of a client's opening handshake: `/app/KEY?protocol=7&client=…&version=…`.
public struct ConnectionURL: Equatable, Sendable {
    /// The versions of the protocol that are spoken.
    public static let protocolVersions = 5...7
    /// The version that is meant when none is given.
    public static let currentProtocolVersion = 7

    /// The public key of the app.
    public var key: String
    /// The version of the protocol, one of ``protocolVersions``.
    public var protocolVersion: Int
    /// What the client's library calls itself; for logs only.
    public var client: String?
    /// The version of that library, in any form; for logs only.
    public var clientVersion: String?

    /// Names an app and a client.
    ///
    /// - Parameters:
    ///   - key: The public key of the app.
    ///   - protocolVersion: The version of the protocol.
    ///   - client: What the client's library calls itself.
    ///   - clientVersion: The version of that library.
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

    /// Reads a request target: first the path, then the version; whether there is such an app is the next question.
    ///
    /// - Parameters:
    ///   - target: The request target in origin form.
    ///   - pathPrefix: What stands in front of `/app/`, such as `/ws`; empty when there is nothing.
    ///   - requiresVersion: Whether a client must name its protocol version.
    /// - Throws: The code to close with once the connection is accepted: 4005 for the path, 4008 for no version where
    ///   one is required, 4006 for one that is no number, 4007 for one that is not spoken.
    public init(
        target: Span<UInt8>,
        pathPrefix: String = "",
        requiresVersion: Bool = false
    ) throws(PusherCode) {
        let queryStart = target.firstIndex(of: UInt8(ascii: "?"))
        guard let key = ConnectionURL.key(inTarget: target, pathPrefix: pathPrefix) else {
            throw .pathNotFound
        }
        let query = target.extracting((queryStart.map { $0 + 1 } ?? target.count)..<target.count)
        let parameters = Parameters(query)
        self.init(
            key: key,
            protocolVersion: try ConnectionURL.version(
                parameters.protocolVersion,
                isRequired: requiresVersion
            ),
            client: parameters.client,
            clientVersion: parameters.clientVersion
        )
    }

    /// Reads the key out of a request target, whatever else is in it.
    ///
    /// - Parameters:
    ///   - target: The request target in origin form.
    ///   - pathPrefix: What stands in front of `/app/`; empty when there is nothing.
    /// - Returns: The public key; `nil` when the path is not `/app/KEY`.
    public static func key(inTarget target: Span<UInt8>, pathPrefix: String = "") -> String? {
        let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
        let path = target.extracting(0..<end)
        guard pathPrefix.isEmpty || path.starts(with: pathPrefix) else { return nil }
        let place = path.extracting(pathPrefix.utf8.count..<path.count)
        guard place.starts(with: "/app/" as StaticString) else { return nil }
        let segment = place.extracting(5..<place.count)
        guard !segment.isEmpty, segment.firstIndex(of: UInt8(ascii: "/")) == nil else {
            return nil
        }
        guard segment.firstIndex(of: UInt8(ascii: "%")) != nil else { return segment.string() }
        return String(decoding: PercentEncoding.decode(segment), as: UTF8.self)
    }

    /// The request target, behind a prefix such as `/ws`.
    public func target(pathPrefix: String = "") -> String {
        var target = "\(pathPrefix)/app/\(PercentEncoding.encode(key))?protocol=\(protocolVersion)"
        if let client { target += "&client=\(PercentEncoding.encode(client))" }
        if let clientVersion { target += "&version=\(PercentEncoding.encode(clientVersion))" }
        return target
    }

    private static func version(
        _ text: String?,
        isRequired: Bool
    ) throws(PusherCode) -> Int {
        guard let text, !text.isEmpty else {
            guard !isRequired else { throw .noVersion }
            return currentProtocolVersion
        }
        guard text.utf8.allSatisfy(\.isDigit) else { throw .invalidVersion }
        guard let version = Int(text), protocolVersions.contains(version) else {
            throw .unsupportedVersion
        }
        return version
    }
}

/// What the query of a connection URL says.
private struct Parameters {
    var protocolVersion: String?
    var client: String?
    var clientVersion: String?

    init(_ query: Span<UInt8>) {
        guard Parameters.arePlain(query) else {
            let parameters = QueryParameters(parsing: query)
            protocolVersion = parameters["protocol"]
            client = parameters["client"]
            clientVersion = parameters["version"]
            return
        }
        var start = 0
        while start < query.count {
            let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
            let pair = query.extracting(start..<end)
            let nameEnd = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.count
            let value = pair.extracting(min(nameEnd + 1, pair.count)..<pair.count)
            take(pair.extracting(0..<nameEnd), value)
            start = end + 1
        }
    }

    /// Of several values of a name the first counts.
    private mutating func take(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        if protocolVersion == nil, name.equals("protocol") {
            protocolVersion = value.string()
        } else if client == nil, name.equals("client") {
            client = value.string()
        } else if clientVersion == nil, name.equals("version") {
            clientVersion = value.string()
        }
    }

    /// Whether names and values stand for themselves: no library sends anything that has to be decoded.
    private static func arePlain(_ query: Span<UInt8>) -> Bool {
        let first = query.firstIndex(from: 0) {
            $0.equal(to: UInt8(ascii: "%")) | $0.equal(to: UInt8(ascii: "[")) | $0.capital
        }
        return first == query.count
    }
}
