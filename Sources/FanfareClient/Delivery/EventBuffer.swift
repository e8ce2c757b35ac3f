import Synchronization

/// What was sent to one asynchronous sequence and not read yet.
final class EventBuffer<Element: Sendable>: Sendable {
    /// What happens when more is sent than the buffer holds.
    enum Policy {
        /// What is held is delivered, then the sequence ends with ``FanfareError/overflow(limit:)``.
        case endsWithError
        /// The oldest gives way: only for values of which the latest counts.
        case keepsNewest
    }

    private typealias Reader = CheckedContinuation<Result<Element?, FanfareError>, Never>

    private enum Ending {
        case finished
        case failed(FanfareError)
    }

    private struct State {
        var waiting: [Element] = []
        /// The first of `waiting` that has not been read: removing each singly would be quadratic.
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
    /// Called once, when nobody reads any more.
    private let abandoned: @Sendable (ObjectIdentifier) -> Void

    init(
        limit: Int,
        policy: Policy,
        abandoned: @escaping @Sendable (ObjectIdentifier) -> Void = { _ in }
    ) {
        precondition(limit > 0, "a buffer has room for one event at least")
        self.limit = limit
        self.policy = policy
        self.abandoned = abandoned
    }

    deinit { abandoned(ObjectIdentifier(self)) }

    /// Hands an element to a reader, or keeps it for the next one.
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

    /// Ends the sequence once what is held has been read.
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

    /// What can be had at once; otherwise the reader is kept until something comes.
    private func take(for reader: Reader, id: Int) -> Result<Element?, FanfareError>? {
        state.withLock { state in
            guard state.count == 0 else { return .success(state.removeFirst()) }
            switch state.ending {
            case .finished: return .success(nil)
            // Told once: a second loop over the sequence ends quietly.
            case .failed(let error):
                state.ending = .finished
                return .failure(error)
            case nil: break
            }
            // The handler of a task that is cancelled already has run before this.
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
