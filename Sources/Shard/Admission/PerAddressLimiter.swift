import Broker
import PusherProtocol
import Synchronization

/// Counts the connections of each address, over all shards.
final class PerAddressLimiter: Sendable {
    private struct Entry {
        var connectionCount = 0
        var arrivals = TokenBucket()
    }

    private struct State {
        var entries: [ClientAddress: Entry] = [:]
        /// The number of entries at which unneeded ones are removed next.
        var sweepCount = 1_024
    }

    private let connectionsMax: Int
    private let arrivalRate: Rate?
    private let state = Mutex(State())

    /// Creates a limiter without entries.
    ///
    /// - Parameters:
    ///   - connectionsMax: The maximum number of connections of one address.
    ///   - arrivalRate: The rate of new connections of one address; `nil` for no limit.
    init(connectionsMax: Int, arrivalRate: Rate?) {
        self.connectionsMax = connectionsMax
        self.arrivalRate = arrivalRate
    }

    /// Admits and counts a connection of an address.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - now: The time in nanoseconds.
    ///   - isCounted: Whether the limit of connections applies at present.
    /// - Returns: The limit that is reached; `nil` when the connection is counted, until ``release(_:)``.
    func admit(_ address: ClientAddress, at now: Int64, isCounted: Bool = true) -> Limit? {
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

    /// Removes a connection from the count.
    func release(_ address: ClientAddress) {
        state.withLock { state in
            guard var entry = state.entries[address] else { return }
            entry.connectionCount -= 1
            // The state of its rate is kept until a sweep.
            let isOver = entry.connectionCount == 0 && arrivalRate == nil
            state.entries[address] = isOver ? nil : entry
        }
    }

    /// The number of entries.
    var count: Int { state.withLock { $0.entries.count } }

    /// Removes the entries without connections whose rate is unused; the next sweep is due at twice the remaining
    /// number.
    private func sweep(_ state: inout State, at now: Int64) {
        state.entries = state.entries.filter {
            $0.value.connectionCount > 0 || !$0.value.arrivals.isFull(at: now)
        }
        state.sweepCount = max(1_024, 2 * state.entries.count)
    }
}
