/// A code of a `pusher:error` or of a close frame.
public struct PusherCode: RawRepresentable, Hashable, Sendable, Error {
    /// The number.
    public let rawValue: Int

    /// Creates a code, which may be one that is not listed here.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// 4000: the app accepts TLS only.
    public static let appOnlyTLS = PusherCode(rawValue: 4000)
    /// 4001: no app has this key.
    public static let appDoesNotExist = PusherCode(rawValue: 4001)
    /// 4003: the app is disabled.
    public static let appDisabled = PusherCode(rawValue: 4003)
    /// 4004: the app's connection limit is reached.
    public static let overConnectionQuota = PusherCode(rawValue: 4004)
    /// 4005: the path is not `/app/KEY`.
    public static let pathNotFound = PusherCode(rawValue: 4005)
    /// 4006: the protocol version is not a number.
    public static let invalidVersion = PusherCode(rawValue: 4006)
    /// 4007: the protocol version is not supported.
    public static let unsupportedVersion = PusherCode(rawValue: 4007)
    /// 4008: no protocol version was given.
    public static let noVersion = PusherCode(rawValue: 4008)
    /// 4009: the connection is not authorized, or no longer authorized.
    public static let unauthorized = PusherCode(rawValue: 4009)
    /// 4100: the broker is over capacity; reconnect later.
    public static let overCapacity = PusherCode(rawValue: 4100)
    /// 4200: reconnect immediately.
    public static let reconnectImmediately = PusherCode(rawValue: 4200)
    /// 4201: a ping was not answered.
    public static let pongNotReceived = PusherCode(rawValue: 4201)
    /// 4202: the connection was inactive for too long.
    public static let closedAfterInactivity = PusherCode(rawValue: 4202)
    /// 4301, in `pusher:error` only: a client event exceeded the rate limit.
    public static let clientEventRejected = PusherCode(rawValue: 4301)
    /// 4302, in `pusher:error` only: the watchlist was truncated.
    public static let watchlistLimitExceeded = PusherCode(rawValue: 4302)

    /// How a client reconnects after a close.
    public enum Reconnection: Sendable {
        /// Only when the app requests it.
        case never
        /// After a delay that grows with each attempt.
        case backOff
        /// Immediately.
        case immediately
    }

    /// How a client reconnects after a close with this code; standard WebSocket codes are below 4000.
    public var reconnection: Reconnection {
        switch rawValue {
        case 4000..<4100: .never
        case 4200..<4300: .immediately
        default: .backOff
        }
    }

    /// Whether a connection may be closed with this code.
    ///
    /// Codes from 4300 on are only for `pusher:error`; pusher-js does not reconnect after a close with one of them.
    public var mayClose: Bool { (4000..<4300).contains(rawValue) }

    /// A human-readable text; short enough for a close frame.
    public var message: String {
        switch self {
        case .appOnlyTLS: "Application only accepts SSL connections, reconnect using wss://"
        case .appDoesNotExist: "Application does not exist"
        case .appDisabled: "Application disabled"
        case .overConnectionQuota: "Application is over connection quota"
        case .pathNotFound: "Path not found"
        case .invalidVersion: "Invalid version string format"
        case .unsupportedVersion: "Unsupported protocol version"
        case .noVersion: "No protocol version supplied"
        case .unauthorized: "Connection is unauthorized"
        case .overCapacity: "Over capacity"
        case .reconnectImmediately: "Generic reconnect immediately"
        case .pongNotReceived: "Pong reply not received"
        case .closedAfterInactivity: "Closed after inactivity"
        case .clientEventRejected: "Client event rejected due to rate limit"
        case .watchlistLimitExceeded: "Watchlist limit exceeded"
        default: "Closed with code \(rawValue)"
        }
    }
}

extension PusherCode: CustomStringConvertible {
    /// The number and the message.
    public var description: String { "\(rawValue) \(message)" }
}
