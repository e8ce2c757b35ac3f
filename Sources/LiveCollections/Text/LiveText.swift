/// A text that several people edit at the same time, as the main actor sees it.
///
/// Edits made here are in ``string`` at once and sent soon after; edits made elsewhere arrive as splices. Offline
/// one goes on typing, and all is put together afterwards. Nothing that somebody typed is overwritten by another.
///
/// ```swift
/// let text = LiveText(from: source)
/// text.observe { splice in view.apply(splice) }  // before start(), so that none is missed
/// text.start()
/// try text.replace(0..<0, with: "Hello")
/// ```
@MainActor
public final class LiveText {
    /// How the text stands with its backend.
    public enum Status: Hashable, Sendable {
        /// The text has not been loaded.
        case loading
        /// Edits arrive as they are made.
        case live
        /// The backend cannot be reached; edits are kept.
        case offline(reason: String)
    }

    /// What a text does by itself.
    public struct Options: Sendable {
        /// How long typing is gathered before it is sent.
        public var sendingDelay: Duration = .milliseconds(80)
        /// How long to wait after a failure, and the longest that this grows to by doubling.
        public var retryDelay: ClosedRange<Duration> = .seconds(1) ... .seconds(15)
        /// What the text may take, and hold for others.
        public var limits = TextLimits()
        /// Waits; a test's own lets time pass as it wants.
        public var sleep: @Sendable (Duration) async throws -> Void = {
            try await ContinuousClock().sleep(for: $0)
        }

        /// The default of each.
        public init() {}
    }

    private let source: any TextSource
    private let options: Options
    private var session: TextSession
    private var tasks: [Task<Void, Never>] = []
    private var observers = TextObservers<TextSplice>()
    private var updateObservers = TextObservers<TextUpdate>()
    private var statusObservers = TextObservers<Status>()
    private var refusalObservers = TextObservers<String>()
    /// Wakes the task that sends.
    private var wake: AsyncStream<Void>.Continuation?
    private var isConnected = false

    /// How the text stands with its backend.
    public private(set) var status = Status.loading {
        didSet { if status != oldValue { statusObservers.send(status) } }
    }

    /// Opens a text; nothing happens before ``start()``.
    ///
    /// - Parameters:
    ///   - source: Where the text comes from.
    ///   - unsent: What an earlier run of the app edited and kept from ``unsent``.
    ///   - options: What the text does by itself.
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

    /// The text with all that was edited here.
    public var string: String { session.document.string }

    /// How many UTF-16 units the text has.
    public var utf16Count: Int { session.document.utf16Count }

    /// Whether the text has been loaded; before that, edits are added to it when it is.
    public var isLoaded: Bool { session.isLoaded }

    /// What was edited here and is not known to be taken: an app that may be ended keeps it.
    public var unsent: [TextBatch] { session.unsent }

    /// Edits the text.
    ///
    /// - Parameters:
    ///   - range: What to replace, in UTF-16 offsets.
    ///   - text: What takes its place; may be empty.
    /// - Throws: ``TextError/outOfBounds(range:length:)``, ``TextError/insideScalar(offset:)`` or
    ///   ``TextError/tooLong(length:limit:)``; then nothing has changed.
    public func replace(_ range: Range<Int>, with text: String) throws(TextError) {
        try session.replace(range, with: text)
        wake?.yield()
    }

    /// Edits the text.
    ///
    /// - Parameters:
    ///   - range: What to replace, in indices of ``string``.
    ///   - text: What takes its place; may be empty.
    /// - Throws: ``TextError/insideScalar(offset:)`` or ``TextError/tooLong(length:limit:)``.
    public func replace(_ range: Range<String.Index>, with text: String) throws(TextError) {
        let string = string
        let start = range.lowerBound.utf16Offset(in: string)
        try replace(start..<range.upperBound.utf16Offset(in: string), with: text)
    }

    /// A place that moves along with the text around it.
    ///
    /// - Parameters:
    ///   - offset: A UTF-16 offset; beyond the text it counts as its end.
    ///   - bias: Which neighbour the place keeps to.
    /// - Returns: The place.
    public func anchor(at offset: Int, bias: TextAnchor.Bias = .left) -> TextAnchor {
        session.document.anchor(at: offset, bias: bias)
    }

    /// A place that moves along with the text around it.
    ///
    /// - Parameters:
    ///   - index: An index of ``string``.
    ///   - bias: Which neighbour the place keeps to.
    /// - Returns: The place.
    public func anchor(at index: String.Index, bias: TextAnchor.Bias = .left) -> TextAnchor {
        anchor(at: index.utf16Offset(in: string), bias: bias)
    }

