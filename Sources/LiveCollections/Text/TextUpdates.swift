import Primitives

/// Changes of a text and the resulting text.
public struct TextUpdate: Hashable, Sendable {
    /// The changes since the reader's last update, in order, both remote and local.
    ///
    /// Each has offsets in the text after the previous change. Applied to the last update's ``string``, they result in
    /// this update's ``string``.
    public var splices: [TextSplice]
    /// The text after the changes.
    public var string: String
    /// Whether the only splice replaces the whole text, because the reader is too far behind for individual changes.
    public var isWholeText: Bool

    /// Creates an update with its changes in order and the resulting text.
    package init(splices: [TextSplice], string: String, isWholeText: Bool = false) {
        self.splices = splices
        self.string = string
        self.isWholeText = isWholeText
    }
}

/// The updates of a text as an asynchronous sequence.
///
/// Every iterator receives every change: the first iterator from the creation of the sequence on, others from their own
/// creation on. A slow reader receives one update with all changes since its last. From 1,000 changes on, or when they
/// insert more than the text contains, a single splice replaces the whole text (``TextUpdate/isWholeText``). The
/// sequence ends with the text and when the task is cancelled.
public struct TextUpdates: AsyncSequence, Sendable {
    /// Iterates over the updates.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let buffer: TextUpdateBuffer

        /// Waits for the next update.
        public mutating func next() async -> TextUpdate? { await next(isolation: nil) }

        /// Waits for the next update, on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TextUpdate? {
            await buffer.next(isolation: actor)
        }
    }

    private let source: TextUpdateSource

    init(_ readers: TextUpdateReaders) { source = TextUpdateSource(readers) }

    /// Returns an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: source.takeBuffer()) }
}

/// Creates the buffers of a sequence's iterators.
private final class TextUpdateSource: Sendable {
    private let readers: TextUpdateReaders
    /// The buffer of the first iterator, which is filled from the creation of the sequence on.
    private let first: Lock<TextUpdateBuffer?>

    init(_ readers: TextUpdateReaders) {
        self.readers = readers
        first = Lock(readers.add())
    }

    func takeBuffer() -> TextUpdateBuffer { first.withLock { $0.take() } ?? readers.add() }
}

/// The readers of a text's updates.
final class TextUpdateReaders: Sendable {
    private struct Entry {
        weak var buffer: TextUpdateBuffer?
    }

    private struct State {
        var entries: [Entry] = []
        var isFinished = false
    }

    private let state = Lock(State())

    /// Adds a reader; it is removed when its buffer is released.
    func add() -> TextUpdateBuffer {
        let buffer = TextUpdateBuffer()
        let isFinished = state.withLock { state in
            state.entries.append(Entry(buffer: buffer))
            return state.isFinished
        }
        if isFinished { buffer.finish() }
        return buffer
    }

    /// Adds changes to the readers' next updates.
    ///
    /// - Parameters:
    ///   - splices: The changes, in order.
    ///   - count: The number of UTF-16 units of the text before the changes.
    ///   - string: Returns the text after the changes; called only if there is a reader.
    func send(_ splices: [TextSplice], before count: Int, string: () -> String) {
        let buffers = state.withLock { state in
            state.entries.removeAll { $0.buffer == nil }
            return state.entries.compactMap(\.buffer)
        }
        guard !buffers.isEmpty else { return }
        let string = string()
        for buffer in buffers { buffer.send(splices, before: count, string) }
    }

    /// Ends the sequences after their last updates.
    func finish() {
        let entries = state.withLock { state in
            state.isFinished = true
            return exchange(&state.entries, with: [])
        }
        for entry in entries { entry.buffer?.finish() }
    }
}

/// The next update of one reader.
final class TextUpdateBuffer: Sendable {
    /// The number of changes at which one splice replaces the whole text.
    static let spliceCountMax = 1_000

    private struct State {
        var update: TextUpdate?
        /// The number of UTF-16 units of the text before the update, and of the inserted text.
        var countBefore = 0
        var insertedCount = 0
        var isFinished = false
    }

    private let state = Lock(State())
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    init() {
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func send(_ splices: [TextSplice], before count: Int, _ string: String) {
        state.withLock { state in
            if state.update == nil { (state.countBefore, state.insertedCount) = (count, 0) }
            var update = state.update ?? TextUpdate(splices: [], string: string)
            update.string = string
            state.insertedCount += splices.reduce(0) { $0 + $1.replacement.utf16.count }
            if !update.isWholeText { update.splices += splices }
            // A short text may be replaced several times by few changes.
            let insertedCountMax = max(string.utf16.count, 10_000)
            if update.isWholeText || update.splices.count >= Self.spliceCountMax
                || state.insertedCount > insertedCountMax
            {
                update.isWholeText = true
                update.splices = [TextSplice(0..<state.countBefore, string)]
            }
            state.update = update
        }
        signal.yield()
    }

    func finish() {
        state.withLock { $0.isFinished = true }
        signal.finish()
    }

    /// Waits for the next update; `nil` at the end and when the task is cancelled.
    func next(isolation: isolated (any Actor)? = #isolation) async -> TextUpdate? {
        while !Task.isCancelled {
            let (update, isFinished) = state.withLock { ($0.update.take(), $0.isFinished) }
            if update != nil || isFinished { return update }
            for await _ in signals { break }
        }
        return nil
    }
}
