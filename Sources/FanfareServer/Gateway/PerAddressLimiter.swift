import Broker
import PusherProtocol
import Synchronization

/// The connections of each address that were entered, over all shards.
final class PerAddressLimiter: Sendable {
    private struct Entry {
        var connectionCount = 0
        var arrivals = TokenBucket()
    }

    private struct State {
        var entries: [ClientAddress: Entry] = [:]
        /// Past so many entries, those that say nothing are looked for.
        var sweepCount = 1_024
    }

    private let connectionsMax: Int
    private let arrivalRate: Rate?
    private let state = Mutex(State())

    /// Makes an empty book.
    ///
    /// - Parameters:
    ///   - connectionsMax: The connections of one address.
    ///   - arrivalRate: The connections that may begin from one address; `nil` for any number.
    init(connectionsMax: Int, arrivalRate: Rate?) {
        self.connectionsMax = connectionsMax
        self.arrivalRate = arrivalRate
    }

    /// Enters one more connection of an address.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - now: The time in nanoseconds.
    ///   - isCounted: Whether the connections of one address are limited at this time.
    /// - Returns: The limit that is met; `nil` when the connection is entered, and to be struck off once.
    func enter(_ address: ClientAddress, at now: Int64, isCounted: Bool = true) -> Limit? {
        state.withLock { state in
            var entry = state.entries[address] ?? Entry()
            guard !isCounted || entry.connectionCount < connectionsMax else {
                return .connectionsPerAddress
            }
            if let arrivalRate, !entry.arrivals.take(at: now, arrivalRate) {
                return .newConnectionsPerAddress
            }
            entry.connectionCount += 1
            state.entries[address] = entry
            if state.entries.count > state.sweepCount { sweep(&state, at: now) }
            return nil
        }
    }

    /// Strikes a connection off.
    func leave(_ address: ClientAddress) {
        state.withLock { state in
            guard var entry = state.entries[address] else { return }
            entry.connectionCount -= 1
            // What it has used of its rate is remembered until a sweep.
            let isOver = entry.connectionCount == 0 && arrivalRate == nil
            state.entries[address] = isOver ? nil : entry
        }
    }

    /// The addresses that are remembered.
    var count: Int { state.withLock { $0.entries.count } }

    /// Forgets addresses without connections whose rate is as good as new; the next time at twice as many as are left.
    private func sweep(_ state: inout State, at now: Int64) {
        state.entries = state.entries.filter {
            $0.value.connectionCount > 0 || !$0.value.arrivals.isFull(at: now)
        }
        state.sweepCount = max(1_024, 2 * state.entries.count)
    }
}
