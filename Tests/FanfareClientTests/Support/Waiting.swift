import Synchronization
import Testing

@testable import FanfareClient

/// Waits until a condition holds; records an issue if it does not within a limit.
func eventually(
    _ what: String,
    within limit: Duration = .seconds(20),
    isolation: isolated (any Actor)? = #isolation,
    at location: SourceLocation = #_sourceLocation,
    _ condition: () async -> Bool
) async {
    let end = ContinuousClock.now + limit
    while !(await condition()) {
        guard ContinuousClock.now < end, !Task.isCancelled else {
            Issue.record("not within \(limit): \(what)", sourceLocation: location)
            return
        }
        try? await Task.sleep(for: .milliseconds(1))
    }
}

/// The values passed to callbacks, in order.
final class Seen<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }

    /// Waits until at least a number of values have been added.
    func wait(for count: Int, at location: SourceLocation = #_sourceLocation) async {
        await eventually("\(count) calls, \(all.count) made", at: location) { all.count >= count }
    }
}

/// What a channel's subscriptions mean for the time before them, one after the other.
final class Continuities: Sendable {
    private let seen = Seen<Continuity>()
    private let count = Mutex(0)

    init(of channel: Channel) { channel.onContinuity { [seen] in seen.add($0) } }

    /// Waits for the next one; `nil` if there is none in time.
    func next() async -> Continuity? {
        let number = count.withLock { count in
            count += 1
            return count
        }
        await seen.wait(for: number)
        return seen.all.dropFirst(number - 1).first
    }
}

extension Updates.AsyncIterator where Failure == FanfareError {
    /// Waits for the next delivery, which should be an event, and returns its value.
    mutating func event<Value>(
        isolation: isolated (any Actor)? = #isolation,
        at location: SourceLocation = #_sourceLocation
    ) async throws(FanfareError) -> Value? where Element == Delivery<Value> {
        switch try await next(isolation: isolation) {
        case .event(let value, _): return value
        case nil: return nil
        case let other?:
            Issue.record("an event was expected instead of \(other)", sourceLocation: location)
            return nil
        }
    }
}

extension Updates where Element == Delivery<ChannelEvent>, Failure == FanfareError {
    /// Reads the data of the next events, and skips gaps.
    func texts(_ count: Int) async throws(FanfareError) -> [String?] {
        var texts: [String?] = []
        for try await case .event(let event, _) in self {
            texts.append(event.data)
            if texts.count == count { break }
        }
        return texts
    }
}

extension Fanfare {
    /// Waits for a status.
    func status(where isWanted: @Sendable (ConnectionStatus) -> Bool) async {
        for await status in statuses() where isWanted(status) { return }
    }
}
