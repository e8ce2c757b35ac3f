public import Dispatch
public import FanfareClient
public import Foundation

/// The broker's address and the client's settings.
public class PusherClientOptions: NSObject {
    /// The method of authorising private channels.
    public var authMethod: AuthMethod
    /// Whether `bind(eventName:callback:)` passes parsed JSON instead of text.
    public let attemptToReturnJSONObject: Bool
    /// Whether the client reconnects after it loses the connection.
    public let autoReconnect: Bool
    /// The host's name or address.
    public let host: String
    /// The TCP port.
    public let port: Int
    /// The URL's path before `/app/KEY`.
    public let path: String?
    /// Whether the connection uses TLS.
    public let useTLS: Bool
    /// The idle time after which the client sends a ping, in seconds; the broker may request a shorter time.
    public let activityTimeout: TimeInterval?
    /// The serial queue of all callbacks.
    ///
    /// Set it before you create a ``Pusher`` with the options.
    ///
    /// The default is the main queue, which must be running: in an app, by `dispatchMain()`, or in an asynchronous main
    /// function.
    public var callbackQueue: DispatchQueue = .main
    /// Sets options that the official client does not have, such as trust, a proxy or a test's transport.
    ///
    /// Called when a ``Pusher`` is created.
    public var configure: (inout ClientOptions) -> Void = { _ in }

    /// Creates options with the official client's defaults.
    ///
    /// - Parameters:
    ///   - authMethod: The method of authorising private channels.
    ///   - attemptToReturnJSONObject: Whether `bind(eventName:callback:)` passes parsed JSON instead of text.
    ///   - autoReconnect: Whether the client reconnects after it loses the connection.
    ///   - host: The broker's host, or the hosted service's cluster.
    ///   - port: The TCP port; by default 443 with TLS and 80 without.
    ///   - path: The URL's path before `/app/KEY`.
    ///   - useTLS: Whether the connection uses TLS.
    ///   - activityTimeout: The idle time before a ping, in seconds.
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

    /// Creates options with the parameters of version 4, with `encrypted` for `useTLS`.
    ///
    /// - Parameters:
    ///   - authMethod: The method of authorising private channels.
    ///   - attemptToReturnJSONObject: Whether `bind(eventName:callback:)` passes parsed JSON instead of text.
    ///   - autoReconnect: Whether the client reconnects after it loses the connection.
    ///   - host: The broker's host, or the hosted service's cluster.
    ///   - port: The TCP port; by default 443 with TLS and 80 without.
    ///   - encrypted: Whether the connection uses TLS.
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

/// The URL of a broker in the official client's form: `wss://HOST:PORT/PREFIX/app/KEY?client=…`.
struct BrokerURL {
    let endpoint: Endpoint

    /// Reads the broker's address from the options.
    init(_ options: PusherClientOptions) {
        let port = UInt16(clamping: options.port)
        let path = options.path ?? ""
        endpoint =
            options.useTLS
            ? .secure(host: options.host, port: port, pathPrefix: path)
            : .plain(host: options.host, port: port, pathPrefix: path)
    }

    /// Parses a URL; traps on any other form, because the URL is part of the program.
    init(_ url: String, _ key: String) {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        let end = "/app/\(key)"
        guard path.hasSuffix(end), let endpoint = try? Endpoint(String(path.dropLast(end.count)))
        else {
            preconditionFailure(
                "\(url) is not the URL of a broker with key \(key): expected ws[s]://HOST[:PORT][/PREFIX]\(end)"
            )
        }
        self.endpoint = endpoint
    }
}
