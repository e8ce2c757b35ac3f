package import Broker
import Synchronization

/// The traces that backends have begun, for `fanfare trace`.
///
/// While there is none, no kind of event is asked for. A trace ends by a request, or when nobody has asked for its records
/// for ``idleTime``.
package final class EventTraces: Sendable {
    /// The maximum number of traces of one app at a time.
    package static let countMax = 8
    /// The time between two looks for traces that nobody reads.
    static let interval = Duration.seconds(5)
    /// The time without a request after which a trace ends.
    package static var idleTime: Duration { interval * EventTrace.idleLooksMax }

    private struct State {
        var traces: [EventTrace] = []
        /// Has all shards read the observed kinds again, from the broker's start to its stop.
        var updateObservers: @Sendable () async -> Void = {}
        /// Removes traces that are idle; `nil` while there is none.
        var ending: Task<Void, Never>?
    }

    private let state = Mutex(State())

    /// Creates an observer without traces.
    package init() {}

    /// Begins to serve traces.
    ///
    /// - Parameter updateObservers: Has all shards read the observed kinds again.
    package func start(_ updateObservers: @escaping @Sendable () async -> Void) {
        state.withLock { $0.updateObservers = updateObservers }
    }

    /// Ends all traces.
    package func stop() {
        state.withLock { state in
            state.ending?.cancel()
            state = State()
        }
    }

    /// Begins a trace; observed once all shards have read the observed kinds, by ``updateObservers()``.
    ///
    /// - Returns: The trace; `nil` if the app has ``countMax`` of them.
    package func begin(of app: AppID, _ filter: TraceFilter) -> EventTrace? {
        state.withLock { state in
            guard state.traces.count(where: { $0.app == app }) < Self.countMax else { return nil }
            let trace = EventTrace(of: app, filter)
            state.traces.append(trace)
            if state.ending == nil { state.ending = Task { [weak self] in await self?.endIdle() } }
            return trace
        }
    }

    /// The trace of an app with this identifier; `nil` if there is none, or none any more.
    package func find(_ id: String, of app: AppID) -> EventTrace? {
        state.withLock { $0.traces.first { $0.id == id && $0.app == app } }
    }

    /// Ends a trace; observed until ``updateObservers()``.
    package func end(_ trace: EventTrace) {
        state.withLock { $0.traces.removeAll { $0 === trace } }
    }

    /// Has all shards read the observed kinds again.
    package func updateObservers() async { await state.withLock(\.updateObservers)() }

    /// Removes idle traces until there is none.
    private func endIdle() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            let (hasEnded, isDone) = state.withLock { state in
                let count = state.traces.count
                state.traces.removeAll { $0.look() }
                if state.traces.isEmpty { state.ending = nil }
                return (state.traces.count < count, state.traces.isEmpty)
            }
            if hasEnded { await updateObservers() }
            if isDone { return }
        }
    }
}

extension EventTraces: BrokerObserver {
    package func observedKinds(of app: AppID?) -> BrokerEventKinds {
        guard let app else { return [] }
        let isTraced = state.withLock { $0.traces.contains { $0.app == app } }
        return isTraced ? EventRecords.kinds : []
    }

    package func observe(_ event: BrokerEvent, of app: AppID?) {
        for trace in state.withLock({ $0.traces }) where trace.app == app { trace.observe(event) }
    }
}
