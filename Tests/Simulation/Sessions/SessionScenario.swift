import Broker
import BrokerConfiguration
import Net
import Shard

/// The constants of the simulated sessions.
enum SessionScenario {
    static let channels = ["a", "private-b", "cache-c", "private-encrypted-d"]
    static let cacheChannel = 2
    static let messagesMax = 12
    static let replayMessagesMax = 9
    static let messageAgeMax = 40
    static let sessionAge = 60
    /// How long the position of a channel that was left is kept.
    static let resubscribeGrace = 20
    /// The delay of the removal of expired sessions, in seconds.
    static let expiryInterval = 15
    /// The milliseconds for which a session without a connection is certainly kept.
    static let certainAge = (sessionAge - expiryInterval) * 1_000
    /// The limit of one client's send queue, in bytes, and that of a replay: more than any of the small events.
    static let queuedBytesMax = 16_000
    static let replayBytesMax = queuedBytesMax / 4
    /// The requests of a flood, and the length of their events, which together are longer than a queue and its socket's
    /// buffer.
    static let floodCount = 60
    static let floodLength = 700
    /// How far a device's clock may be ahead, in milliseconds.
    static let clockTolerance = 120_000

    static func needsSignature(_ channel: Int) -> Bool { channels[channel].hasPrefix("private-") }

    static func configuration(sessionsMax: Int, grace: Int) -> Configuration {
        var configuration = Configuration()
        var app = Scenario.app(0)
        app.recovery.standard.messagesMax = messagesMax
        app.recovery.replayMessagesMax = replayMessagesMax
        app.recovery.standard.ageMax = messageAgeMax
        app.recovery.sessionsMax = sessionsMax
        app.recovery.sessionAge = sessionAge
        app.recovery.resubscribeGrace = grace
        configuration.apps = [app]
        configuration.streamLimits.queuedBytesMax = queuedBytesMax
        return configuration
    }
}
