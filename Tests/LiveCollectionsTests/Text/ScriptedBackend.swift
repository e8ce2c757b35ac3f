import Synchronization

@testable import LiveCollections

/// A backend without a network, which can be disconnected.
final class ScriptedBackend: TextSource {
    private struct State {
        var authority: TextAuthority
        var listeners: [Int: AsyncStream<TextSourceEvent>.Continuation] = [:]
        var listenerCount = 0
        var isReachable = true
        var refusal: @Sendable (TextBatch) -> (any Error)? = { _ in nil }
        var batches: [TextBatch] = []
        var failureCount = 0
        var isHolding = false
        var held: [CheckedContinuation<Void, any Error>] = []

        mutating func checkReachable() throws {
            guard !isReachable else { return }
            failureCount += 1
            throw Unreachable()
        }
    }

    struct Unreachable: Error {}

    private let state: Mutex<State>

    init(_ text: String = "") throws {
        var authority = try TextAuthority(replica: .random())
        var writer = TextDocument(replica: .random())
        _ = try authority.commit(try writer.replace(0..<0, with: text))
        state = Mutex(State(authority: authority))
    }

    var string: String { state.withLock { $0.authority.document.string } }
    /// The number of requests made while the backend was unreachable.
    var failureCount: Int { state.withLock { $0.failureCount } }
    /// Every accepted batch.
    var batches: [TextBatch] { state.withLock { $0.batches } }

    /// Throws an error for each batch for which `refusal` returns one, from now on.
    func refuse(_ refusal: @escaping @Sendable (TextBatch) -> (any Error)?) {
        state.withLock { $0.refusal = refusal }
    }

    /// Sends all clients an event of another source.
    func send(_ event: TextSourceEvent) {
        state.withLock { state in
            for listener in state.listeners.values { listener.yield(event) }
        }
    }

    /// Ends all streams of events.
    func endNews() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.finish() }
    }

    /// Applies an edit without an event to the clients.
    func editSilently(_ edit: (inout TextDocument) throws -> TextBatch) throws {
        try state.withLock { state in
            var writer = TextDocument(replica: .random(), from: state.authority.snapshot)
            _ = try state.authority.commit(try edit(&writer))
        }
    }

    /// Suspends later batches, also those of cancelled tasks, until ``releaseSends(throwing:)``.
    func holdSends() { state.withLock { $0.isHolding = true } }

    /// The number of suspended batches.
    var heldCount: Int { state.withLock { $0.held.count } }

    /// Processes the suspended batches, or loses them with an error.
    func releaseSends(throwing error: (any Error)? = nil) {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held {
            continuation.resume(with: error.map { .failure($0) } ?? .success(()))
        }
    }

    /// Disconnects or reconnects all clients.
    func setReachable(_ isReachable: Bool) {
        state.withLock { state in
            state.isReachable = isReachable
            let news = isReachable ? TextSourceEvent.connected : .disconnected(reason: "cut")
            for listener in state.listeners.values { listener.yield(news) }
        }
    }

    func compact() {
        state.withLock { state in
            Self.publish([state.authority.compact()], state)
        }
    }

    private static func publish(_ entries: [TextEntry], _ state: State) {
        guard state.isReachable else { return }
        for listener in state.listeners.values {
            for entry in entries { listener.yield(.entry(entry)) }
        }
    }

    func news() -> AsyncStream<TextSourceEvent> {
        AsyncStream { news in
            let key = state.withLock { state in
                state.listenerCount += 1
                state.listeners[state.listenerCount] = news
                if state.isReachable { news.yield(.connected) }
                return state.listenerCount
            }
            news.onTermination = { [self] _ in
                _ = state.withLock { $0.listeners.removeValue(forKey: key) }
            }
        }
    }

    func snapshot() throws -> TextSnapshot {
        try state.withLock { state in
            try state.checkReachable()
            return state.authority.snapshot
        }
    }

    func recovery(after serial: UInt64, epoch: UInt64) throws -> TextRecovery {
        try state.withLock { state in
            try state.checkReachable()
            return state.authority.recovery(after: serial, epoch: epoch)
        }
    }

    func send(_ batch: TextBatch) async throws {
        if state.withLock({ $0.isHolding }) {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { $0.held.append(continuation) }
            }
        }
        try state.withLock { state in
            try state.checkReachable()
            if let refusal = state.refusal(batch) { throw refusal }
            Self.publish(try state.authority.commit(batch), state)
            state.batches.append(batch)
        }
    }
}

extension ScriptedBackend {
    /// Starts a text that this backend orders.
    @MainActor func open(unsent: [TextBatch] = []) -> LiveText {
        var options = LiveText.Options()
        // Time is not tested here: each wait lets other tasks run.
        options.sleep = { _ in try await Task.sleep(for: .milliseconds(1)) }
        let text = LiveText(from: self, unsent: unsent, options: options)
        text.start()
        return text
    }
}
