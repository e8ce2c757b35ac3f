public import Dispatch
public import FanfareClient
public import Foundation

/// Where the broker is, and how the client behaves.
public class PusherClientOptions: NSObject {
    /// How private channels are authorised.
    public var authMethod: AuthMethod
    /// Whether `bind(eventName:callback:)` hands out parsed JSON instead of text.
    public let attemptToReturnJSONObject: Bool
    /// Whether a lost connection is opened again.
    public let autoReconnect: Bool
    /// The host's name or address.
    public let host: String
    /// The TCP port.
    public let port: Int
    /// What stands in front of `/app/KEY` in the URL's path.
    public let path: String?
    /// Whether the connection goes over TLS.
    public let useTLS: Bool
    /// Seconds of silence after which the broker is asked for a sign of life; it may ask for fewer.
    public let activityTimeout: TimeInterval?
    /// The serial queue of all callbacks; to be set before a ``Pusher`` is made with the options.
    ///
    /// The main queue unless set, which needs a main queue that runs: an app's, `dispatchMain()`,
    /// or an asynchronous main function.
    public var callbackQueue: DispatchQueue = .main
    /// Sets what the official client has no option for, such as trust roots, a proxy, or in a test the transport of a
    /// scripted broker; called when a ``Pusher`` is made.
    public var configure: (inout ClientOptions) -> Void = { _ in }

    /// Options, each with the default of the official client.
    ///
    /// - Parameters:
    ///   - authMethod: How private channels are authorised.
    ///   - attemptToReturnJSONObject: Whether callbacks get parsed JSON.
    ///   - autoReconnect: Whether a lost connection is opened again.
    ///   - host: The broker's host, or the hosted service's cluster.
    ///   - port: 443 with TLS and 80 without, unless given.
    ///   - path: What stands in front of `/app/KEY`.
    ///   - useTLS: Whether the connection goes over TLS.
    ///   - activityTimeout: Seconds of silence before a ping.
    public init(
        authMethod: AuthMethod = .noMethod,
        attemptToReturnJSONObject: Bool = true,
        autoReconnect: Bool = true,
        host: PusherHost = .defaultHost,
        port: Int? = nil,
        path: String? = nil,
        useTLS: Bool = true,
        activityTimeout: TimeInterval? = nil
    ) {
        self.authMethod = authMethod
        self.attemptToReturnJSONObject = attemptToReturnJSONObject
        self.autoReconnect = autoReconnect
        self.host = host.stringValue
        self.port = port ?? (useTLS ? 443 : 80)
        self.path = path
        self.useTLS = useTLS
        self.activityTimeout = activityTimeout
    }

    /// Options in the spelling of version 4, with `encrypted` for `useTLS`.
    ///
    /// - Parameters:
    ///   - authMethod: How private channels are authorised.
    ///   - attemptToReturnJSONObject: Whether callbacks get parsed JSON.
    ///   - autoReconnect: Whether a lost connection is opened again.
    ///   - host: The broker's host, or the hosted service's cluster.
    ///   - port: 443 with TLS and 80 without, unless given.
    ///   - encrypted: Whether the connection goes over TLS.
    @available(*, deprecated, renamed: "init(authMethod:host:port:useTLS:)")
    public convenience init(
        authMethod: AuthMethod = .noMethod,
        attemptToReturnJSONObject: Bool = true,
        autoReconnect: Bool = true,
        host: PusherHost = .defaultHost,
        port: Int? = nil,
        encrypted: Bool
    ) {
        self.init(
            authMethod: authMethod,
            attemptToReturnJSONObject: attemptToReturnJSONObject,
            autoReconnect: autoReconnect,
            host: host,
            port: port,
            useTLS: encrypted
        )
    }
}

/// The broker's host.
public enum PusherHost: Sendable {
    /// A name or an address.
    case host(String)
    /// A cluster of the hosted service, such as `eu`.
    case cluster(String)

    /// The host of the hosted service.
    public static var defaultHost: PusherHost { .host("ws.pusherapp.com") }

    /// The host's name or address.
    public var stringValue: String {
        switch self {
        case .host(let host): host
        case .cluster(let cluster): "ws-\(cluster).pusher.com"
        }
    }
}
