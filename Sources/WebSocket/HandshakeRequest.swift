import Primitives

/// The fields of a WebSocket request (RFC 6455 §4.2.1), parsed in one pass, without copying the usual values.
struct HandshakeRequest {
    /// A list of tokens in one or more lines, which is searched for one of them.
    private struct List {
        var isFound = false
        var isMalformed = false

        mutating func search(_ line: Span<UInt8>, for name: StaticString) {
            var scanner = FieldScanner()
            let isList = scanner.list(in: line) { scanner in
                guard let token = scanner.token(in: line) else { return false }
                if line.extracting(token).equalsIgnoringCase(name) { isFound = true }
                return true
            }
            if !isList { isMalformed = true }
        }
    }

    /// The names of the relevant fields, in lower case.
    static let fieldNames = [
        "host", "origin", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version",
        "sec-websocket-protocol", "sec-websocket-extensions",
    ]

    private(set) var hostCount = 0
    private var upgrade = List()
    private var connection = List()
    private(set) var versionCount = 0
    /// The requested version, if it is not 13.
    private(set) var otherVersion: String?
    private var keyCount = 0
    private var acceptKey: String?
    private(set) var origins: [String] = []
    /// The requested subprotocols; `nil` if a line is not a list of tokens.
    private(set) var subprotocols: [String]? = []
    /// The offered extensions; `nil` if a line is malformed.
    private(set) var extensions: [ExtensionElement]? = []

    /// Whether `Upgrade` contains `websocket`.
    var asksForWebSocket: Bool { upgrade.isFound && !upgrade.isMalformed }

    /// Whether `Connection` contains `Upgrade`.
    var asksForUpgrade: Bool { connection.isFound && !connection.isMalformed }

    /// The accept value; `nil` if the key is missing, repeated or invalid.
    var accept: String? { keyCount == 1 ? acceptKey : nil }

    /// Parses a field, its name case-insensitive, its value without space around it.
    mutating func parse(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        // Each name has a different length.
        switch name.count {
        case 4 where name.equalsIgnoringCase("host"):
            hostCount += 1
        case 6 where name.equalsIgnoringCase("origin"):
            origins.append(value.string())
        case 7 where name.equalsIgnoringCase("upgrade"):
            upgrade.search(value, for: "websocket")
        case 10 where name.equalsIgnoringCase("connection"):
            connection.search(value, for: "upgrade")
        case 17 where name.equalsIgnoringCase("sec-websocket-key"):
            keyCount += 1
            acceptKey = HandshakeKey.isValid(value) ? HandshakeKey.accept(for: value) : nil
        case 21 where name.equalsIgnoringCase("sec-websocket-version"):
            versionCount += 1
            otherVersion = value.equals("13") ? nil : value.string()
        case 22 where name.equalsIgnoringCase("sec-websocket-protocol"):
            if var names = subprotocols.take(),
                FieldScanner.appendTokens(of: value, to: &names)
            {
                subprotocols = names
            }
        case 24 where name.equalsIgnoringCase("sec-websocket-extensions"):
            if var elements = extensions.take(),
                ExtensionElement.appendElements(of: value, to: &elements)
            {
                extensions = elements
            }
        default: break
        }
    }
}
