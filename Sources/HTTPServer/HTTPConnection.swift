import HTTP1
public import Net

/// An HTTP/1.1 connection: reads requests, and sends responses in the same order.
///
/// All responses to the requests of one read are sent in one buffer. A connection without a request in progress has no
/// buffer.
public final class HTTPConnection: StreamDelegate {
    /// The state of reading a request.
    struct Reading {
        /// How the content that follows is handled.
        enum Content {
            /// No content follows, or it is empty and its request is answered.
            case none
            /// It is collected for the receiver.
            case accepted(RequestHead, any HTTPContentReceiver)
            /// It is dropped as it arrives, because the request was answered by its head.
            case discarded
        }

        var parser: RequestParser
        var content = Content.none
        /// Whether the client waits for 100 (Continue).
        var expectsContinue = false

        init(limits: HTTPLimits) { parser = RequestParser(limits: limits) }
    }

    /// An incomplete request; an idle connection has none.
    ///
    /// Its content is charged to the inbound budget as long as the object exists.
    final class PartialRequest {
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

    /// The length of collected responses past which they are written to the stream, in bytes.
    ///
    /// While more are queued there, no request is read, so that a client that does not read its responses cannot use up
    /// the memory.
    static var outputLengthMax: Int { 256 << 10 }
    /// The length of the contents of unanswered requests from which no other request is read, in bytes.
    private static var unansweredLengthMax: Int { 64 << 10 }

    /// The longest content that is discarded to keep a connection open, in bytes.
    ///
    /// Reading more costs more than a new connection.
    private static var discardedLengthMax: Int { 256 << 10 }

    // The order avoids padding, because a broker may have many connections.

    /// The peer's address; nil if the stream was not accepted.
    let peer: SocketAddress?
    /// Whether the only unanswered request is being processed now.
    ///
    /// Most are answered before their exchange has to be queued.
    private var isAnswering = false
    /// Whether a request was answered, so that the client may send another one at any time.
    private(set) var isKept = false
    /// Whether the request being read arrived after the idle timeout; its response closes the connection.
    private var isOverdue = false
    /// What the connection waits for; see HTTPTimeouts.swift.
    var wait = Wait.nothing
    /// Whether `stream(_:received:)` is running, so that its responses are collected.
    private var isReading = false
    /// Whether further requests are read; false after the last one or a refusal.
    private(set) var acceptsRequests = true
    private var isPaused = false
    /// Whether the client has ended its side.
    private(set) var hasClientEnded = false
    /// Whether the stream's queue has to be empty before another request is read.
    var awaitsDrain = false
    /// Whether bytes after the last request must not be read as HTTP before its outcome is known.
    private var lastMayUpgrade = false
    /// The index in the site's list.
    var siteIndex: Int?
    /// The timer of what the connection waits for.
    var timer: TimerID?
    /// Until when it waits.
    var deadline: MonotonicTime

    let site: HTTPSite
    /// The stream, from when it is accepted or opened until it ends or is upgraded.
    private(set) var stream: Stream?
    var partialRequest: PartialRequest?
    /// The first request that could not be answered at once; the head of a list up to `last`.
    var first: HTTPExchange?
    private var last: HTTPExchange?
    private var unansweredCount = 0
    /// The length of the contents of unanswered requests, in bytes; their receivers may have copied them.
    private var unansweredLength = 0
    /// The responses to the current read.
    ///
    /// Exclusive access is unchecked: the functions that append have no other access.
    @exclusivity(unchecked) private var output: [UInt8] = []

    /// Makes the delegate of a stream that is not open yet, for a connection of this site.
    public convenience init(site: HTTPSite) { self.init(site: site, stream: nil, peer: nil) }

    /// Makes the delegate of a stream that was just accepted, or that `streamOpened` will set.
    init(site: HTTPSite, stream: Stream?, peer: SocketAddress?) {
        self.site = site
        self.peer = peer
        self.stream = stream
        deadline = site.reactor.now
    }

