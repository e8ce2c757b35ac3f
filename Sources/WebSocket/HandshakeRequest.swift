import Primitives

/// What the fields of a request say about the WebSocket that it asks for (RFC 6455 §4.2.1), taken in
/// as they come, in one pass and without a copy of what is usual.
struct HandshakeRequest {
    /// A list of tokens, over all its lines, in which one is looked for.
    private struct List {
        var isFound = false
        var isMalformed = false

        mutating func take(_ line: Span<UInt8>, lookingFor name: StaticString) {
            var scanner = FieldScanner()
            let isList = scanner.list(in: line) { scanner in
                guard let token = scanner.token(in: line) else { return false }
                if line.extracting(token).equalsIgnoringCase(name) { isFound = true }
                return true
            }
            if !isList { isMalformed = true }
        }
    }

    /// The fields that are looked at, in lower case.
    static let fieldNames = [
        "host", "origin", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version",
        "sec-websocket-protocol", "sec-websocket-extensions",
    ]

    private(set) var hostCount = 0
    private var upgrade = List()
    private var connection = List()
    private(set) var versionCount = 0
    /// The version asked for, if it is not 13.
    private(set) var otherVersion: String?
    private var keyCount = 0
    private var acceptKey: String?
    private(set) var origins: [String] = []
    /// The subprotocols asked for; `nil` when a line is not a list of tokens.
    private(set) var subprotocols: [String]? = []
    /// The extensions offered; `nil` when a line breaks their grammar.
    private(set) var extensions: [ExtensionElement]? = []

    /// Whether `Upgrade` names `websocket`.
    var asksForWebSocket: Bool { upgrade.isFound && !upgrade.isMalformed }

    /// Whether `Connection` names `Upgrade`.
    var asksForUpgrade: Bool { connection.isFound && !connection.isMalformed }

    /// The answer to the one key; `nil` when it is missing, repeated or not valid.
    var accept: String? { keyCount == 1 ? acceptKey : nil }

    /// Takes in a field, its name in any case, its value without space around it.
    mutating func take(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        // No two of the names have the same length.
        switch name.count {
        case 4 where name.equalsIgnoringCase("host"):
            hostCount += 1
        case 6 where name.equalsIgnoringCase("origin"):
            origins.append(value.string())
        case 7 where name.equalsIgnoringCase("upgrade"):
            upgrade.take(value, lookingFor: "websocket")
        case 10 where name.equalsIgnoringCase("connection"):
            connection.take(value, lookingFor: "upgrade")
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
