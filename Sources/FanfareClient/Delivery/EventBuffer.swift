import Synchronization

/// The unread elements of one asynchronous sequence.
final class EventBuffer<Element: Sendable>: Sendable {
    /// The behaviour when the buffer is full.
    enum Policy {
        /// The buffered elements are delivered, then the sequence ends with ``FanfareError/overflow(limit:)``.
        case endsWithError
        /// The oldest element is dropped: for values of which only the latest matters.
        case keepsNewest
    }

    private typealias Reader = CheckedContinuation<Result<Element?, FanfareError>, Never>

    private enum Ending {
        case finished
        case failed(FanfareError)
    }

    private struct State {
        var waiting: [Element] = []
        /// The index of the first unread element of `waiting`: removing each one singly would be quadratic.
        var head = 0
        var readers: [(id: Int, reader: Reader)] = []
        var nextReader = 0
        var ending: Ending?

        var count: Int { waiting.count - head }

        mutating func removeFirst() -> Element {
            let element = waiting[head]
            head += 1
            if head * 2 > waiting.count {
                waiting.removeFirst(head)
                head = 0
            }
            return element
        }
    }

    private let limit: Int
    private let policy: Policy
    private let state = Mutex(State())
    /// Called once, when the buffer is deallocated.
    private let abandoned: @Sendable (ObjectIdentifier) -> Void

    init(
        limit: Int,
        policy: Policy,
        abandoned: @escaping @Sendable (ObjectIdentifier) -> Void = { _ in }
    ) {
        precondition(limit > 0, "a buffer needs room for at least one event")
        self.limit = limit
        self.policy = policy
        self.abandoned = abandoned
    }

    deinit { abandoned(ObjectIdentifier(self)) }

    /// Delivers an element to a waiting reader, or buffers it.
    func send(_ element: Element) {
        let reader: Reader? = state.withLock { state in
            guard state.ending == nil else { return nil }
            guard state.readers.isEmpty else { return state.readers.removeFirst().reader }
            if state.count == limit {
                guard policy == .keepsNewest else {
                    state.ending = .failed(.overflow(limit: limit))
                    return nil
                }
                _ = state.removeFirst()
            }
            state.waiting.append(element)
            return nil
        }
        reader?.resume(returning: .success(element))
    }

    /// Ends the sequence after the buffered elements have been read.
    func finish(throwing error: FanfareError? = nil) {
        let readers = state.withLock { state in
            guard state.ending == nil else { return [] as [Reader] }
            state.ending = error.map { .failed($0) } ?? .finished
            return exchange(&state.readers, with: []).map(\.reader)
        }
        for reader in readers {
            reader.resume(returning: error.map { .failure($0) } ?? .success(nil))
        }
    }

    /// Waits for the next element; `nil` at the end, and when the task is cancelled.
    func next(isolation: isolated (any Actor)? = #isolation) async throws(FanfareError) -> Element?
    {
        let id = state.withLock { state in
            state.nextReader += 1
            return state.nextReader
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (reader: Reader) in
                if let ready = take(for: reader, id: id) { reader.resume(returning: ready) }
            }
        } onCancel: {
            cancel(id)
        }
        return try result.get()
    }

    /// Returns an element or the end if there is one; otherwise stores the reader and returns `nil`.
    private func take(for reader: Reader, id: Int) -> Result<Element?, FanfareError>? {
        state.withLock { state in
            guard state.count == 0 else { return .success(state.removeFirst()) }
            switch state.ending {
            case .finished: return .success(nil)
            // Thrown once: a second loop over the sequence ends without an error.
            case .failed(let error):
                state.ending = .finished
                return .failure(error)
            case nil: break
            }
            // The cancellation handler of a task already cancelled has run before this.
            guard !Task.isCancelled else { return .success(nil) }
            state.readers.append((id, reader))
            return nil
        }
    }

    private func cancel(_ id: Int) {
        let reader = state.withLock { state in
            state.readers.firstIndex { $0.id == id }.map { state.readers.remove(at: $0).reader }
        }
        reader?.resume(returning: .success(nil))
    }
}
