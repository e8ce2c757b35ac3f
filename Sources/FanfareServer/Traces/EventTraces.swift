import Broker
import Synchronization

/// The traces that backends have begun, for `fanfare trace`.
///
/// While there is none, no kind of event is asked for. A trace ends by a request, or when nobody has asked for its records
/// for ``idleTime``.
final class EventTraces: Sendable {
    /// The maximum number of traces of one app at a time.
    static let countMax = 8
    /// The time between two looks for traces that nobody reads.
    static let interval = Duration.seconds(5)
    /// The time without a request after which a trace ends.
    static var idleTime: Duration { interval * EventTrace.idleLooksMax }

    private struct State {
        var traces: [EventTrace] = []
        /// The broker's shards, from its start to its stop.
        var shards: [Shard] = []
        /// Removes traces that are idle; `nil` while there is none.
        var ending: Task<Void, Never>?
    }

    private let state = Mutex(State())

    /// The shards that observe what is traced.
    func start(on shards: [Shard]) { state.withLock { $0.shards = shards } }

    /// Ends all traces.
    func stop() {
        state.withLock { state in
            state.ending?.cancel()
            state = State()
        }
    }

    /// Begins a trace; observed once all shards have read the observed kinds, by ``updateObservers()``.
    ///
    /// - Returns: The trace; `nil` if the app has ``countMax`` of them.
    func begin(of app: AppID, _ filter: TraceFilter) -> EventTrace? {
        state.withLock { state in
            guard state.traces.count(where: { $0.app == app }) < Self.countMax else { return nil }
            let trace = EventTrace(of: app, filter)
            state.traces.append(trace)
            if state.ending == nil { state.ending = Task { [weak self] in await self?.endIdle() } }
            return trace
        }
    }

    /// The trace of an app with this identifier; `nil` if there is none, or none any more.
    func find(_ id: String, of app: AppID) -> EventTrace? {
        state.withLock { $0.traces.first { $0.id == id && $0.app == app } }
    }

    /// Ends a trace; observed until ``updateObservers()``.
    func end(_ trace: EventTrace) {
        state.withLock { $0.traces.removeAll { $0 === trace } }
    }

    /// Has all shards read the observed kinds again.
    func updateObservers() async {
        for shard in state.withLock({ $0.shards }) { await shard.updateObservers() }
    }

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
    func observedKinds(of app: AppID?) -> BrokerEventKinds {
        guard let app else { return [] }
        let isTraced = state.withLock { $0.traces.contains { $0.app == app } }
        return isTraced ? EventRecords.kinds : []
    }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        for trace in state.withLock({ $0.traces }) where trace.app == app { trace.observe(event) }
    }
}
