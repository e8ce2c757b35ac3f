/// The status code of a closed connection (RFC 6455 §7.4 and its IANA registry).
public struct CloseCode: RawRepresentable, Hashable, Sendable {
    /// The code in the frame.
    public let rawValue: UInt16

    /// Makes a code of any number; see ``isValidOnWire``.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The purpose of the connection is fulfilled.
    public static let normal = Self(rawValue: 1000)
    /// A server goes down, or a browser leaves the page.
    public static let goingAway = Self(rawValue: 1001)
    /// The peer violated the protocol.
    public static let protocolError = Self(rawValue: 1002)
    /// This side does not accept this kind of message.
    public static let unsupportedData = Self(rawValue: 1003)
    /// Never sent; represents a close frame without a code.
    public static let noCodeReceived = Self(rawValue: 1005)
    /// Never sent; represents a connection that ended without a close frame.
    public static let abnormal = Self(rawValue: 1006)
    /// A text is not UTF-8, or compressed data cannot be inflated.
    public static let invalidPayload = Self(rawValue: 1007)
    /// A message violates a policy without a specific code.
    public static let policyViolation = Self(rawValue: 1008)
    /// A message is longer than this side accepts.
    public static let messageTooBig = Self(rawValue: 1009)
    /// A server did not agree to an extension that the client needs.
    public static let extensionMissing = Self(rawValue: 1010)
    /// A server encountered an unexpected condition.
    public static let internalError = Self(rawValue: 1011)
    /// The server restarts; clients may reconnect after a while.
    public static let serviceRestart = Self(rawValue: 1012)
    /// The server is overloaded; clients should use another one, or retry later.
    public static let tryAgainLater = Self(rawValue: 1013)
    /// A gateway got an invalid response from its upstream server.
    public static let badGateway = Self(rawValue: 1014)
    /// Never sent; represents a failed TLS handshake.
    public static let tlsHandshakeFailed = Self(rawValue: 1015)

    /// Whether the code is allowed in a close frame.
    ///
    /// §7.4.2: 1000–2999 only as registered, 3000–3999 for libraries and frameworks, 4000–4999
    /// for applications. 1004 is undefined; 1005, 1006 and 1015 must never be sent.
    public var isValidOnWire: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
