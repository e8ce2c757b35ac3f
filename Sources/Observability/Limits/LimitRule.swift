import Broker
import PusherProtocol

/// What belongs to a limit: a row of the table in `LimitRules.swift`.
package struct LimitRule {
    /// The party that notices first when a limit is reached; `docs/limits.md` has a table for each.
    package enum Audience: String, CaseIterable {
        case newConnections = "A new connection"
        case clients = "A connected client"
        case returningClients = "A client that reconnects"
        case backends = "A backend"
        case webhookEndpoints = "A webhook endpoint"
    }

    /// What is used of a limit, and the most that there can be; `nil` for no limit.
    typealias Amount = (used: Int, max: Int?)

    /// How much of a limit is used, if it counts something that stays for a while.
    enum Usage {
        case uncounted
        /// Of the process; `nil` for what the broker does not have.
        case ofAll((LimitUsage) -> Amount?)
        /// Of each app.
        case ofApp((LimitUsage.OfApp) -> Amount)
    }

    /// The key of the configuration, with `N` for the position of an app.
    package let key: String
    /// The party that notices first.
    let audience: Audience
    /// The effect when the limit is reached.
    let consequence: String
    /// How much of it is used.
    let usage: Usage

    init(_ key: String, _ audience: Audience, _ consequence: String, _ usage: Usage = .uncounted) {
        self.key = key
        self.audience = audience
        self.consequence = consequence
        self.usage = usage
    }

    private static let appPrefix = "apps.N."

    /// Creates the rule of a limit for each app.
    static func app(
        _ key: String,
        _ audience: Audience,
        _ consequence: String,
        _ usage: ((LimitUsage.OfApp) -> Amount)? = nil
    ) -> LimitRule {
        LimitRule(appPrefix + key, audience, consequence, usage.map(Usage.ofApp) ?? .uncounted)
    }

    /// Creates the rule of a limit of the process.
    static func process(
        _ key: String,
        _ audience: Audience,
        _ consequence: String,
        _ usage: Usage = .uncounted
    ) -> LimitRule {
        LimitRule("limits." + key, audience, consequence, usage)
    }

    /// Whether the limit is one of each app.
    var isOfApp: Bool { key.utf8.starts(with: Self.appPrefix.utf8) }

    /// The effect of a refused subscription: `Session` counts it in ``Limit/faultRate``.
    static let refusedSubscription = "pusher:subscription_error; counts as a faulty message"
}

extension Limit {
    /// The advice on how to raise the limit.
    var advice: String { "raise \(rule.key) if this use is legitimate" }
}

extension Refusal {
    /// The advice for the log and for observers.
    var shownAdvice: String? { limit?.advice ?? advice }
}
