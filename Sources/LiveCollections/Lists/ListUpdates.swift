import LiveRows

/// The updates of a live list as an asynchronous sequence: all rows first, then what changes.
///
/// Nothing is queued: who comes back late gets one update that leads from what was read last to what
/// is there now. It ends with the list, and when the task is cancelled.
public struct ListUpdates<Row: LiveRow>: AsyncSequence, Sendable where Row.ID: Sendable {
    /// Reads the updates, one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: Reader<Row>

        init(_ reader: Reader<Row>) { self.reader = reader }

        /// Waits for the next update.
        public mutating func next() async -> ListUpdate<Row>? { await reader.next() }

        /// Waits for the next update; it comes from the main actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ListUpdate<Row>?
        {
            await reader.next()
        }
    }

    private let list: WeakList<Row>

    @MainActor init(_ list: LiveList<Row>) { self.list = WeakList(list) }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(Reader(list)) }
}

/// A list that the sequence of its updates does not keep alive.
@MainActor final class WeakList<Row: LiveRow>: Sendable where Row.ID: Sendable {
    private(set) weak var list: LiveList<Row>?

    init(_ list: LiveList<Row>) { self.list = list }
}

/// One reader of a list's updates: what it has read, and whether there is more.
@MainActor final class Reader<Row: LiveRow>: Sendable where Row.ID: Sendable {
    private let list: WeakList<Row>
    private var signals: AsyncStream<Void>.Iterator?
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
            var iterator = signals ?? list.signals.add().makeAsyncIterator()
            signals = iterator
            guard await wait(&iterator, list: consume list) else { return nil }
        }
        return nil
    }

    /// Waits for a signal, and does not keep the list meanwhile.
    private func wait(
        _ iterator: inout AsyncStream<Void>.Iterator,
        list: consuming LiveList<Row>
    ) async -> Bool {
        _ = consume list
        return await iterator.next(isolation: #isolation) != nil
    }
}
