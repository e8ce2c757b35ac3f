public import HTTP1
public import Net

/// An HTTP server for a small app: one loop, and a function that answers.
///
/// ```swift
/// let service = try HTTPService.start(on: [address]) { request in
///     request.path == "/" ? .text("Hello") : .text("Not found", status: 404)
/// }
/// defer { await service.stop() }
/// ```
public final class HTTPService: Sendable {
    /// The addresses that the service listens on, with the ports that the kernel chose.
    public let addresses: [SocketAddress]

    private let loop: EventLoop
    private let resident: ServiceActor

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - addresses: The addresses to listen on; with port 0 the kernel chooses a port.
    ///   - tls: The TLS configuration for HTTPS; `nil` for plain HTTP.
    ///   - limits: The limits of requests.
    ///   - timeouts: The timeouts for clients.
    ///   - answer: Answers a request. It runs outside the loop, so it may take long. Requests are answered
    ///     concurrently, including those of one connection; their responses are sent in order.
    /// - Returns: The running service.
    /// - Throws: The call that failed, for example `bind` if an address is in use.
    public static func start(
        on addresses: [SocketAddress],
        tls: TLSContext? = nil,
        limits: HTTPLimits = HTTPLimits(),
        timeouts: HTTPTimeouts = HTTPTimeouts(),
        answer: @escaping @Sendable (HTTPRequest) async -> Response
    ) throws(SystemError) -> HTTPService {
        let loop = try EventLoop(name: "http")
        let resident = try ServiceActor(
            loop: loop,
            addresses: addresses,
            tls: tls,
            limits: limits,
            timeouts: timeouts,
            answer: answer
        )
        try loop.start(resident)
        return HTTPService(loop, resident)
    }

    private init(_ loop: EventLoop, _ resident: ServiceActor) {
        self.loop = loop
        self.resident = resident
        addresses = resident.addresses
    }

    /// Stops gracefully: stops listening, answers the requests in progress, and closes the connections.
    ///
    /// - Parameter limit: The time after which the remaining connections are aborted.
    public func stop(within limit: Duration = .seconds(5)) async {
        await resident.stop(within: limit)
        await loop.waitUntilStopped()
    }
}

/// The actor of the service's loop.
private actor ServiceActor: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated let addresses: [SocketAddress]
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let reactor: Reactor
    private let site: HTTPSite
    private let dispatcher: RequestDispatcher
    private var listeners: [Listener]
    private var stopDeadline: MonotonicTime?

    init(
        loop: EventLoop,
        addresses: [SocketAddress],
        tls: TLSContext?,
        limits: HTTPLimits,
        timeouts: HTTPTimeouts,
        answer: @escaping @Sendable (HTTPRequest) async -> Response
    ) throws(SystemError) {
        let reactor = try Reactor(loop: loop)
        let dispatcher = RequestDispatcher(loop: loop, answer: answer)
        let site = HTTPSite(
            reactor: reactor,
            limits: limits,
            timeouts: timeouts,
            responder: dispatcher
        )
        var listeners: [Listener] = []
        do throws(SystemError) {
            for address in addresses {
                listeners.append(try reactor.listen(on: address, tls: tls, accept: site.accept))
            }
        } catch {
            reactor.shutDown()
            throw error
        }
        self.loop = loop
        self.addresses = listeners.map(\.address)
        self.reactor = reactor
        self.site = site
        self.dispatcher = dispatcher
        self.listeners = listeners
    }

    func turn() -> Bool {
        reactor.poll()
        dispatcher.sendResponses()
        reactor.flush()
        guard let stopDeadline, site.connectionCount == 0 || reactor.now >= stopDeadline
        else { return true }
        reactor.shutDown()
        return false
    }

    func stop(within limit: Duration) {
        guard stopDeadline == nil else { return }
        stopDeadline = reactor.now.advanced(by: limit)
        for listener in listeners { listener.close() }
        site.finish()
        // The next turn begins at once, and another one at the deadline.
        loop.wake()
        reactor.schedule(after: limit, dispatcher)
    }
}

/// Runs the app's function for each request, and sends the responses from the loop.
private final class RequestDispatcher: HTTPResponder, TimerTarget {
    private struct Answer: Sendable {
        let number: Int
        let response: Response
    }

    private let answer: @Sendable (HTTPRequest) async -> Response
    private let answers: Mailbox<Answer>
    private var exchanges: [Int: HTTPExchange] = [:]
    private var lastNumber = 0

    init(loop: EventLoop, answer: @escaping @Sendable (HTTPRequest) async -> Response) {
        self.answer = answer
        answers = Mailbox(wakes: loop)
    }

    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        let request = HTTPRequest(
            head: head,
            body: body.withUnsafeBufferPointer { [UInt8]($0) },
            remoteAddress: exchange.peer
        )
        lastNumber += 1
        exchanges[lastNumber] = exchange
        Task { [number = lastNumber, answer, answers] in
            answers.post(Answer(number: number, response: await answer(request)))
        }
    }

    /// Passes finished responses to their exchanges.
    func sendResponses() {
        for answer in answers.drain() {
            exchanges.removeValue(forKey: answer.number)?.respond(answer.response)
        }
    }

    /// Does nothing: the turn itself checks the time.
    func timerFired(tag: Int) {}
}