    /// Where a place is now.
    ///
    /// - Parameter anchor: The place, made here or received from elsewhere.
    /// - Returns: Its UTF-16 offset; `nil` when its neighbour has not come yet, or is gone for good.
    public func offset(of anchor: TextAnchor) -> Int? { session.document.offset(of: anchor) }

    // MARK: Observing

    /// Calls back with each edit made elsewhere, at once, while ``string`` is the text after it and those with it.
    ///
    /// This is what a text view needs: what it shows and the text never differ when somebody types.
    ///
    /// - Parameter body: Applies one splice; offsets count in the text after the splice before.
    /// - Returns: What to end it by.
    @discardableResult
    public func observe(_ body: @escaping @MainActor (TextSplice) -> Void) -> TextObservation {
        observers.add(body)
    }

    /// Calls back when ``status`` changes.
    @discardableResult
    public func observeStatus(_ body: @escaping @MainActor (Status) -> Void) -> TextObservation {
        statusObservers.add(body)
    }

    /// Calls back with a sentence when edits made here are refused and taken back.
    @discardableResult
    public func observeRefusals(_ body: @escaping @MainActor (String) -> Void) -> TextObservation {
        refusalObservers.add(body)
    }

    /// The edits made elsewhere, from now on, as they were taken in together.
    ///
    /// A task reads them a moment after they have happened: a view in which somebody types meanwhile is rather told by
    /// ``observe(_:)``. Who is 64 of them late misses the oldest, never the latest, and each tells the whole text.
    public var updates: AsyncStream<TextUpdate> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TextUpdate.self,
            bufferingPolicy: .bufferingNewest(64)
        )
        let observation = updateObservers.add { continuation.yield($0) }
        continuation.onTermination = { _ in
            Task { @MainActor in observation.end() }
        }
        return stream
    }

    private func tell(_ splices: [TextSplice]) {
        guard !splices.isEmpty else { return }
        for splice in splices { observers.send(splice) }
        guard !updateObservers.isEmpty else { return }
        updateObservers.send(TextUpdate(splices: splices, string: string))
    }

    // MARK: Running

    /// Begins to load, to receive and to send, until ``stop()`` or until the text is let go.
    public func start() {
        guard tasks.isEmpty else { return }
        let (wakes, wake) = AsyncStream.makeStream(
            of: Void.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        self.wake = wake
        tasks = [
            Task { [weak self, source] in
                for await news in source.news() {
                    guard let text = self else { return }
                    text.take(news)
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

    /// Ends loading, receiving and sending; the text stays, and with it what is unsent.
    public func stop() {
        for task in tasks { task.cancel() }
        tasks = []
        wake = nil
        isConnected = false
    }

    private func take(_ news: TextSourceEvent) {
        switch news {
        case .connected:
            isConnected = true
            session.reconnected()
        case .disconnected(let reason):
            isConnected = false
            status = .offline(reason: reason)
        case .entry(let entry): tell(session.receive(entry))
        }
    }

    /// Asks for whatever is missing, until nothing is or nobody answers any more.
    private func fetch() async {
        var delay = options.retryDelay.lowerBound
        while let question = session.fetch, isConnected || !session.isLoaded, !Task.isCancelled {
            do {
                let answer: TextRecovery =
                    switch question {
                    case .snapshot: .snapshot(try await source.snapshot())
                    case .entries(let serial, let epoch):
                        try await source.recovery(after: serial, epoch: epoch)
                    }
                tell(session.fetched(answer))
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

    /// Sends what is unsent, batch after batch.
    private func send() async {
        guard session.isLoaded, !session.unsent.isEmpty else { return }
        guard (try? await options.sleep(options.sendingDelay)) != nil else { return }
        var delay = options.retryDelay.lowerBound
        while let batch = session.nextBatch() {
            do {
                try await source.send(batch)
                _ = session.sent(batch, outcome: .taken)
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

/// A callback's place on a text; the callback goes on without it.
@MainActor
public final class TextObservation {
    private let remove: @MainActor () -> Void

    init(_ remove: @escaping @MainActor () -> Void) { self.remove = remove }

    /// Ends the callback: once this returns it is not called again.
    public func end() { remove() }
}

/// Callbacks in the order in which they were added.
@MainActor
private final class TextObservers<Value> {
    private var bodies: [Int: @MainActor (Value) -> Void] = [:]
    private var count = 0

    var isEmpty: Bool { bodies.isEmpty }

    func add(_ body: @escaping @MainActor (Value) -> Void) -> TextObservation {
        count += 1
        let key = count
        bodies[key] = body
        return TextObservation { [weak self] in self?.bodies[key] = nil }
    }

    func send(_ value: Value) {
        for key in bodies.keys.sorted() { bodies[key]?(value) }
    }
}
