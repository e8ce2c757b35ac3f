import Dispatch
import Testing

@testable import FanfareClient

/// An actor that records what callbacks receive, on a queue that a test can hold up.
actor Recorder {
    private nonisolated let executor = RecorderExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private(set) var lines: [String] = []
    private(set) var tokens: [ListenerToken] = []

    /// Holds up all calls until ``resume()``.
    nonisolated func suspend() { executor.queue.suspend() }
    nonisolated func resume() { executor.queue.resume() }

    func record(_ event: String = "e", of channel: Channel) {
        tokens.append(channel.bind(event) { self.lines.append($0.data ?? "") })
    }

    func recordStatus(of client: Fanfare) {
        client.onStatusChange { self.lines.append("\($0)") }
        client.onError { self.lines.append("\($0.code)") }
    }

    func recordUser(of client: Fanfare) {
        client.onSignIn { self.lines.append("signed in as \($0.id)") }
        client.user.bind("e") { self.lines.append("user \($0.data ?? "")") }
        client.user.bind(EventName<Int>("e")) { self.lines.append("typed \($0)") }
        client.user.onWatchlistChange { self.lines.append("online \($0.online)") }
    }

    func recordMembers(of channel: Channel) {
        let presence = channel.presence
        presence.onChange { self.lines.append("\($0.joined.count) joined, \($0.left.count) left") }
        presence.onJoin { self.lines.append("+\($0.id)") }
        presence.onLeave { self.lines.append("-\($0.id)") }
    }

    /// Cancels all callbacks, and returns the number of lines at that time.
    func cancel() -> Int {
        for token in tokens { token.cancel() }
        return lines.count
    }

    /// Waits for a number of lines.
    func wait(for count: Int) async -> [String] {
        await eventually("\(count) lines") { lines.count >= count }
        return lines
    }
}

private final class RecorderExecutor: SerialExecutor {
    let queue = DispatchQueue(label: "recorder")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
