import Primitives

/// The address of a Redis server, and the credentials for it.
///
///     redis://[[user]:password@]host[:port][/0]
///     rediss://[[user]:password@]host[:port][/0]      TLS
///     redis+unix://[[user]:password@]/path
///
/// User, password and path are percent-encoded.
public struct RedisURL: Hashable, Sendable, CustomStringConvertible {
    /// Where the server listens.
    public enum Location: Hashable, Sendable {
        /// A name or an IP address without brackets.
        case host(String, port: UInt16)
        /// A socket in the file system.
        case unix(path: String)
    }

    /// Where the server listens.
    public var location: Location
    /// Whether the connection is encrypted.
    public var isSecure: Bool
    /// The user of `AUTH`; nil for the user `default`.
    public var username: String?
    /// The password of `AUTH`; nil for none.
    public var password: String?

    /// The port of an address that names none.
    public static var defaultPort: UInt16 { 6379 }
    /// The maximum number of bytes of a socket's path (unix(7)).
    public static var pathLengthMax: Int { 107 }

    private static let schemes = ["redis://", "rediss://", "redis+unix://"]

    /// Parses an address.
    ///
    /// - Parameter text: The address.
    /// - Throws: The first fault. It never contains the user or the password.
    public init(_ text: String) throws(RedisURLError) {
        guard let scheme = Self.schemes.first(where: { text.lowercased().hasPrefix($0) }) else {
            throw .scheme
        }
        let rest = text.dropFirst(scheme.count)
        guard !rest.contains("?"), !rest.contains("#") else { throw .parameters }
        // A password may contain a slash or an @ that is not encoded; a host contains neither.
        var address = rest
        if let at = rest.lastIndex(of: "@") {
            (username, password) = try Self.credentials(rest[..<at])
            address = rest[rest.index(after: at)...]
        }
        isSecure = scheme == "rediss://"
        location =
            scheme == "redis+unix://"
            ? try Self.path(address) : try Self.host(address)
    }

    /// The address without credentials.
    public var description: String {
        switch location {
        case .unix(let path): "redis+unix://\(path)"
        case .host(let host, let port):
            "\(isSecure ? "rediss" : "redis")://"
                + (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
        }
    }

    private static func credentials(
        _ text: Substring
    ) throws(RedisURLError) -> (user: String?, password: String?) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { throw .credentials }
        guard let user = PercentEncoding.decode(parts[0]),
            let password = PercentEncoding.decode(parts[1])
        else { throw .encoding }
        return (user.isEmpty ? nil : user, password)
    }

    private static func path(_ text: Substring) throws(RedisURLError) -> Location {
        guard let path = PercentEncoding.decode(text) else { throw .encoding }
        guard path.hasPrefix("/"), path.count > 1, !path.utf8.contains(0) else {
            throw .path(path)
        }
        guard path.utf8.count <= pathLengthMax else {
            throw .pathTooLong(length: path.utf8.count, limit: pathLengthMax)
        }
        return .unix(path: path)
    }

    private static func host(_ text: Substring) throws(RedisURLError) -> Location {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, !parts[1].isEmpty, parts[1] != "0" {
            throw .database(String(parts[1]))
        }
        let authority = parts[0]
        var host = authority
        var port: Substring?
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            host = authority[authority.index(after: authority.startIndex)..<end]
            let rest = authority[authority.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { throw .host(String(authority)) }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            port = authority[authority.index(after: colon)...]
        }
        let isHost = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/[]@%".utf8.contains($0) }
        guard !host.isEmpty, isHost else { throw .host(String(host)) }
        guard let port else { return .host(String(host), port: defaultPort) }
        guard let number = UInt16(port), number > 0 else { throw .port(String(port)) }
        return .host(String(host), port: number)
    }
}

/// A fault in the address of a Redis server.
public enum RedisURLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another scheme, or none.
    case scheme
    /// Parameters or a fragment.
    case parameters
    /// Something before `@` that is not a user, a colon and a password.
    case credentials
    /// A `%` without two hexadecimal digits, or bytes that are not UTF-8.
    case encoding
    /// No host, or one with forbidden characters.
    case host(String)
    /// A port that is not a number from 1 to 65535.
    case port(String)
    /// A database other than 0.
    case database(String)
    /// A path that is not absolute.
    case path(String)
    /// A path of `length` bytes.
    case pathTooLong(length: Int, limit: Int)

    /// A sentence for the operator.
    public var description: String {
        switch self {
        case .scheme: "a Redis address begins with redis://, rediss:// or redis+unix://"
        case .parameters: "a Redis address cannot have parameters"
        case .credentials: "before the @ of a Redis address, give a user, a colon and a password"
        case .encoding: "the address has a % that is not followed by two hexadecimal digits"
        case .host(let host): "\"\(host)\" is not a host"
        case .port(let port): "\"\(port)\" is not a port: ports are 1 to 65535"
        case .database(let database):
            "database \"\(database)\" cannot be used, only 0: published messages pass between all"
                + " databases; use prefixes to share a server"
        case .path(let path): "\"\(path)\" is not an absolute path"
        case .pathTooLong(let length, let limit):
            "the path has \(length) bytes; the limit is \(limit)"
        }
    }
}
