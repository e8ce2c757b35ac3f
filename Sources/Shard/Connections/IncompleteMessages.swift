import Net
import PusherProtocol

/// The connections of one shard with a partially received WebSocket message, and the memory that these parts take.
///
/// A connection is added at the end of a read that leaves its message incomplete, so messages that arrive whole cost
/// nothing. One timer closes the connections whose message does not arrive in time; it runs only while there are any.
final class IncompleteMessages: TimerTarget {
    private struct Entry {
        let connection: Connection
        /// When the first part arrived.
        let start: MonotonicTime
        /// Bytes of memory, as charged to the reactor's budget.
        var byteCount: Int
    }

    private let context: ShardContext
    private var entries: [SocketID: Entry] = [:]
    private var isTimerRunning = false

    /// The memory that all incomplete messages take, in bytes.
    private(set) var byteCount = 0

    /// The number of connections with an incomplete message.
    var count: Int { entries.count }

    /// The maximum number of connections that are closed at once to free memory; the next received part closes more.
    private static var closedCountMax: Int { 64 }

    /// Creates an empty table.
    init(_ context: ShardContext) { self.context = context }

    private var reactor: Reactor { context.reactor }
    private var settings: ServerSettings { context.settings }

    /// Records the memory that a connection's incomplete message takes; the first call for a message starts its time
    /// limit.
    ///
    /// When all incomplete messages take half of the budget for received data, or the budget is used up, connections
    /// with large ones are closed with 4100. The other half is reserved for triggers.
    ///
    /// - Parameters:
    ///   - count: The size in bytes; it does not shrink while the message arrives.
    ///   - connection: The connection, which may be closed when this returns.
    func hold(_ count: Int, of connection: Connection) {
        let id = connection.socketID
        let growth = count - (entries[id]?.byteCount ?? 0)
        if growth == 0 { return }
        entries[id, default: Entry(connection: connection, start: reactor.timerTime, byteCount: 0)]
            .byteCount = count
        byteCount += growth
        reactor.inbound.charge(growth)
        startTimer()
        if reactor.inbound.isExhausted || byteCount > reactor.inbound.byteCountMax / 2 {
            freeMemory()
        }
    }

    /// Removes a connection whose message is complete, or that is closing.
    func release(of connection: Connection) {
        guard let entry = entries.removeValue(forKey: connection.socketID) else { return }
        byteCount -= entry.byteCount
        reactor.inbound.refund(entry.byteCount)
        // A dictionary keeps the memory of its peak.
        if entries.isEmpty, entries.capacity > 64 { entries = [:] }
    }

    // MARK: - Memory limit

    /// Closes connections whose incomplete messages take at least the average, until a quarter of their share is free.
    ///
    /// It closes none if all of these messages together take little. Then something else uses up the budget, and
    /// closing connections would free nothing.
    private func freeMemory() {
        let byteCountMax = reactor.inbound.byteCountMax
        guard byteCount >= byteCountMax / 8, !entries.isEmpty else { return }
        let average = byteCount / entries.count
        let large = entries.values.lazy.filter { $0.byteCount >= average }
        for entry in Array(large.prefix(Self.closedCountMax)) {
            guard reactor.inbound.isExhausted || byteCount > byteCountMax / 8 * 3 else { return }
            context.limitMet(.inboundBytes)
            entry.connection.close(
                .overCapacity,
                message: "Over capacity: too many incomplete messages, try again later"
            )
        }
    }

    // MARK: - Time limit

    private func startTimer() {
        guard !isTimerRunning else { return }
        isTimerRunning = true
        // The maximum delay of the check.
        reactor.schedule(after: max(settings.messageTimeout / 8, .seconds(1)), self)
    }

    /// Closes the connections whose message has taken too long.
    func timerFired(tag: Int) {
        isTimerRunning = false
        let latest = reactor.timerTime.advanced(by: .zero - settings.messageTimeout)
        for entry in entries.values.filter({ $0.start <= latest }) {
            context.limitMet(.messageTime)
            entry.connection.close(
                .overCapacity,
                message: "A message has not arrived within "
                    + "\(settings.messageTimeout.components.seconds) seconds"
            )
        }
        if !entries.isEmpty { startTimer() }
    }
}
