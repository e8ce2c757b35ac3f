import LiveRows
import Primitives

/// The updates of a live list as an asynchronous sequence: all rows first, then the changes.
///
/// Updates are coalesced, not queued: a slow reader receives one update with all changes since its last. The sequence
/// ends when the list is released or the task is cancelled.
public struct ListUpdates<Row: LiveRow>: AsyncSequence, Sendable where Row.ID: Sendable {
    /// Iterates over the updates.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: Reader<Row>

        init(_ reader: Reader<Row>) { self.reader = reader }

        /// Waits for the next update.
        public mutating func next() async -> ListUpdate<Row>? { await reader.next() }

        /// Waits for the next update, which the main actor sends.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ListUpdate<Row>?
        {
            await reader.next()
        }
    }

    private let list: WeakList<Row>

    @MainActor init(_ list: LiveList<Row>) { self.list = WeakList(list) }

    /// Returns an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(Reader(list)) }
}

/// A weak reference to a list, for the sequence of its updates.
@MainActor final class WeakList<Row: LiveRow>: Sendable where Row.ID: Sendable {
    private(set) weak var list: LiveList<Row>?

    init(_ list: LiveList<Row>) { self.list = list }
}

/// One reader of a list's updates, with the rows that it has read.
@MainActor final class Reader<Row: LiveRow>: Sendable where Row.ID: Sendable {
    private let list: WeakList<Row>
    private var signals: AsyncStream<Void>?
    private var read = RowList<Row>()
    private var readNumber: Int?

    nonisolated init(_ list: WeakList<Row>) { self.list = list }

    func next() async -> ListUpdate<Row>? {
        while let list = list.list {
            if list.updateNumber != readNumber {
                let update = list.update(from: read)
                read = update.rows
                readNumber = update.number
                return update
            }
            let signals = signals ?? list.signals.add()
            self.signals = signals
            guard await wait(for: signals, list: consume list) else { return nil }
        }
        return nil
    }

    /// Waits for a signal without a strong reference to the list.
    private func wait(
        for signals: AsyncStream<Void>,
        list: consuming LiveList<Row>
    ) async -> Bool {
        _ = consume list
        for await _ in signals { return true }
        return false
    }
}

/// Wakes the readers of a list's updates; their sequences end with the list.
final class UpdateSignals: Sendable {
    private let continuations = Lock<[Int: AsyncStream<Void>.Continuation]>([:])

    /// Adds a stream of signals; unread signals are coalesced.
    func add() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(
            bufferingPolicy: .bufferingNewest(1)
        )
        let id = continuations.withLock { continuations in
            let id = (continuations.keys.max() ?? 0) + 1
            continuations[id] = continuation
            return id
        }
        continuation.onTermination = { [weak self] _ in
            self?.continuations.withLock { _ = $0.removeValue(forKey: id) }
        }
        return stream
    }

    /// Wakes all readers.
    func send() {
        for continuation in continuations.withLock({ Array($0.values) }) { continuation.yield() }
    }

    deinit {
        for continuation in continuations.withLock({ Array($0.values) }) { continuation.finish() }
    }
}
