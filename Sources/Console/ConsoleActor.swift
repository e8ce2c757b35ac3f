import HTTP1
import Logging
import Net

/// Who does something in the console, for the log.
struct ConsoleActor: Sendable {
    /// The address that the request comes from.
    let address: String
    /// The number of the session, as the log has it at the sign-in; `nil` for a console without a password.
    let session: Int?

    /// What identifies the actor in a line of the log.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["peer": "\(address)"]
        metadata["session"] = session.map { "\($0)" }
        return metadata
    }
}

extension BrokerConsole {
    /// Who sends a request.
    func actor(of head: RequestHead, on stream: Stream?) -> ConsoleActor {
        ConsoleActor(
            address: stream?.remoteAddress().map { "\($0)" } ?? "unknown",
            session: sessions?.number(of: head)
        )
    }

    /// Logs what was done, and by whom.
    func record(_ action: String, _ metadata: Logger.Metadata, by actor: ConsoleActor) {
        log.notice("console: \(action)", metadata: metadata.merging(actor.metadata) { $1 })
    }
}
