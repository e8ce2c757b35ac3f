internal import Broker
internal import PusherProtocol
internal import Synchronization

/// The bounded queue of reports from the shards to the actor.
///
/// When it is full the oldest report is dropped, because the latest ones describe the current state.
final class ReportQueue: Sendable {
    /// The maximum number of reports.
    let countMax: Int
    /// The maximum length of their client events, in bytes; a single one may be longer.
    let lengthMax: Int

    private struct State {
        var reports: [Report] = []
        /// The index of the oldest report; those before it are dropped.
        var oldest = 0
        var length = 0
        var dropped = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    init(countMax: Int, lengthMax: Int) {
        self.countMax = max(countMax, 1)
        self.lengthMax = lengthMax
    }

    /// Adds a report without blocking, and returns whether it is the first, so that the actor has to be woken.
    func post(_ report: Report) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.reports.append(report)
            state.length += report.length
            dropOldest(&state)
            return state.reports.count == 1
        }
    }

    /// Removes and returns all reports, oldest first, and the number of those dropped since the last call.
    func take() -> (reports: [Report], dropped: Int) {
        let (reports, oldest, dropped) = state.withLock { state in
            defer { state = State(isClosed: state.isClosed) }
            return (state.reports, state.oldest, state.dropped)
        }
        return (oldest == 0 ? reports : Array(reports[oldest...]), dropped)
    }

    /// Ignores all later reports.
    func close() { state.withLock { $0.isClosed = true } }

    private func dropOldest(_ state: inout State) {
        while state.reports.count - state.oldest > 1,
            state.reports.count - state.oldest > countMax || state.length > lengthMax
        {
            state.length -= state.reports[state.oldest].length
            state.oldest += 1
            state.dropped += 1
        }
        // Not each time, because it moves all others.
        guard state.oldest > state.reports.count / 2 else { return }
        state.reports.removeFirst(state.oldest)
        state.oldest = 0
    }
}

/// An event of a channel, with the time of its report.
struct Report: Sendable, Equatable {
    let address: ChannelAddress
    let event: ChannelEvent
    /// The time, in milliseconds of ``WebhookClock/uptime``.
    let uptime: Int64

    /// The number of bytes that a client has contributed.
    var length: Int {
        guard case .clientEvent(let event, _, _) = event else { return 0 }
        return event.nameToken.count + (event.dataToken?.count ?? 0)
    }
}