    /// Whether further requests have to wait: for responses, for an upgrade, or for the client to read.
    var isBlocked: Bool {
        unansweredCount >= site.unansweredMax || unansweredLength >= Self.unansweredLengthMax
            || lastMayUpgrade || awaitsDrain
    }

    // MARK: The stream

    /// Starts waiting for a request.
    public func streamOpened(_ stream: Stream) {
        if self.stream == nil {
            self.stream = stream
            site.add(self)
        }
        watchClient()
    }

    /// Reads requests and passes them to their receivers.
    public func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        guard acceptsRequests else { return bytes.count }
        if isKept, wait == .idle { isOverdue = site.isOverdue(until: deadline) }
        var reading = partialRequest.take()?.reading ?? Reading(limits: site.limits)
        if bytes[0] == Self.tlsHandshake, reading.parser.isBetweenRequests {
            site.responder.mistookProtocol(.tlsOnPlainPort, on: stream)
            let text = "This port has no TLS, and a TLS handshake was sent: use http:// or ws://\n"
            respondLast(.text(text, status: 400))
            return bytes.count
        }
        var index = 0
        isReading = true
        let hasCompleted = read(bytes.span, &index, &reading)
        isReading = false
        // Upgraded: the rest is for the new delegate.
        guard self.stream != nil else { return index }
        // Before a 100 (Continue): there is no memory for more content until other input is processed.
        if reading.isAwaitingContent, site.reactor.inbound.isExhausted { refuseContent() }
        offerContinue(&reading)
        writeOutput()
        guard acceptsRequests else { return bytes.count }
        if !reading.parser.isBetweenRequests || index < bytes.count && !isBlocked {
            partialRequest = PartialRequest(reading, inbound: site.reactor.inbound)
        }
        if isBlocked, !isPaused {
            isPaused = true
            stream.pauseReading()
        }
        watchClient(restarts: hasCompleted)
        return index
    }

    /// The first byte of a TLS client (RFC 8446 §5.1); no request begins with it.
    private static var tlsHandshake: UInt8 { 22 }

    /// Returns the response to a request without TLS on a port with TLS.
    public func streamReceivedPlaintext(_ stream: Stream) -> [UInt8] {
        site.responder.mistookProtocol(.plainOnTLSPort, on: stream)
        let text =
            "This is a TLS port, and the request was sent without TLS: use https:// or wss://\n"
        return Response.text(text, status: 400)
            .encode(for: AnswerFraming(), date: site.currentDate())
    }

    /// Stops reading; requests in progress are still answered, if that takes no longer than ``HTTPTimeouts/closing``.
    ///
    /// A client that ends its side and reads the response cannot be distinguished from one that has given up.
    public func streamReachedEnd(_ stream: Stream) {
        hasClientEnded = true
        stopReading()
        guard !hasAnsweredAll, !stream.isClosing else { return }
        deadline = site.reactor.now
        if let timer { site.reactor.cancel(timer) }
        timer = site.reactor.schedule(after: site.timeouts.closing, self)
    }

    /// Resumes reading requests.
    public func streamDrained(_ stream: Stream) { queueDrained() }

    /// Ends the connection.
    public func streamClosed(_ stream: Stream, error: StreamError?) {
        detach()
        if let error { site.responder.failed(error) }
    }

    // MARK: Requests

    /// Reads as many requests as may be read now; returns whether one was completed.
    private func read(
        _ bytes: Span<UInt8>,
        _ index: inout Int,
        _ reading: inout Reading
    ) -> Bool {
        var hasCompleted = false
        while acceptsRequests, !isBlocked, stream?.isClosing == false {
            do throws(HTTPError) {
                switch try reading.parser.advance(over: bytes, from: &index) {
                case .needsMore: return hasCompleted
                case .head(let head): begin(head, &reading)
                case .content(let content):
                    hasCompleted = true
                    reading.expectsContinue = false
                    if case .accepted(let head, let receiver) = reading.takeContent() {
                        content.withBytes(in: bytes) { dispatch(head, to: receiver, $0) }
                    }
                }
            } catch {
                // The request is already answered; a second response would count as that of the next request.
                if reading.isDiscarding { stopReading() } else { refuse(error) }
            }
            if output.count > Self.outputLengthMax { writeOutput() }
        }
        return hasCompleted
    }

