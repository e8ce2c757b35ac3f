import Synchronization

@testable import LiveCollections

/// A backend without a network, which can be disconnected.
final class ScriptedBackend: TextSource {
    private struct State {
        var authority: TextAuthority
        var listeners: [Int: AsyncStream<TextSourceEvent>.Continuation] = [:]
        var listenerCount = 0
        var isReachable = true
        var refusal: TextRefusal?
        var batches: [TextBatch] = []
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
    /// Every accepted batch.
    var batches: [TextBatch] { state.withLock { $0.batches } }

    /// Refuses all edits from now on.
    func refuse(with refusal: TextRefusal) { state.withLock { $0.refusal = refusal } }

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
            guard state.isReachable else { throw Unreachable() }
            return state.authority.snapshot
        }
    }

    func recovery(after serial: UInt64, epoch: UInt64) throws -> TextRecovery {
        try state.withLock { state in
            guard state.isReachable else { throw Unreachable() }
            return state.authority.recovery(after: serial, epoch: epoch)
        }
    }

    func send(_ batch: TextBatch) throws {
        try state.withLock { state in
            guard state.isReachable else { throw Unreachable() }
            if let refusal = state.refusal { throw refusal }
            Self.publish(try state.authority.commit(batch), state)
            state.batches.append(batch)
        }
    }
}
