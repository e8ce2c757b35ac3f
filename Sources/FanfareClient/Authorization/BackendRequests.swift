import Primitives

/// The queue of requests to the app's backend; the number in flight is bounded.
struct BackendRequests: Sendable {
    /// The most requests in flight; waiting tickets are batched into one request if the backend allows it.
    private static let runningMax = 8

    private struct Ticket: Sendable {
        var number: Int
        /// The channel; `nil` for a sign-in.
        var channel: String?
        var socketID: String
        /// Whether events wait for the channel's new key.
        var isForKey: Bool
    }

    /// A request in flight.
    private struct Running: Sendable {
        var tickets: [Int]
        var task: Task<Void, Never>
    }

    /// One request, ready to be sent.
    struct Request: Sendable {
        let number: Int
        let isForUser: Bool
        let isForKey: Bool
        let socketID: String
        /// The channels, with their tickets.
        let tickets: [(channel: String, ticket: Int)]

        var content: AuthorizationRequest {
            AuthorizationRequest(
                socketID: socketID,
                channels: isForUser ? [] : tickets.map(\.channel)
            )
        }
    }

    private var waiting: [Ticket] = []
    private var running: [Int: Running] = [:]
    private var last = 0

    /// Adds a ticket to the queue.
    mutating func add(_ number: Int, channel: String?, socketID: String, isForKey: Bool = false) {
        waiting.append(
            Ticket(number: number, channel: channel, socketID: socketID, isForKey: isForKey)
        )
    }

    /// Removes tickets; a request without tickets is cancelled.
    mutating func cancel(_ numbers: [Int]) {
        waiting.removeAll { numbers.contains($0.number) }
        for (id, request) in running {
            let remaining = request.tickets.filter { !numbers.contains($0) }
            running[id]?.tickets = remaining
            guard remaining.isEmpty else { continue }
            request.task.cancel()
            running[id] = nil
        }
    }

    /// Removes the next request to send from the queue; `nil` when it is empty or too many are in flight.
    mutating func next(channelsPerRequestMax: Int) -> Request? {
        guard running.count < Self.runningMax, let first = waiting.first else { return nil }
        var taken = [waiting.removeFirst()]
        // A sign-in has its own request. Channels share one, up to the number that the backend supports.
        if first.channel != nil, !first.isForKey, channelsPerRequestMax > 1 {
            let isAlike = { (ticket: Ticket) in
                ticket.channel != nil && !ticket.isForKey && ticket.socketID == first.socketID
            }
            taken += waiting.lazy.filter(isAlike).prefix(channelsPerRequestMax - 1)
            let numbers = Set(taken.map(\.number))
            waiting.removeAll { numbers.contains($0.number) }
        }
        last += 1
        return Request(
            number: last,
            isForUser: first.channel == nil,
            isForKey: first.isForKey,
            socketID: first.socketID,
            tickets: taken.map { ($0.channel ?? "", $0.number) }
        )
    }

    /// Records a request as in flight.
    mutating func begin(_ request: Request, _ task: Task<Void, Never>) {
        running[request.number] = Running(tickets: request.tickets.map(\.ticket), task: task)
    }

    /// Records the end of a request.
    mutating func end(_ request: Request) { running[request.number] = nil }
}

extension Fanfare {
    /// Starts as many queued requests as the limit allows.
    func startRequests(_ state: inout ClientState) {
        let channelsPerRequestMax = options.authorization.channels?.channelsPerRequestMax ?? 1
        while let request = state.requests.next(channelsPerRequestMax: channelsPerRequestMax) {
            let task = Task {
                request.isForUser ? await authenticate(request) : await authorize(request)
            }
            state.requests.begin(request, task)
        }
    }

    private var retrying: RetryingRequest {
        RetryingRequest(
            attemptCountMax: options.authorization.attemptCountMax,
            backoff: options.authorization.backoff,
            timeout: options.authorization.timeout,
            clock: options.clock
        )
    }

    /// One attempt to get a new key, without retries: events wait for it, and the failed event may have a foreign key.
    private var keyRequest: RetryingRequest {
        RetryingRequest(
            attemptCountMax: 1,
            backoff: options.authorization.backoff,
            timeout: min(options.authorization.timeout, .seconds(3)),
            clock: options.clock
        )
    }

    private var backendSettings: BackendSettings {
        BackendSettings(
            timeout: options.authorization.timeout,
            trust: options.network.trust,
            proxy: options.network.proxy
        )
    }

    private func authorize(_ request: BackendRequests.Request) async {
        guard let authorizer = options.authorization.channels else { return }
        let (content, settings) = (request.content, backendSettings)
        let attempts = request.isForKey ? keyRequest : retrying
        let outcome = await attempts.run { try await authorizer.respond(content, settings) }
        finish(request) { session in
            guard let outcome else { return [] }
            return request.tickets.flatMap { channel, ticket in
                let missing = AuthorizationFailure.refused(
                    status: 403,
                    body: "the response has no entry for \(channel)"
                )
                let authorization = outcome.flatMap { $0[channel] ?? .failure(missing) }
                return session.authorized(ticket, authorization)
            }
        }
    }

    private func authenticate(_ request: BackendRequests.Request) async {
        guard let authenticator = options.authorization.user else { return }
        let (content, settings) = (request.content, backendSettings)
        let outcome = await retrying.run { try await authenticator.respond(content, settings) }
        finish(request) { session in
            guard let outcome else { return [] }
            return request.tickets.flatMap { session.authenticated($0.ticket, outcome) }
        }
    }

    private func finish(
        _ request: BackendRequests.Request,
        _ input: (inout ClientSession) -> [SessionEffect]
    ) {
        state.withLock { $0.requests.end(request) }
        act(input)
    }
}