    private func begin(_ head: RequestHead, _ reading: inout Reading) {
        guard head.method != .connect else {
            // The bytes that follow would belong to another protocol.
            return refuse(.methodUnsupported(.connect))
        }
        switch site.responder.decide(on: head, of: stream) {
        case .accept(let receiver):
            reading.content = .accepted(head, receiver)
            reading.expectsContinue = head.expectsContinue
        case .answer(var response):
            if head.hasContent {
                let lengthMax = Self.discardedLengthMax
                if head.expectsContinue || head.contentLength ?? 0 > lengthMax {
                    // Content, if it follows, would be parsed as the next request.
                    response.closesConnection = true
                } else {
                    reading.content = .discarded
                    reading.parser.discardContent(lengthMax: lengthMax)
                }
            }
            if response.closesConnection || !head.keepAlive { acceptsRequests = false }
            makeExchange(head.answerFraming).respond(response)
        }
    }

    private func dispatch(
        _ head: RequestHead,
        to receiver: any HTTPContentReceiver,
        _ body: Span<UInt8>
    ) {
        if !head.keepAlive { acceptsRequests = false }
        var exchange = makeExchange(head.answerFraming, contentLength: body.count)
        lastMayUpgrade = true
        receiver.respond(to: head, body: body, on: exchange)
        if isAnswering { enqueue(exchange) }
        if !head.isUpgrade, exchange.outcome?.isUpgrade != true { lastMayUpgrade = false }
        if isKnownUniquelyReferenced(&exchange) { site.spareExchange = exchange }
    }

    /// Handles a request that another loop has read.
    func receive(_ head: RequestHead, _ body: Span<UInt8>) {
        isReading = true
        switch site.responder.decide(on: head, of: stream) {
        case .accept(let receiver): dispatch(head, to: receiver, body)
        case .answer(let response): makeExchange(head.answerFraming).respond(response)
        }
        isReading = false
        guard stream != nil else { return }
        writeOutput()
        watchClient(restarts: true)
    }

    /// Refuses an invalid or late request with the connection's last response.
    func refuse(_ error: HTTPError) {
        site.responder.refused(error, whileWaitingFor: wait)
        var response = Response(refusing: error)
        if let advice = site.responder.advice(on: error) {
            response.body.append(contentsOf: " \(advice)".utf8)
        }
        respondLast(response)
    }

    /// Refuses a request whose content is not complete, because there is no memory for it.
    private func refuseContent() {
        site.responder.contentRefused()
        respondLast(
            .tryAgain("The server has more unprocessed requests and events than it may hold")
        )
    }

    /// Sends the connection's last response, and reads no more.
    func respondLast(_ response: Response) {
        acceptsRequests = false
        partialRequest = nil
        makeExchange(AnswerFraming()).respond(response)
    }

    /// Makes the exchange of a request; queues it if earlier requests are unanswered.
    private func makeExchange(_ framing: AnswerFraming, contentLength: Int = 0) -> HTTPExchange {
        let exchange = site.spareExchange.take() ?? HTTPExchange()
        exchange.begin(framing, contentLength: contentLength, on: self)
        if first == nil { isAnswering = true } else { enqueue(exchange) }
        return exchange
    }

    private func enqueue(_ exchange: HTTPExchange) {
        isAnswering = false
        exchange.waitsSince = site.watchAnswers()
        if let last { last.next = exchange } else { first = exchange }
        last = exchange
        unansweredCount += 1
        unansweredLength += exchange.contentLength
    }

    // MARK: Answers

    /// Whether nothing has been read after this exchange's request.
    func canUpgrade(_ exchange: HTTPExchange) -> Bool {
        lastMayUpgrade && (isAnswering || exchange === last)
    }

