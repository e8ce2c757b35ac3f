/// A code of a `pusher:error` or of a close frame.
public struct PusherCode: RawRepresentable, Hashable, Sendable, Error {
    /// The number, also of a code that is not listed here.
    public let rawValue: Int

    /// Takes any number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// 4000: the app accepts TLS only.
    public static let appOnlyTLS = PusherCode(rawValue: 4000)
    /// 4001: no app has this key.
    public static let appDoesNotExist = PusherCode(rawValue: 4001)
    /// 4003: the app is switched off.
    public static let appDisabled = PusherCode(rawValue: 4003)
    /// 4004: the app has all the connections it may have.
    public static let overConnectionQuota = PusherCode(rawValue: 4004)
    /// 4005: the path is not `/app/KEY`.
    public static let pathNotFound = PusherCode(rawValue: 4005)
    /// 4006: the protocol version is no number.
    public static let invalidVersion = PusherCode(rawValue: 4006)
    /// 4007: the broker does not speak this protocol version.
    public static let unsupportedVersion = PusherCode(rawValue: 4007)
    /// 4008: no protocol version was given.
    public static let noVersion = PusherCode(rawValue: 4008)
    /// 4009: the connection is not allowed, or not any more.
    public static let unauthorized = PusherCode(rawValue: 4009)
    /// 4100: the broker has no room; try later.
    public static let overCapacity = PusherCode(rawValue: 4100)
    /// 4200: connect again at once.
    public static let reconnectImmediately = PusherCode(rawValue: 4200)
    /// 4201: a ping was not answered.
    public static let pongNotReceived = PusherCode(rawValue: 4201)
    /// 4202: nothing was heard for too long.
    public static let closedAfterInactivity = PusherCode(rawValue: 4202)
    /// 4301, in `pusher:error` only: a client event came too soon after others.
    public static let clientEventRejected = PusherCode(rawValue: 4301)
    /// 4302, in `pusher:error` only: the watchlist was cut to its first entries.
    public static let watchlistLimitExceeded = PusherCode(rawValue: 4302)

    /// What a client does when its connection is closed with a code.
    public enum Reconnection: Sendable {
        /// Stays away until the app asks for a connection again.
        case never
        /// Comes back after a pause that grows.
        case backOff
        /// Comes back at once.
        case immediately
    }

    /// What a client does after a close with this code; ordinary WebSocket codes are below 4000.
    public var reconnection: Reconnection {
        switch rawValue {
        case 4000..<4100: .never
        case 4200..<4300: .immediately
        default: .backOff
        }
    }

    /// Whether a connection may be closed with this code.
    ///
    /// From 4300 on the codes are for `pusher:error` alone: closed with one, pusher-js stays away for good.
    public var mayClose: Bool { (4000..<4300).contains(rawValue) }

    /// A text for people; it fits in a close frame.
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
    /// The number and its meaning.
    public var description: String { "\(rawValue) \(message)" }
}
