package import Logging
package import Net
import Synchronization

/// Finds out whether something between broker and clients, such as a proxy, ends silent connections, and logs it.
///
/// Such connections end without a close frame, always after the same silence. Lost clients end after any silence, so
/// most of the latest ends must agree. Shared by all shards.
package final class SilentEnds: Sendable {
    private struct End {
        let silence: Int
        let time: MonotonicTime
    }

    private struct State {
        var ends: [End] = []
        /// The time of the next possible log message.
        var nextLogTime: MonotonicTime?
    }

    /// The shortest silence that an end is blamed on, in seconds.
    private static let silenceMin = 10
    /// The number of the latest ends that are compared, and how many must agree.
    private static let (endCountMax, agreeingCountMin) = (16, 4)
    /// The time for which an end is remembered.
    private static let memory = Duration.seconds(600)
    /// The least time between two log messages.
    private static let logInterval = Duration.seconds(3600)

    private let log: Logger
    private let state = Mutex(State())

    package init(_ log: Logger) { self.log = log }

    /// Records the end of a connection without a close frame.
    ///
    /// - Parameters:
    ///   - silence: The seconds since something was received from the client.
    ///   - now: The time.
    package func record(silence: Int, at now: MonotonicTime = .current) {
        guard silence >= Self.silenceMin, agree(on: silence, at: now) else { return }
        log.notice(
            """
            connections end without a close frame after the same silence: a proxy may be the cause; set \
            clients.activity_timeout below that time, or raise the proxy's timeout
            """,
            metadata: ["seconds": "\(silence)", "key": "clients.activity_timeout"]
        )
    }

    private func agree(on silence: Int, at now: MonotonicTime) -> Bool {
        state.withLock { state in
            state.ends.removeAll { $0.time.duration(to: now) > Self.memory }
            if state.ends.count == Self.endCountMax { state.ends.removeFirst() }
            state.ends.append(End(silence: silence, time: now))
            let count = state.ends.count { abs($0.silence - silence) <= 1 }
            guard count >= max(Self.agreeingCountMin, (state.ends.count + 1) / 2),
                state.nextLogTime.map({ now >= $0 }) != false
            else { return false }
            state.nextLogTime = now.advanced(by: Self.logInterval)
            return true
        }
    }
}