    /// Sets the outcome of an exchange, and sends all responses that can be sent in order.
    func complete(_ exchange: HTTPExchange, _ outcome: consuming HTTPExchange.Outcome) {
        if !outcome.isUpgrade, isAnswering || exchange === last { lastMayUpgrade = false }
        guard isAnswering || exchange === first else { return exchange.outcome = outcome }
        perform(outcome, of: exchange)
        while let exchange = first, let outcome = exchange.outcome.take() {
            perform(outcome, of: exchange)
        }
        guard !isReading, stream != nil else { return }
        if let partialRequest { offerContinue(&partialRequest.reading) }
        writeOutput()
        resumeIfPossible()
        watchClient()
    }

    private func perform(_ outcome: consuming HTTPExchange.Outcome, of exchange: HTTPExchange) {
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
        case .upgrade(let handler): upgrade(with: handler)
        }
    }

    private func append(_ response: Response, _ framing: AnswerFraming) {
        var framing = framing
        if isLast || response.closesConnection { framing.keepAlive = false }
        response.append(
            to: &output,
            for: framing,
            date: site.currentDate(),
            serverFields: framing.keepAlive ? site.keptResponseFields : site.responseFields
        )
        isKept = true
        if !framing.keepAlive { close() }
    }

    private func append(_ prepared: PreparedResponse, _ framing: AnswerFraming) {
        guard !isLast, framing.keepAlive else { return append(prepared.response, framing) }
        prepared.append(
            to: &output,
            for: framing,
            date: site.currentDate(),
            serverFields: site.keptResponseFields
        )
        isKept = true
    }

    /// Whether all requests are answered.
    var hasAnsweredAll: Bool { first == nil && !isAnswering }

    /// Whether the response being sent is the connection's last.
    private var isLast: Bool {
        first == nil && (site.endsConnections || isOverdue || !acceptsRequests)
    }

    /// Sends 100 (Continue) if the client waits for it and all earlier requests are answered.
    private func offerContinue(_ reading: inout Reading) {
        guard reading.expectsContinue, first == nil, acceptsRequests else { return }
        reading.expectsContinue = false
        output.append(contentsOf: Response.continue)
    }

    private func writeOutput() {
        guard !output.isEmpty, let stream else { return }
        stream.write(exchange(&output, with: []))
        if stream.queuedByteCount > Self.outputLengthMax { awaitDrain() }
    }

    /// Resumes reading, beginning with the kept bytes, unless further requests have to wait.
    func resumeIfPossible() {
        guard isPaused, !isReading, !isBlocked, acceptsRequests else { return }
        isPaused = false
        stream?.resumeReading()
    }

    // MARK: Closing

    /// Stops reading, and closes once everything is answered.
    func stopReading() {
        acceptsRequests = false
        partialRequest = nil
        if hasAnsweredAll { close() } else { watchClient() }
    }

    /// Sends the collected responses and closes; unanswered requests are dropped.
    func close() { close(within: site.timeouts.closing) }

    /// The same, with a separate time limit for the client's end.
    func close(within limit: Duration) {
        writeOutput()
        acceptsRequests = false
        partialRequest = nil
        dropExchanges()
        watchClient()
        // From here on the connection waits for the client to close; see HandshakeEviction.swift.
        deadline = site.reactor.now
        stream?.close(within: limit)
    }

    /// Passes the stream to another protocol.
    private func upgrade(with handler: HTTPExchange.UpgradeHandler) {
        guard let stream = stream.take() else { return }
        var output = exchange(&output, with: [])
        detach()
        let delegate = handler(stream, &output)
        stream.write(output)
        stream.delegate = delegate
        if isPaused { stream.resumeReading() }
        delegate.streamOpened(stream)
    }

    func detach() {
        site.remove(self)
        stream = nil
        acceptsRequests = false
        partialRequest = nil
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
    /// Whether a request was accepted and its content is not complete.
    var isAwaitingContent: Bool {
        if case .accepted = content { true } else { false }
    }

    /// Whether the content of an answered request is being dropped.
    var isDiscarding: Bool {
        if case .discarded = content { true } else { false }
    }

    /// Whether content is being read.
    var isInContent: Bool { isAwaitingContent || isDiscarding }

    /// Returns how to handle the content that is complete now, and resets it.
    mutating func takeContent() -> Content { exchange(&content, with: .none) }
}
