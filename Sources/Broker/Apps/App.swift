import Primitives
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
    /// The keys that clients put into the connection URL, and the secrets that sign under them.
    public let credentials: Credentials
    /// Whether clients may connect and backends may trigger.
    public let isEnabled: Bool
    /// Whether clients must use TLS.
    public let isTLSOnly: Bool
    /// The web pages that may connect; empty for all of them.
    public let allowedOrigins: [OriginPattern]
    /// Whether `subscription_count` may be asked for.
    public let countsSubscriptions: Bool
    /// What the app's clients may do.
    public let features: AppFeatures
    /// What the app's clients and backends may use.
    public let limits: AppLimits
    /// The requests that backends have left.
    public let requests: RequestAllowance
    /// The connections that the app may have, and has; whatever replaces the app goes on with the same.
    public let quota: ConnectionQuota

    /// Makes an app.
    public init(
        id: AppID,
        credentials: Credentials,
        isEnabled: Bool = true,
        isTLSOnly: Bool = false,
        allowedOrigins: [OriginPattern] = [],
        countsSubscriptions: Bool = true,
        features: AppFeatures = AppFeatures(),
        limits: AppLimits = AppLimits(),
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
        self.quota = quota
        requests = RequestAllowance(limits.requestRates)
    }

    /// Makes an app that has one key and one secret.
    public convenience init(
        id: AppID,
        key: String,
        secret: AppSecret,
        isEnabled: Bool = true,
        countsSubscriptions: Bool = true,
        features: AppFeatures = AppFeatures(),
        limits: AppLimits = AppLimits()
    ) {
        self.init(
            id: id,
            credentials: Credentials(key: key, secret: secret),
            isEnabled: isEnabled,
            countsSubscriptions: countsSubscriptions,
            features: features,
            limits: limits
        )
    }

    /// The oldest of the app's keys.
    public var key: String { credentials.key }

    /// What the app itself signs with, and what signs under its oldest key.
    public var secret: AppSecret { credentials.secret }

    /// What signs under a key; `nil` when it is not one of the app's.
    public func secret(of key: Span<UInt8>) -> AppSecret? { credentials.secret(of: key) }

    /// Whether a client that names `origin` may connect; one that names none is no web page, and may.
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

    /// Makes the table of `apps`, whose identifiers and keys differ.
    public init(_ apps: [App]) {
        byID = AppIndex(apps.map { ($0.id.text, $0) })
        byKey = AppIndex(apps.flatMap { app in app.credentials.keys.map { ($0, app) } })
    }

    /// The app whose identifier is written `id`.
    public subscript(id id: Span<UInt8>) -> App? { byID[id] }

    /// The app with identifier `id`.
    public subscript(id: AppID) -> App? { byID[id.text] }

    /// The app that has the public key `key`.
    public subscript(key key: Span<UInt8>) -> App? { byKey[key] }

    /// The app that has the public key `key`.
    public subscript(key key: String) -> App? { byKey[key] }
}

/// Apps in the order of a text of theirs, found by its bytes: no string is made for a request.
private struct AppIndex: Sendable {
    private let entries: [(text: String, app: App)]

    init(_ entries: [(text: String, app: App)]) {
        self.entries = entries.sorted {
            let (left, right) = ($0.text, $1.text)
            return left.withUTF8Bytes { $0.order(against: right) } < 0
        }
        precondition(Set(entries.map(\.text)).count == entries.count, "two apps with one text")
    }

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
