import Primitives

/// A bounded queue of a source's events for one reader.
///
/// When it is full, ``TextSourceEvent/gap`` replaces all queued events, after the last report about the connection. The
/// reader then fetches the dropped entries from the backend.
final class TextEventBuffer: Sendable {
    /// The default limit; even a text that handles events on a busy main actor is seldom this far behind.
    static let countMax = 256

    private struct State {
        var events: [TextSourceEvent] = []
        var isFinished = false
    }

    private let limit: Int
    private let state = Lock(State())
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    init(limit: Int = TextEventBuffer.countMax) {
        self.limit = limit
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether all queued events have been read.
    var isEmpty: Bool { state.withLock { $0.events.isEmpty } }

    /// Queues an event.
    func send(_ event: TextSourceEvent) {
        state.withLock { state in
            guard !state.isFinished else { return }
            if state.events.count >= limit {
                state.events = state.events.last { $0.isAboutConnection }.map { [$0] } ?? []
                state.events.append(.gap)
            }
            state.events.append(event)
        }
        signal.yield()
    }

    /// Ends the queue after the queued events.
    func finish() {
        state.withLock { $0.isFinished = true }
        signal.finish()
    }

    /// Waits for the next event; `nil` at the end and when the task is cancelled.
    func next() async -> TextSourceEvent? {
        while true {
            let (event, isFinished) = state.withLock { state in
                (state.events.isEmpty ? nil : state.events.removeFirst(), state.isFinished)
            }
            if event != nil || isFinished || Task.isCancelled { return event }
            var signals = signals.makeAsyncIterator()
            // After the end of the signals the queue is read once more.
            if await signals.next() == nil, Task.isCancelled { return nil }
        }
    }
}

extension TextSourceEvent {
    fileprivate var isAboutConnection: Bool {
        switch self {
        case .connected, .resumed, .disconnected: true
        case .entry, .gap: false
        }
    }
}
