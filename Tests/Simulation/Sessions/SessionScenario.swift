import FanfareServer

/// The constants of the simulated sessions.
enum SessionScenario {
    static let channels = ["a", "private-b", "cache-c", "private-encrypted-d"]
    static let cacheChannel = 2
    static let messagesMax = 12
    static let replayMessagesMax = 9
    static let messageAgeMax = 40
    static let sessionAge = 60
    /// The delay of the removal of expired sessions, in seconds.
    static let expiryInterval = 15
    /// How far a device's clock may be ahead, in milliseconds.
    static let clockTolerance = 120_000

    static func needsSignature(_ channel: Int) -> Bool { channels[channel].hasPrefix("private-") }

    static func configuration(sessionsMax: Int) -> Configuration {
        var configuration = Configuration()
        var app = AppConfiguration(
            id: Scenario.appIDs[0],
            key: Scenario.keys[0],
            secret: Scenario.secrets[0]
        )
        app.recovery.messagesMax = messagesMax
        app.recovery.replayMessagesMax = replayMessagesMax
        app.recovery.ageMax = messageAgeMax
        app.recovery.sessionsMax = sessionsMax
        app.recovery.sessionAge = sessionAge
        configuration.apps = [app]
        return configuration
    }
}
