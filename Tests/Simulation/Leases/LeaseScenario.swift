import Broker
import BrokerConfiguration

/// The constants of the simulated devices with leases.
enum LeaseScenario {
    static let channels = ["a", "private-b"]
    static let deviceCount = 3
    static let leasesMax = 3
    static let messagesMax = 12
    static let replayMessagesMax = 9
    static let messageAgeMax = 40
    /// More events than the broker keeps.
    static let burstCount = 14
    /// How long a client keeps the position of a channel that was left, in milliseconds.
    static let resubscribeGrace = 20_000
    /// The most elements that wait for a slow reader.
    static let slowReaderMax = 4

    static func configuration() -> Configuration {
        var configuration = Configuration()
        var app = Scenario.app(0)
        app.recovery.standard.messagesMax = messagesMax
        app.recovery.replayMessagesMax = replayMessagesMax
        app.recovery.standard.ageMax = messageAgeMax
        // The other channel has a stream only while clients with positions follow it.
        var rule = RecoveryRuleConfiguration()
        rule.settings.channelPrefix = channels[0]
        rule.settings.keep = .always
        app.recoveryRules = [rule]
        configuration.apps = [app]
        return configuration
    }
}
