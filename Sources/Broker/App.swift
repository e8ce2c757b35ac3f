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
    public func hasKey(_ bytes: Span<UInt8>) -> Bool { bytes.order(against: key.utf8.span) == 0 }
}

/// The apps that a broker serves, by identifier and by key.
public struct Apps: Sendable {
    private let byID: AppIndex
    private let byKey: AppIndex

    /// Makes the table of `apps`, whose identifiers and keys differ.
    public init(_ apps: [App]) {
        byID = AppIndex(apps) { $0.id.text }
        byKey = AppIndex(apps) { $0.key }
    }

    /// The app whose identifier is written `id`.
    public subscript(id id: Span<UInt8>) -> App? { byID[id] }

    /// The app with identifier `id`.
    public subscript(id: AppID) -> App? { byID[id.text.utf8.span] }

    /// The app with the public key `key`.
    public subscript(key key: Span<UInt8>) -> App? { byKey[key] }

    /// The app with the public key `key`.
    public subscript(key key: String) -> App? { byKey[key.utf8.span] }
}

/// Apps in the order of a text of theirs, found by its bytes: no string is made for a request.
private struct AppIndex: Sendable {
    private let entries: [(text: String, app: App)]

    init(_ apps: [App], by text: (App) -> String) {
        entries = apps.map { (text($0), $0) }
            .sorted { $0.text.utf8.span.order(against: $1.text.utf8.span) < 0 }
        precondition(Set(entries.map(\.text)).count == apps.count, "two apps with one text")
    }

    subscript(text: Span<UInt8>) -> App? {
        var candidates = 0..<entries.count
        while !candidates.isEmpty {
            let middle = candidates.lowerBound + candidates.count / 2
            let order = text.order(against: entries[middle].text.utf8.span)
            if order == 0 { return entries[middle].app }
            candidates =
                order < 0 ? candidates.lowerBound..<middle : middle + 1..<candidates.upperBound
        }
        return nil
    }
}
