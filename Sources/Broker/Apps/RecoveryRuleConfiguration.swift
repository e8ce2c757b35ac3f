/// A rule for the channels with a prefix; what it leaves out is as for all other channels.
public struct RecoveryRuleConfiguration: Sendable, Equatable {
    /// The rule; the properties below replace its opening and limits.
    public var settings = RecoveryRule()
    /// What a client without a position gets behind its acknowledgement.
    public var opening = Opening.live
    /// The maximum number of earlier messages of an opening; `nil` for all that are kept.
    public var openingCount: Int?
    /// The age of the earliest message of an opening, in seconds; `nil` for all that are kept.
    public var openingSeconds: Int?
    /// The maximum number of kept messages of a channel.
    public var messagesMax: Int?
    /// The maximum size of the kept messages of a channel, in bytes.
    public var bytesMax: Int?
    /// How long a message is kept, in seconds.
    public var ageMax: Int?

    /// Creates a rule of all channels that changes nothing.
    public init() {}

    /// What precedes live messages for a client without a position.
    public enum Opening: String, Sendable, CaseIterable {
        /// Nothing.
        case live
        /// Earlier messages.
        case replay
    }

    /// The rule of channels that otherwise have this one.
    fileprivate func completed(by standard: RecoveryRule) -> RecoveryRule {
        var rule = settings
        if opening == .replay {
            rule.opening = .replay(count: openingCount, seconds: openingSeconds)
        }
        rule.messagesMax = messagesMax ?? standard.messagesMax
        rule.bytesMax = bytesMax ?? standard.bytesMax
        rule.ageMax = ageMax ?? standard.ageMax
        return rule
    }
}

extension AppConfiguration {
    /// What the app's channels keep, with the rules.
    package var recoverySettings: RecoverySettings {
        var settings = recovery
        settings.rules = recoveryRules.map { $0.completed(by: recovery.standard) }
        return settings
    }
}
