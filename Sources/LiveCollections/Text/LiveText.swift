public import FanfareClient

/// A text that several users edit at the same time, on the main actor.
///
/// Local edits are in ``string`` immediately, and are sent shortly afterwards; remote edits arrive as splices. Editing
/// works offline, and edits are merged afterwards: no typed text is overwritten.
///
/// ```swift
/// let text = LiveText(from: source)
/// text.observe { splice in view.apply(splice) }  // before start(), so that none is missed
/// text.start()
/// try text.replace(0..<0, with: "Hello")
/// ```
@MainActor
public final class LiveText {
    /// The state of the connection to the backend.
    public enum Status: Hashable, Sendable {
        /// The text has not been loaded.
        case loading
        /// Remote edits arrive as they are made.
        case live
        /// The backend cannot be reached; local edits are kept.
        case offline(reason: String)
    }

    /// The delays and limits of a text.
    public struct Options: Sendable {
        /// The time for which edits are coalesced before they are sent.
        public var sendingDelay: Duration = .milliseconds(80)
        /// The delay after the first failure, and the maximum to which it doubles.
        public var retryDelay: ClosedRange<Duration> = .seconds(1) ... .seconds(15)
        /// The limits of the text.
        public var limits = TextLimits()
        /// Waits; a test can replace it to control time.
        public var sleep: @Sendable (Duration) async throws -> Void = {
            try await ContinuousClock().sleep(for: $0)
        }

        /// Creates the default options.
        public init() {}
    }

    let source: any TextSource
    let options: Options
    var session: TextSession
    /// The running tasks; cancelled when the text is released.
    var tasks: [Task<Void, Never>] = []
    var fetching: RequestLoop
    var sending: RequestLoop
    let refusalObservers = Observers<RefusedEdits>()
    private let observers = Observers<TextSplice>()
    private let statusObservers = Observers<Status>()
    private let readers = TextUpdateReaders()

    /// Whether the source sends entries.
    var isConnected = false
    /// The last failures, until the next success.
    var failures = Failures() {
        didSet { updateStatus() }
    }

    /// The reasons for which the backend cannot be reached.
    struct Failures {
        var connection: String?
        var fetching: String?
        var sending: String?

        /// The first reason.
        var reason: String? { connection ?? fetching ?? sending }
    }

    /// The state of the connection to the backend.
    public private(set) var status = Status.loading {
        didSet { if status != oldValue { statusObservers.send(status) } }
    }

    /// Creates a text; ``start()`` connects it.
    ///
    /// - Parameters:
    ///   - source: The source of the text.
    ///   - unsent: The ``unsent`` edits of an earlier run of the app.
    ///   - options: The delays and limits.
    public init(
        from source: some TextSource,
        unsent: [TextBatch] = [],
        options: Options = Options()
    ) {
        self.source = source
        self.options = options
        session = TextSession(replica: .random(), unsent: unsent, limits: options.limits)
        fetching = RequestLoop(options)
        sending = RequestLoop(options)
    }

    deinit {
        for task in tasks { task.cancel() }
        readers.finish()
    }

    // MARK: The text

    /// The text, including all local edits.
    public var string: String { session.document.string }

    /// The number of UTF-16 units of the text.
    public var utf16Count: Int { session.document.utf16Count }

    /// Whether the text has been loaded; earlier edits are applied when it is loaded.
    public var isLoaded: Bool { session.isLoaded }

    /// The local edits that the backend has not confirmed; store them to keep them when the app ends.
    ///
    /// Refused edits are removed from it when ``observeRefusals(_:)`` reports them.
    public var unsent: [TextBatch] { session.unsent }

