internal import Synchronization

/// Where reports wait for the actor: the only thing that the broker's threads touch.
///
/// When it is full the oldest report makes room: what happened last says how things are.
final class ReportQueue: Sendable {
    /// The reports that may wait.
    let countMax: Int
    /// The length of the client events among them, in bytes; a single one may be longer.
    let lengthMax: Int

    private struct State {
        var reports: [Report] = []
        /// Where the oldest report is; those before have made room.
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

    /// Adds a report, never waiting.
    ///
    /// - Returns: Whether it is the first, so that somebody has to be told.
    func post(_ report: Report) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.reports.append(report)
            state.length += report.length
            dropOldest(&state)
            return state.reports.count == 1
        }
    }

    /// Takes everything.
    ///
    /// - Returns: The reports, oldest first, and how many were dropped since the last time.
    func take() -> (reports: [Report], dropped: Int) {
        let (reports, oldest, dropped) = state.withLock { state in
            defer { state = State(isClosed: state.isClosed) }
            return (state.reports, state.oldest, state.dropped)
        }
        return (oldest == 0 ? reports : Array(reports[oldest...]), dropped)
    }

    /// Takes in nothing more.
    func close() { state.withLock { $0.isClosed = true } }

    private func dropOldest(_ state: inout State) {
        while state.reports.count - state.oldest > 1,
            state.reports.count - state.oldest > countMax || state.length > lengthMax
        {
            state.length -= state.reports[state.oldest].length
            state.oldest += 1
            state.dropped += 1
        }
        // Not each time, since all behind it move.
        guard state.oldest > state.reports.count / 2 else { return }
        state.reports.removeFirst(state.oldest)
        state.oldest = 0
    }
}
