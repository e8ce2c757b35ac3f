public import HTTP1
public import Net

/// HTTP for a small app: one loop, and a function that answers.
///
/// ```swift
/// let service = try HTTPService.start(on: [address]) { request in
///     request.path == "/" ? .text("Hello") : .text("Not found", status: 404)
/// }
/// defer { await service.stop() }
/// ```
public final class HTTPService: Sendable {
    /// Where the service listens, with the ports that the kernel chose.
    public let addresses: [SocketAddress]

    private let loop: EventLoop
    private let resident: Resident

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - addresses: Where to listen; port 0 lets the kernel choose one.
    ///   - tls: What makes it HTTPS; `nil` for plain HTTP.
    ///   - limits: What a client may make the service read and keep.
    ///   - timeouts: How long a client may take.
    ///   - answer: Answers a request; it runs outside the loop, so it may take its time. Requests
    ///     run side by side, those of one connection too; their answers leave in order.
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
        let resident = try Resident(
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

    private init(_ loop: EventLoop, _ resident: Resident) {
        self.loop = loop
        self.resident = resident
        addresses = resident.addresses
    }

    /// Stops gracefully: listens no more, answers what is under way, and closes.
    ///
    /// - Parameter limit: How long that may take before the rest is closed at once.
    public func stop(within limit: Duration = .seconds(5)) async {
        await resident.stop(within: limit)
        await loop.waitUntilStopped()
    }
}

/// The actor of the service's loop.
private actor Resident: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated let addresses: [SocketAddress]
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let reactor: Reactor
    private let site: HTTPSite
    private let desk: Desk
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
        let desk = Desk(loop: loop, answer: answer)
        let site = HTTPSite(reactor: reactor, limits: limits, timeouts: timeouts, responder: desk)
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
        self.desk = desk
        self.listeners = listeners
    }

    func turn() -> Bool {
        reactor.poll()
        desk.handOut()
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
        // The next turn comes at once, and one at the deadline.
        loop.wake()
        reactor.schedule(after: limit, desk)
    }
}

/// Where requests go out to the app and answers come back to the loop.
private final class Desk: HTTPResponder, TimerTarget {
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
            remoteAddress: exchange.stream?.remoteAddress()
        )
        lastNumber += 1
        exchanges[lastNumber] = exchange
        Task { [number = lastNumber, answer, answers] in
            answers.post(Answer(number: number, response: await answer(request)))
        }
    }

    /// Gives the answers that have come to their exchanges.
    func handOut() {
        for answer in answers.drain() {
            exchanges.removeValue(forKey: answer.number)?.respond(answer.response)
        }
    }

    /// Nothing is to be done: the turn itself looks at the time.
    func timerFired(tag: Int) {}
}
