import Primitives
public import PusherProtocol

/// The identifier of an app, as used in the paths of the HTTP API.
///
/// The official Python and Swift libraries accept digits only; the broker accepts any text.
public struct AppID: Hashable, Sendable, CustomStringConvertible {
    /// The identifier as written in a path.
    public let text: String

    /// Creates the identifier with this text.
    public init(_ text: String) { self.text = text }

    /// The identifier as written in a path.
    public var description: String { text }
}

/// A tenant of the broker: credentials, features and limits.
///
/// Immutable; a configuration reload replaces it.
public final class App: Sendable {
    /// The identifier in the paths of the HTTP API.
    public let id: AppID
    /// The keys in clients' connection URLs, and the secret of each.
    public let credentials: Credentials
    /// Whether clients may connect and backends may trigger.
    public let isEnabled: Bool
    /// Whether clients must use TLS.
    public let isTLSOnly: Bool
    /// The origins that may connect; empty for all.
    public let allowedOrigins: [OriginPattern]
    /// Whether clients and backends may request `subscription_count`.
    public let countsSubscriptions: Bool
    /// The features of the app's clients.
    public let features: AppFeatures
    /// The limits of the app's clients and backends.
    public let limits: AppLimits
    /// What the app's channels keep for clients that reconnect.
    public let recovery: RecoverySettings
    /// The rate limits of the backends' requests.
    public let requests: RequestAllowance
    /// The connections of the app.
    ///
    /// The app's replacement shares it.
    public let quota: ConnectionQuota

    /// Creates an app.
    public init(
        id: AppID,
        credentials: Credentials,
        isEnabled: Bool = true,
        isTLSOnly: Bool = false,
        allowedOrigins: [OriginPattern] = [],
        countsSubscriptions: Bool = true,
        features: AppFeatures = AppFeatures(),
        limits: AppLimits = AppLimits(),
        recovery: RecoverySettings = RecoverySettings(),
        quota: ConnectionQuota = ConnectionQuota(limit: .max)
    ) {
        self.id = id
        self.credentials = credentials
        self.isEnabled = isEnabled
        self.isTLSOnly = isTLSOnly
        self.allowedOrigins = allowedOrigins
        self.countsSubscriptions = countsSubscriptions
        self.features = features
        self.limits = limits
        self.recovery = recovery
        self.quota = quota
        requests = RequestAllowance(limits.requestRates)
    }

    /// Creates an app with one key and one secret.
    public convenience init(
        id: AppID,
        key: String,
        secret: AppSecret,
        isEnabled: Bool = true,
        countsSubscriptions: Bool = true,
        features: AppFeatures = AppFeatures(),
        limits: AppLimits = AppLimits(),
        recovery: RecoverySettings = RecoverySettings()
    ) {
        self.init(
            id: id,
            credentials: Credentials(key: key, secret: secret),
            isEnabled: isEnabled,
            countsSubscriptions: countsSubscriptions,
            features: features,
            limits: limits,
            recovery: recovery
        )
    }

    /// The oldest of the app's keys.
    public var key: String { credentials.key }

    /// The secret of the oldest key; the broker signs with it.
    public var secret: AppSecret { credentials.secret }

    /// The secret of a key; `nil` if the key is not one of the app's.
    public func secret(of key: Span<UInt8>) -> AppSecret? { credentials.secret(of: key) }

    /// Whether a client with this `Origin` may connect.
    ///
    /// A client without an `Origin` is not a web page and may connect.
    public func admits(origin: Span<UInt8>) -> Bool {
        if allowedOrigins.isEmpty { return true }
        for pattern in allowedOrigins where pattern.admits(origin) { return true }
        return false
    }
}

/// The apps that a broker serves, by identifier and by key.
public struct Apps: Sendable {
    private let byID: AppIndex
    private let byKey: AppIndex

    /// Creates the table of `apps`, whose identifiers and keys must differ.
    public init(_ apps: [App]) {
        byID = AppIndex(apps.map { ($0.id.text, $0) })
        byKey = AppIndex(apps.flatMap { app in app.credentials.keys.map { ($0, app) } })
    }

    /// All apps.
    public var all: some Sequence<App> { byID.apps }

    /// The app with identifier `id`.
    public subscript(id id: Span<UInt8>) -> App? { byID[id] }

    /// The app with identifier `id`.
    public subscript(id: AppID) -> App? { byID[id.text] }

    /// The app with public key `key`.
    public subscript(key key: Span<UInt8>) -> App? { byKey[key] }

    /// The app with public key `key`.
    public subscript(key key: String) -> App? { byKey[key] }
}

/// Apps sorted by a text.
///
/// A binary search compares bytes, so that a request creates no string.
private struct AppIndex: Sendable {
    private let entries: [(text: String, app: App)]

    init(_ entries: [(text: String, app: App)]) {
        self.entries = entries.sorted {
            let (left, right) = ($0.text, $1.text)
            return left.withUTF8Bytes { $0.order(against: right) } < 0
        }
        precondition(Set(entries.map(\.text)).count == entries.count, "duplicate identifier or key")
    }

    var apps: some Sequence<App> { entries.lazy.map(\.app) }

    subscript(text: String) -> App? { text.withUTF8Bytes { self[$0] } }

    subscript(text: Span<UInt8>) -> App? {
        var candidates = 0..<entries.count
        while !candidates.isEmpty {
            let middle = candidates.lowerBound + candidates.count / 2
            let order = text.order(against: entries[middle].text)
            if order == 0 { return entries[middle].app }
            candidates =
                order < 0 ? candidates.lowerBound..<middle : middle + 1..<candidates.upperBound
        }
        return nil
    }
}
