import HTTP1
public import Net

/// A stream that carries HTTP/1.1: requests in, answers out in the same order.
///
/// All answers to the requests of one read leave in one buffer. While no request is under way a
/// connection holds a timer and its place at the site, and no buffer.
public final class HTTPConnection: StreamDelegate {
    /// The part of a request that has come, and what was made of it.
    struct Reading {
        /// What becomes of the content that is to come.
        enum Content {
            /// None is to come, or it is empty and its request is answered.
            case none
            /// It is collected for the receiver.
            case accepted(RequestHead, any HTTPContentReceiver)
            /// It is dropped as it arrives: the request is answered by its head.
            case discarded
        }

        var parser: RequestParser
        var content = Content.none
        /// Whether the client waits to be told that it may send the content.
        var owesContinue = false

        init(limits: HTTPLimits) { parser = RequestParser(limits: limits) }
    }

    /// Keeps a request that came in part; there is none while the connection is idle.
    ///
    /// The memory of its content counts as inbound as long as the object exists, however it comes to its end.
    final class Unfinished {
        var reading: Reading
        private let inbound: InboundBudget
        private let byteCount: Int

        init(_ reading: Reading, inbound: InboundBudget) {
            self.reading = reading
            self.inbound = inbound
            byteCount = reading.parser.collectedByteCount
            inbound.charge(byteCount)
        }

        deinit { inbound.refund(byteCount) }
    }

    /// Answers gathered past this many bytes are handed to the stream; and while as many are queued
    /// there, no request is read: a client that asks without reading the answers must not grow our
    /// memory.
    static var outputLengthMax: Int { 256 << 10 }
    /// While the contents of unanswered requests have as many bytes, no other request is read.
    private static var unansweredLengthMax: Int { 64 << 10 }

    /// The longest content of a request answered by its head that is discarded to keep the connection, in bytes: longer
    /// content costs more than a new connection.
    private static var discardedLengthMax: Int { 256 << 10 }

    let site: HTTPSite
    /// The stream, from its opening, or when it was accepted, until it ends or is handed over.
    private(set) var stream: Stream?
    /// Where the site keeps the connection.
    var place: Int?

    var unfinished: Unfinished?
    /// The first request, and the last, that could not be answered at once.
    var first: HTTPExchange?
    private var last: HTTPExchange?
    private var unansweredCount = 0
    /// The contents of the requests that are not answered, in bytes: whoever has to answer them may hold them.
    private var unansweredLength = 0
    /// Whether a request is just being dealt with that is the only one: nearly every one is answered before its exchange
    /// would need a place in the queue.
    private var isAnswering = false
    /// Answers of the read under way; whoever appends to them knows nothing else of this: exclusive access is unchecked.
    @exclusivity(unchecked) private var output: [UInt8] = []

    // Who is waited for, and how long: see HTTPPatience.swift.
    var timer: TimerID?
    var wait = Wait.nothing
    var deadline: MonotonicTime

    /// Whether bytes are lent at the moment: what is answered now waits for the others.
    private var isLent = false
    /// Whether another request is read: not after the last one, nor after a refusal.
    private(set) var takesRequests = true
    private var isPaused = false
    /// Whether the stream's queue has to go before another request is read.
    var awaitsQueue = false
    /// Whether nothing behind the last request may be read as HTTP before its outcome is known.
    private var lastMayUpgrade = false

    /// Makes the owner of a stream that is not open yet.
    ///
    /// - Parameter site: What it shares with other connections.
    public convenience init(site: HTTPSite) { self.init(site: site, stream: nil) }

    /// Makes the owner of a stream that was just accepted, or is to come.
    init(site: HTTPSite, stream: Stream?) {
        self.site = site
        self.stream = stream
        deadline = site.reactor.now
    }

    /// Whether requests have to wait: for answers, for an upgrade, or for the client to read.
    var isHeldUp: Bool {
        unansweredCount >= site.unansweredMax || unansweredLength >= Self.unansweredLengthMax
            || lastMayUpgrade || awaitsQueue
    }

    // MARK: The stream

    /// Begins to wait for a request.
    public func streamOpened(_ stream: Stream) {
        if self.stream == nil {
            self.stream = stream
            site.add(self)
        }
        watchClient()
    }

