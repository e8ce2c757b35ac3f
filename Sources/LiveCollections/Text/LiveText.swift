public import FanfareClient

/// A text that several users edit at the same time, on the main actor.
///
/// Local edits are in ``string`` immediately and sent soon after; remote edits arrive as splices. Editing works
/// offline, and edits are merged afterwards: no typed text is overwritten.
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
        /// How long edits are coalesced before they are sent.
        public var sendingDelay: Duration = .milliseconds(80)
        /// The delay after a first failure, and the maximum to which it grows by doubling.
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

    private let source: any TextSource
    private let options: Options
    private var session: TextSession
    private var tasks: [Task<Void, Never>] = []
    private let observers = Observers<TextSplice>()
    private let updateObservers = Observers<TextUpdate>()
    private let statusObservers = Observers<Status>()
    private let refusalObservers = Observers<String>()
    /// Wakes the sending task.
    private var wake: AsyncStream<Void>.Continuation?
    private var isConnected = false

    /// The state of the connection to the backend.
    public private(set) var status = Status.loading {
        didSet { if status != oldValue { statusObservers.send(status) } }
    }

    /// Creates a text; ``start()`` connects it.
    ///
    /// - Parameters:
    ///   - source: The source of the text.
    ///   - unsent: The ``unsent`` edits of an earlier run of the app.
    ///   - options: Delays and limits.
    public init(
        from source: some TextSource,
        unsent: [TextBatch] = [],
        options: Options = Options()
    ) {
        self.source = source
        self.options = options
        session = TextSession(replica: .random(), unsent: unsent, limits: options.limits)
    }

    deinit { for task in tasks { task.cancel() } }

    // MARK: The text

    /// The text, including all local edits.
    public var string: String { session.document.string }

    /// The number of UTF-16 units of the text.
    public var utf16Count: Int { session.document.utf16Count }

    /// Whether the text has been loaded; earlier edits are applied when it is loaded.
    public var isLoaded: Bool { session.isLoaded }

    /// The local edits that the backend has not confirmed; store them to keep them when the app ends.
    public var unsent: [TextBatch] { session.unsent }

    /// Edits the text.
    ///
    /// - Parameters:
    ///   - range: The range to replace, in UTF-16 offsets.
    ///   - text: The replacement; may be empty.
    /// - Throws: ``TextError/outOfBounds(range:length:)``, ``TextError/insideScalar(offset:)`` or
    ///   ``TextError/tooLong(length:limit:)``; the text is then unchanged.
    public func replace(_ range: Range<Int>, with text: String) throws(TextError) {
        try session.replace(range, with: text)
        wake?.yield()
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

    /// Calls back with each remote edit, synchronously; ``string`` then contains all edits received with it.
    ///
    /// A text view that applies the splices always matches the text when its user types.
    ///
    /// - Parameter body: Applies one splice; its offsets are those after the previous splice.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func observe(_ body: @escaping @MainActor (TextSplice) -> Void) -> ListenerToken {
        observers.add(body)
    }

    /// Calls back when ``status`` changes.
    @discardableResult
    public func observeStatus(_ body: @escaping @MainActor (Status) -> Void) -> ListenerToken {
        statusObservers.add(body)
    }

    /// Calls back with the reason when local edits are refused and reverted.
    @discardableResult
    public func observeRefusals(_ body: @escaping @MainActor (String) -> Void) -> ListenerToken {
        refusalObservers.add(body)
    }

    /// The remote edits from now on, as a sequence of batches.
    ///
    /// The sequence is asynchronous: use ``observe(_:)`` for a view in which the user types. Up to 64 updates are
    /// buffered; when the buffer is full, the oldest is dropped. Each update contains the whole text.
    public var updates: AsyncStream<TextUpdate> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TextUpdate.self,
            bufferingPolicy: .bufferingNewest(64)
        )
        let token = updateObservers.add { continuation.yield($0) }
        continuation.onTermination = { _ in token.cancel() }
        return stream
    }

    private func notify(_ splices: [TextSplice]) {
        guard !splices.isEmpty else { return }
        for splice in splices { observers.send(splice) }
        guard !updateObservers.isEmpty else { return }
        updateObservers.send(TextUpdate(splices: splices, string: string))
    }

    // MARK: Running

    /// Loads the text, receives and sends edits, until ``stop()`` or until the text is released.
    public func start() {
        guard tasks.isEmpty else { return }
        let (wakes, wake) = AsyncStream.makeStream(
            of: Void.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        self.wake = wake
        tasks = [
            Task { [weak self, source] in
                for await event in source.news() {
                    guard let text = self else { return }
                    text.handle(event)
                    await text.fetch()
                }
            },
            Task { [weak self] in
                for await _ in wakes {
                    guard let text = self else { return }
                    await text.send()
                }
            },
        ]
        wake.yield()
    }

    /// Stops loading, receiving and sending; the text and its unsent edits stay.
    public func stop() {
        for task in tasks { task.cancel() }
        tasks = []
        wake = nil
        isConnected = false
    }

    private func handle(_ event: TextSourceEvent) {
        switch event {
        case .connected:
            isConnected = true
            session.reconnected()
        case .disconnected(let reason):
            isConnected = false
            status = .offline(reason: reason)
        case .entry(let entry): notify(session.receive(entry))
        }
    }

    /// Fetches missing entries or the text, with retries, until nothing is missing.
    private func fetch() async {
        var delay = options.retryDelay.lowerBound
        while let request = session.fetch, isConnected || !session.isLoaded, !Task.isCancelled {
            do {
                let answer: TextRecovery =
                    switch request {
                    case .snapshot: .snapshot(try await source.snapshot())
                    case .entries(let serial, let epoch):
                        try await source.recovery(after: serial, epoch: epoch)
                    }
                notify(session.fetched(answer))
                delay = options.retryDelay.lowerBound
            } catch {
                status = .offline(reason: "\(error)")
                guard (try? await options.sleep(delay)) != nil else { return }
                delay = min(delay * 2, options.retryDelay.upperBound)
            }
        }
        if isConnected, !Task.isCancelled { status = .live }
        wake?.yield()
    }

    /// Sends the unsent edits, one batch at a time.
    private func send() async {
        guard session.isLoaded, !session.unsent.isEmpty else { return }
        guard (try? await options.sleep(options.sendingDelay)) != nil else { return }
        var delay = options.retryDelay.lowerBound
        while let batch = session.nextBatch() {
            do {
                try await source.send(batch)
                _ = session.sent(batch, outcome: .accepted)
                delay = options.retryDelay.lowerBound
            } catch let refusal as TextRefusal {
                let reason = session.sent(batch, outcome: .refused(refusal))
                if let reason { refusalObservers.send(reason) }
                await fetch()
            } catch {
                _ = session.sent(batch, outcome: .unknown)
                guard (try? await options.sleep(delay)) != nil else { return }
                delay = min(delay * 2, options.retryDelay.upperBound)
            }
        }
    }
}
