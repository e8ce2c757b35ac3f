import Primitives

/// The unread elements of one reader of a sequence.
///
/// While a reader is too far behind, the client holds back its channel, so nothing is dropped (``SlowReaders``). A
/// sequence that is not read yet would hold it back for all readers. Its buffer is therefore emptied when it is full,
/// and a later reader receives a gap first.
final class EventBuffer<Element: Sendable>: SequenceReader {
    /// The behaviour of a full buffer.
    enum Policy: Sendable {
        /// The buffer grows and reports its load. Before the first read, a buffer that exceeds a limit is emptied, and
        /// begins with `overflow`.
        case reportsLoad(limit: Int, byteLimit: Int, overflow: Element)
        /// The buffer keeps only the newest elements, for values of which only the latest matters.
        case keepsNewest(limit: Int)
    }

    private typealias Reader = CheckedContinuation<Result<Element?, FanfareError>, Never>

    private enum Ending {
        case finished
        case failed(FanfareError)
    }

    private struct State {
        var waiting: [(element: Element, bytes: Int, handling: Handling?)] = []
        /// The index of the first unread element of `waiting`; removing elements one by one would be quadratic.
        var head = 0
        var bytes = 0
        var isRead = false
        var readers: [(id: Int, reader: Reader)] = []
        var nextReader = 0
        var ending: Ending?

        var load: Load { Load(count: waiting.count - head, bytes: bytes) }

        mutating func append(_ element: Element, _ count: Int, _ handling: Handling?) {
            waiting.append((element, count, handling))
            bytes += count
        }

        mutating func removeFirst() -> Element {
            let (element, count, _) = waiting[head]
            waiting[head].handling = nil
            head += 1
            bytes -= count
            if head * 2 > waiting.count {
                waiting.removeFirst(head)
                head = 0
            }
            return element
        }

        mutating func replaceAll(by element: Element) {
            // The dropped elements count as handled once the gap is handled.
            let last = waiting[head...].last { $0.handling != nil }?.handling
            (waiting, head, bytes) = ([(element, 0, last)], 0, 0)
        }
    }

    private final class Identity: Sendable {}

    private let policy: Policy
    private let state = Lock(State())
    /// Retained by the report of the release, so that no other buffer can have the same ID before that report.
    private let identity = Identity()
    /// Called after each read with the remaining load, and when a buffer with unread elements is released.
    private let drained: @Sendable (ObjectIdentifier, Load) -> Void

    init(
        policy: Policy,
        drained: @escaping @Sendable (ObjectIdentifier, Load) -> Void = { _, _ in }
    ) {
        self.policy = policy
        self.drained = drained
    }

    deinit {
        guard state.withLock({ $0.isRead && $0.load.count > 0 }) else { return }
        // In a task: the client may hold the last reference briefly, under the lock that `drained` takes.
        Task.detached { [identity, drained] in drained(ObjectIdentifier(identity), Load()) }
    }

    var id: ObjectIdentifier { ObjectIdentifier(identity) }

    var name: String { "a sequence of events" }

    var unreadCount: Int { state.withLock { $0.load.count } }

    /// Whether nothing is added any more; unread elements may remain.
    var hasEnded: Bool { state.withLock { $0.ending != nil } }

    func dropUnread() {
        guard case .reportsLoad(_, _, let overflow) = policy else { return }
        state.withLock { state in
            // A reader may have caught up, and wait, since its load was measured.
            guard state.ending == nil, state.load.count > 0 else { return }
            state.replaceAll(by: overflow)
        }
    }

    /// Delivers an element to a waiting reader, or buffers it.
    ///
    /// - Parameters:
    ///   - element: The element.
    ///   - bytes: The approximate memory of the element.
    ///   - handling: Retained until a reader has received the element.
    /// - Returns: The load of unread elements; an empty load before the first read.
    @discardableResult
    func send(_ element: Element, bytes: Int = 0, retaining handling: Handling? = nil) -> Load {
        let (reader, load): (Reader?, Load) = state.withLock { state in
            guard state.ending == nil else { return (nil, Load()) }
            guard state.readers.isEmpty else { return (state.readers.removeFirst().reader, Load()) }
            switch policy {
            case .keepsNewest(let limit):
                if state.load.count == limit { _ = state.removeFirst() }
                state.append(element, bytes, handling)
                return (nil, Load())
            case .reportsLoad(let limit, let byteLimit, let overflow):
                guard !state.isRead else {
                    state.append(element, bytes, handling)
                    return (nil, state.load)
                }
                if state.load.count >= limit || state.bytes + bytes > byteLimit {
                    state.replaceAll(by: overflow)
                }
                if bytes <= byteLimit { state.append(element, bytes, handling) }
                return (nil, Load())
            }
        }
        reader?.resume(returning: .success(element))
        return load
    }

    /// Removes the unread elements up to the last one that matches, and returns that one; `nil` if none matches.
    func skip(toLast isWanted: (Element) -> Bool) -> Element? {
        let (wanted, load): (Element?, Load) = state.withLock { state in
            let unread = state.waiting[state.head...]
            guard let index = unread.lastIndex(where: { isWanted($0.element) }) else {
                return (nil, state.load)
            }
            let element = unread[index].element
            for _ in unread.startIndex...index { _ = state.removeFirst() }
            return (element, state.load)
        }
        if wanted != nil { drained(id, load) }
        return wanted
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

    /// Waits for the next element; `nil` at the end and when the task is cancelled.
    func next(isolation: isolated (any Actor)? = #isolation) async throws(FanfareError) -> Element?
    {
        let id = state.withLock { state in
            state.isRead = true
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

    /// Returns the next element or the end if there is one; otherwise stores the reader and returns `nil`.
    private func take(for reader: Reader, id: Int) -> Result<Element?, FanfareError>? {
        let (result, load): (Result<Element?, FanfareError>?, Load?) = state.withLock { state in
            guard state.load.count == 0 else {
                let element = state.removeFirst()
                return (.success(element), state.load)
            }
            switch state.ending {
            case .finished: return (.success(nil), nil)
            // The error is thrown once; a later call of next() returns the end.
            case .failed(let error):
                state.ending = .finished
                return (.failure(error), nil)
            case nil: break
            }
            // The cancellation handler of a task that was already cancelled has run before this.
            guard !Task.isCancelled else { return (.success(nil), nil) }
            state.readers.append((id, reader))
            return (nil, nil)
        }
        if let load { drained(self.id, load) }
        return result
    }

    private func cancel(_ id: Int) {
        let reader = state.withLock { state in
            state.readers.firstIndex { $0.id == id }.map { state.readers.remove(at: $0).reader }
        }
        reader?.resume(returning: .success(nil))
    }
}