    /// Reads requests and hands them to the responder.
    public func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        guard takesRequests else { return bytes.count }
        var reading = unfinished.take()?.reading ?? Reading(limits: site.limits)
        var index = 0
        isLent = true
        let hasCompleted = read(bytes.span, &index, &reading)
        isLent = false
        // Handed over: the rest is the new owner's.
        guard self.stream != nil else { return index }
        // Before the client is told to send it: what has arrived of others has to go first.
        if reading.isAwaitingContent, site.reactor.inbound.isExhausted { refuseContent() }
        offerContinue(&reading)
        writeOutput()
        guard takesRequests else { return bytes.count }
        if !reading.parser.isBetweenRequests || index < bytes.count && !isHeldUp {
            unfinished = Unfinished(reading, inbound: site.reactor.inbound)
        }
        if isHeldUp, !isPaused {
            isPaused = true
            stream.pauseReading()
        }
        watchClient(restarts: hasCompleted)
        return index
    }

    /// The client sends no more; what it has asked for is still answered.
    public func streamReachedEnd(_ stream: Stream) { takeNoMore() }

    /// Goes on when the client has taken what was queued for it.
    public func streamDrained(_ stream: Stream) { queueHasGone() }

    /// Lets go of everything.
    public func streamClosed(_ stream: Stream, error: StreamError?) {
        leave()
        if let error { site.responder.failed(error) }
    }

    // MARK: Requests

    /// Reads as many requests as may be read now; true if one of them was completed.
    private func read(
        _ bytes: Span<UInt8>,
        _ index: inout Int,
        _ reading: inout Reading
    ) -> Bool {
        var hasCompleted = false
        while takesRequests, !isHeldUp, stream?.isClosing == false {
            do throws(HTTPError) {
                switch try reading.parser.advance(over: bytes, from: &index) {
                case .needsMore: return hasCompleted
                case .head(let head): begin(head, &reading)
                case .content(let content):
                    hasCompleted = true
                    reading.owesContinue = false
                    if case .accepted(let head, let receiver) = reading.takeContent() {
                        content.withBytes(in: bytes) { dispatch(head, to: receiver, $0) }
                    }
                }
            } catch {
                // Its request has its answer: a second one would be taken for the next request's.
                if reading.isDiscarding { takeNoMore() } else { refuse(error) }
            }
            if output.count > Self.outputLengthMax { writeOutput() }
        }
        return hasCompleted
    }

    private func begin(_ head: RequestHead, _ reading: inout Reading) {
        guard head.method != .connect else {
            // What follows would be another protocol's.
            return refuse(.methodUnsupported(.connect))
        }
        switch site.responder.decide(on: head) {
        case .accept(let receiver):
            reading.content = .accepted(head, receiver)
            reading.owesContinue = head.expectsContinue
        case .answer(var response):
            if head.hasContent {
                let lengthMax = Self.discardedLengthMax
                if head.expectsContinue || head.contentLength ?? 0 > lengthMax {
                    // What follows, if anything does, would be taken for the next request.
                    response.closesConnection = true
                } else {
                    reading.content = .discarded
                    reading.parser.discardContent(lengthMax: lengthMax)
                }
            }
            if response.closesConnection || !head.keepAlive { takesRequests = false }
            makeExchange(head.answerFraming).respond(response)
        }
    }

    private func dispatch(
        _ head: RequestHead,
        to receiver: any HTTPContentReceiver,
        _ body: Span<UInt8>
    ) {
        if !head.keepAlive { takesRequests = false }
        var exchange = makeExchange(head.answerFraming, contentLength: body.count)
        lastMayUpgrade = true
        receiver.respond(to: head, body: body, on: exchange)
        if isAnswering { enqueue(exchange) }
        if !head.isUpgrade, exchange.outcome?.isUpgrade != true { lastMayUpgrade = false }
        if isKnownUniquelyReferenced(&exchange) { site.spareExchange = exchange }
    }

    /// Answers for the last time, when there is no request to give to the responder.
    func refuse(_ error: HTTPError) {
        site.responder.refused(error, whileWaitingFor: wait)
        respondLast(Response(refusing: error))
    }

    /// Refuses a request whose content has come in part, or is to come, when there is no memory for it.
    private func refuseContent() {
        site.responder.contentRefused()
        respondLast(
            .tryAgain("The server has more unprocessed requests and events than it may hold")
        )
    }

    /// Answers what has come of a request, and reads no more.
    func respondLast(_ response: Response) {
        takesRequests = false
        unfinished = nil
        makeExchange(AnswerFraming()).respond(response)
    }

    /// Makes the exchange of a request, which is queued if there are others before it.
    private func makeExchange(_ framing: AnswerFraming, contentLength: Int = 0) -> HTTPExchange {
        let exchange = site.spareExchange.take() ?? HTTPExchange()
        exchange.begin(framing, contentLength: contentLength, on: self)
        if first == nil { isAnswering = true } else { enqueue(exchange) }
        return exchange
    }

    private func enqueue(_ exchange: HTTPExchange) {
        isAnswering = false
        if let last { last.next = exchange } else { first = exchange }
        last = exchange
        unansweredCount += 1
        unansweredLength += exchange.contentLength
    }

    // MARK: Answers

    /// Whether nothing has been read behind this exchange's request.
    func canUpgrade(_ exchange: HTTPExchange) -> Bool {
        lastMayUpgrade && (isAnswering || exchange === last)
    }

    /// An exchange has its outcome: sends all whose turn it is.
    func settle(_ exchange: HTTPExchange, _ outcome: consuming HTTPExchange.Outcome) {
        if !outcome.isUpgrade, isAnswering || exchange === last { lastMayUpgrade = false }
        guard isAnswering || exchange === first else { return exchange.outcome = outcome }
        carryOut(outcome, of: exchange)
        while let exchange = first, let outcome = exchange.outcome.take() {
            carryOut(outcome, of: exchange)
        }
        guard !isLent, stream != nil else { return }
        if let unfinished { offerContinue(&unfinished.reading) }
        writeOutput()
        resumeIfPossible()
        watchClient()
    }

    private func carryOut(_ outcome: consuming HTTPExchange.Outcome, of exchange: HTTPExchange) {
        if isAnswering {
            isAnswering = false
        } else {
            first = exchange.next
            if first == nil { last = nil }
            unansweredCount -= 1
            unansweredLength -= exchange.contentLength
        }
        exchange.detach()
        switch consume outcome {
        case .response(let response): append(response, exchange.framing)
        case .prepared(let prepared): append(prepared, exchange.framing)
        case .upgrade(let entry): handOver(by: entry)
        }
    }

    private func append(_ response: Response, _ framing: AnswerFraming) {
        var framing = framing
        if isLast || response.closesConnection { framing.keepAlive = false }
        response.append(to: &output, for: framing, date: site.currentDate())
        if !framing.keepAlive { close() }
    }

    private func append(_ prepared: PreparedResponse, _ framing: AnswerFraming) {
        guard !isLast, framing.keepAlive else { return append(prepared.response, framing) }
        prepared.append(to: &output, for: framing, date: site.currentDate())
    }

    /// Whether no answer is owed.
    var hasAnsweredAll: Bool { first == nil && !isAnswering }

    /// Whether the answer that is being sent is the last one of the connection.
    private var isLast: Bool { first == nil && (site.isFinishing || !takesRequests) }

    /// Sends 100 (Continue) if the client waits for it and it is its turn.
    private func offerContinue(_ reading: inout Reading) {
        guard reading.owesContinue, first == nil, takesRequests else { return }
        reading.owesContinue = false
        output.append(contentsOf: Response.continue)
    }

    private func writeOutput() {
        guard !output.isEmpty, let stream else { return }
        stream.write(exchange(&output, with: []))
        if stream.queuedByteCount > Self.outputLengthMax { awaitQueue() }
    }

    /// Reads on, beginning with what was kept, if nothing stands against it any more.
    func resumeIfPossible() {
        guard isPaused, !isLent, !isHeldUp, takesRequests else { return }
        isPaused = false
        stream?.resumeReading()
    }

    // MARK: The end

    /// Reads no more, and closes when everything is answered.
    func takeNoMore() {
        takesRequests = false
        unfinished = nil
        if hasAnsweredAll { close() } else { watchClient() }
    }

    /// Sends what is gathered and closes; requests not answered are dropped.
    func close() { close(within: site.timeouts.closing) }

    /// The same, with a limit of its own for the client's end.
    func close(within limit: Duration) {
        writeOutput()
        takesRequests = false
        unfinished = nil
        dropExchanges()
        watchClient()
        // From here on the client is waited for to close; see HTTPRoom.swift.
        deadline = site.reactor.now
        stream?.close(within: limit)
    }

    /// Makes room for another protocol.
    private func handOver(by entry: HTTPExchange.Entry) {
        guard let stream = stream.take() else { return }
        var output = exchange(&output, with: [])
        leave()
        let owner = entry(stream, &output)
        stream.write(output)
        stream.delegate = owner
        if isPaused { stream.resumeReading() }
        owner.streamOpened(stream)
    }

    func leave() {
        site.remove(self)
        stream = nil
        takesRequests = false
        unfinished = nil
        output = []
        dropExchanges()
        if let timer = timer.take() { site.reactor.cancel(timer) }
    }

    private func dropExchanges() {
        var next = first
        while let exchange = next {
            next = exchange.next
            exchange.detach()
        }
        first = nil
        last = nil
        lastMayUpgrade = false
        unansweredCount = 0
        unansweredLength = 0
    }
}

extension HTTPConnection.Reading {
    /// Whether a request was accepted whose content is not whole yet.
    var isAwaitingContent: Bool {
        if case .accepted = content { true } else { false }
    }

    /// Whether the content of a request that is answered is being dropped.
    var isDiscarding: Bool {
        if case .discarded = content { true } else { false }
    }

    /// Whether the content of a request is to come.
    var isInContent: Bool { isAwaitingContent || isDiscarding }

    /// Takes out what becomes of the content that is whole now.
    mutating func takeContent() -> Content { exchange(&content, with: .none) }
}
