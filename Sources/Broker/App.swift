public import PusherProtocol

/// The identifier of an app, as it stands in the path of the HTTP API.
///
/// The official Python and Swift libraries accept digits only; the broker takes any text.
public struct AppID: Hashable, Sendable, CustomStringConvertible {
    /// The identifier as it is written in a path.
    public let text: String

    /// Makes the identifier that reads `text`.
    public init(_ text: String) { self.text = text }

    /// The identifier as it is written in a path.
    public var description: String { text }
}

/// A tenant of the broker: its credentials and its limits, fixed while it is in force.
public final class App: Sendable {
    /// The identifier in the paths of the HTTP API.
    public let id: AppID
    /// The public key, which clients put into the connection URL.
    public let key: String
    /// The secret that signs requests and subscriptions.
    public let secret: AppSecret
    /// Whether clients may connect and backends may trigger.
    public let isEnabled: Bool
    /// Whether `subscription_count` may be asked for.
    public let countsSubscriptions: Bool
    /// What the app's clients and backends may use.
    public let limits: AppLimits

    /// Makes an app.
    public init(
        id: AppID,
        key: String,
        secret: AppSecret,
        isEnabled: Bool = true,
        countsSubscriptions: Bool = true,
        limits: AppLimits = AppLimits()
    ) {
        self.id = id
        self.key = key
        self.secret = secret
        self.isEnabled = isEnabled
        self.countsSubscriptions = countsSubscriptions
        self.limits = limits
    }

    /// Whether `bytes` are the app's key.
    public func hasKey(_ bytes: Span<UInt8>) -> Bool {
        bytes.count == key.utf8.count && bytes.starts(with: key)
    }
}

/// The apps that a broker serves, by identifier and by key.
public struct Apps: Sendable {
    private let byID: [AppID: App]
    private let byKey: [String: App]

    /// Makes the table of `apps`, whose identifiers and keys differ.
    public init(_ apps: [App]) {
        byID = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
        byKey = Dictionary(uniqueKeysWithValues: apps.map { ($0.key, $0) })
    }

    /// The app with identifier `id`.
    public subscript(id: AppID) -> App? { byID[id] }

    /// The app with the public key `key`.
    public subscript(key key: String) -> App? { byKey[key] }
}
