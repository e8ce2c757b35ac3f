/// Why a connection was closed (RFC 6455 §7.4 and the IANA registry it founds).
public struct CloseCode: RawRepresentable, Hashable, Sendable {
    /// The code as the frame carries it.
    public let rawValue: UInt16

    /// Takes any number; ``isValidOnWire`` tells whether a frame may carry it.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The purpose of the connection is fulfilled.
    public static let normal = Self(rawValue: 1000)
    /// A server goes down, or a browser leaves the page.
    public static let goingAway = Self(rawValue: 1001)
    /// The peer broke a rule of the protocol.
    public static let protocolError = Self(rawValue: 1002)
    /// A kind of message this side cannot take.
    public static let unsupportedData = Self(rawValue: 1003)
    /// Never sent: stands for a close frame without a code.
    public static let noCodeReceived = Self(rawValue: 1005)
    /// Never sent: stands for a connection that ended without a close frame.
    public static let abnormal = Self(rawValue: 1006)
    /// A text that is not UTF-8, or compressed data that does not inflate.
    public static let invalidPayload = Self(rawValue: 1007)
    /// A message against a policy that has no code of its own.
    public static let policyViolation = Self(rawValue: 1008)
    /// A message longer than this side accepts.
    public static let messageTooBig = Self(rawValue: 1009)
    /// A server did not agree to an extension that the client needs.
    public static let extensionMissing = Self(rawValue: 1010)
    /// A server met a condition that it did not expect.
    public static let internalError = Self(rawValue: 1011)
    /// The server restarts: try again after a while.
    public static let serviceRestart = Self(rawValue: 1012)
    /// The server is overloaded: try elsewhere, or later.
    public static let tryAgainLater = Self(rawValue: 1013)
    /// A gateway got an invalid answer from the server behind it.
    public static let badGateway = Self(rawValue: 1014)
    /// Never sent: stands for a failed TLS handshake.
    public static let tlsHandshakeFailed = Self(rawValue: 1015)

    /// Whether a close frame may carry the code.
    ///
    /// §7.4.2: 1000–2999 only as registered, 3000–3999 for libraries and frameworks, 4000–4999
    /// for applications. 1004 has no meaning yet; 1005, 1006 and 1015 must never be sent.
    public var isValidOnWire: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