    /// Edits the text.
    ///
    /// - Parameters:
    ///   - range: The range to replace, in UTF-16 offsets.
    ///   - text: The replacement; may be empty.
    /// - Throws: ``TextError/outOfBounds(range:length:)``, ``TextError/insideScalar(offset:)`` or
    ///   ``TextError/tooLong(length:limit:)``; the text is then unchanged.
    public func replace(_ range: Range<Int>, with text: String) throws(TextError) {
        let count = utf16Count
        try session.replace(range, with: text)
        if !range.isEmpty || !text.isEmpty {
            readers.send([TextSplice(range, text)], before: count) { string }
        }
        sending.wake()
    }

    /// Edits the text.
    ///
    /// - Parameters:
    ///   - range: The range to replace, in indices of ``string``.
    ///   - text: The replacement; may be empty.
    /// - Throws: ``TextError/insideScalar(offset:)`` or ``TextError/tooLong(length:limit:)``.
    public func replace(_ range: Range<String.Index>, with text: String) throws(TextError) {
        let string = string
        let start = range.lowerBound.utf16Offset(in: string)
        try replace(start..<range.upperBound.utf16Offset(in: string), with: text)
    }

    /// Returns an anchor: a position that moves with the text around it.
    ///
    /// - Parameters:
    ///   - offset: A UTF-16 offset; limited to the end.
    ///   - bias: The neighbour to which the anchor is attached.
    /// - Returns: The anchor.
    public func anchor(at offset: Int, bias: TextAnchor.Bias = .left) -> TextAnchor {
        session.document.anchor(at: offset, bias: bias)
    }

    /// Returns an anchor: a position that moves with the text around it.
    ///
    /// - Parameters:
    ///   - index: An index of ``string``.
    ///   - bias: The neighbour to which the anchor is attached.
    /// - Returns: The anchor.
    public func anchor(at index: String.Index, bias: TextAnchor.Bias = .left) -> TextAnchor {
        anchor(at: index.utf16Offset(in: string), bias: bias)
    }

    /// Returns the current offset of an anchor.
    ///
    /// - Parameter anchor: The anchor, local or received.
    /// - Returns: The UTF-16 offset; `nil` when the neighbour has not arrived or was compacted away.
    public func offset(of anchor: TextAnchor) -> Int? { session.document.offset(of: anchor) }

    // MARK: Observing

    /// Calls `body` with each remote edit, synchronously; ``string`` then contains all edits received with it.
    ///
    /// A text view that applies the splices always matches the text when its user types.
    ///
    /// - Parameter body: Applies one splice, whose offsets refer to the text after the previous splice.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func observe(_ body: @escaping @MainActor (TextSplice) -> Void) -> ListenerToken {
        observers.add(body)
    }

    /// Calls `body` when ``status`` changes.
    @discardableResult
    public func observeStatus(_ body: @escaping @MainActor (Status) -> Void) -> ListenerToken {
        statusObservers.add(body)
    }

    /// Calls `body` with local edits that the backend refused, after they have been reverted.
    ///
    /// Only the refused batch and the edits that depend on it are reverted; all others stay and are sent.
    ///
    /// - Parameter body: Shows or stores the edits, or applies them again elsewhere.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func observeRefusals(_ body: @escaping @MainActor (RefusedEdits) -> Void)
        -> ListenerToken
    {
        refusalObservers.add(body)
    }

    /// The changes of the text from now on, including local ones, as a sequence.
    ///
    /// Updates are coalesced, not queued: a slow reader receives one update with all changes since its last. The
    /// sequence is asynchronous; use ``observe(_:)`` for a view in which the user types. It ends with the text.
    public var updates: TextUpdates { TextUpdates(readers) }

    /// Notifies observers and readers of remote changes, for a text that had `count` UTF-16 units before them.
    func notify(_ splices: [TextSplice], before count: Int) {
        guard !splices.isEmpty else { return }
        readers.send(splices, before: count) { string }
        for splice in splices { observers.send(splice) }
    }

    /// Updates ``status`` after a success, a failure or a change of the connection.
    func updateStatus() {
        if let reason = failures.reason {
            status = .offline(reason: reason)
        } else if isConnected, session.fetch == nil {
            status = .live
        }
    }
}
