/// A rule that the streams of many channels refer to, with their app.
final class SharedRule: Sendable {
    /// The limits of a channel's messages in memory.
    struct Ring {
        /// The maximum number of messages.
        let messagesMax: Int
        /// The maximum size of the messages, in bytes.
        let bytesMax: Int
        /// How long a message is kept, in seconds.
        let ageMax: Int
    }

    let rule: RecoveryRule
    /// The limits in memory, whatever the archive keeps.
    let ring: Ring
    /// The index of the app in ``Streams/apps``.
    let app: Int

    init(_ rule: RecoveryRule, of app: Int) {
        self.rule = rule
        self.app = app
        let front = rule.store == .archive ? RecoveryRule() : rule
        ring = Ring(
            messagesMax: min(rule.messagesMax, front.messagesMax),
            bytesMax: min(rule.bytesMax, front.bytesMax),
            ageMax: min(rule.ageMax, front.ageMax)
        )
    }
}
