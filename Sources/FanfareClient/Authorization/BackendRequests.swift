import Synchronization

/// What a client asks the app's backend, a bounded number of requests at a time.
struct BackendRequests: Sendable {
    /// The most requests under way; what is asked for meanwhile waits, and then goes together if it may.
    private static let runningMax = 8

    private struct Ticket: Sendable {
        var number: Int
        /// The channel; `nil` for the user.
        var channel: String?
        var socketID: String
    }

    /// A request that is under way.
    private struct Running: Sendable {
        var tickets: [Int]
        var task: Task<Void, Never>
    }

    /// One request, ready to be made.
    struct Request: Sendable {
        let number: Int
        let isForUser: Bool
        let socketID: String
        /// The channels, with the tickets that wait for them.
        let tickets: [(channel: String, ticket: Int)]

        var question: AuthorizationRequest {
            AuthorizationRequest(
                socketID: socketID,
                channels: isForUser ? [] : tickets.map(\.channel)
            )
        }
    }

    private var waiting: [Ticket] = []
    private var running: [Int: Running] = [:]
    private var last = 0

    /// Takes up a ticket.
    mutating func add(_ number: Int, channel: String?, socketID: String) {
        waiting.append(Ticket(number: number, channel: channel, socketID: socketID))
    }

    /// Lets go of tickets; a request that nobody else waits for is cancelled.
    mutating func forget(_ numbers: [Int]) {
        waiting.removeAll { numbers.contains($0.number) }
        for (id, request) in running {
            let left = request.tickets.filter { !numbers.contains($0) }
            running[id]?.tickets = left
            guard left.isEmpty else { continue }
            request.task.cancel()
            running[id] = nil
        }
    }

    /// The next request to make; `nil` when nothing waits or enough are under way.
    mutating func next(channelsPerRequestMax: Int) -> Request? {
        guard running.count < Self.runningMax, let first = waiting.first else { return nil }
        var taken = [waiting.removeFirst()]
        // The user has a request of their own; channels go together, as far as the backend can do that.
        if first.channel != nil, channelsPerRequestMax > 1 {
            let isAlike = { (ticket: Ticket) in
                ticket.channel != nil && ticket.socketID == first.socketID
            }
            taken += waiting.lazy.filter(isAlike).prefix(channelsPerRequestMax - 1)
            let numbers = Set(taken.map(\.number))
            waiting.removeAll { numbers.contains($0.number) }
        }
        last += 1
        return Request(
            number: last,
            isForUser: first.channel == nil,
            socketID: first.socketID,
            tickets: taken.map { ($0.channel ?? "", $0.number) }
        )
    }

    /// Notes that a request is under way.
    mutating func begin(_ request: Request, _ task: Task<Void, Never>) {
        running[request.number] = Running(tickets: request.tickets.map(\.ticket), task: task)
    }

    /// Notes that a request has come to its end.
    mutating func end(_ request: Request) { running[request.number] = nil }
}

extension FanfareClient {
    /// Makes the requests that there is room for.
    func startRequests(_ state: inout ClientState) {
        let channelsPerRequestMax = options.channelAuthorizer?.channelsPerRequestMax ?? 1
        while let request = state.requests.next(channelsPerRequestMax: channelsPerRequestMax) {
            let task = Task {
                request.isForUser ? await authenticate(request) : await authorize(request)
            }
            state.requests.begin(request, task)
        }
    }

    private var attempts: Attempts {
        Attempts(
            retries: options.authorizationRetries,
            timeout: options.authorizationTimeout,
            clock: options.clock
        )
    }

    private var terms: AuthorizationTerms {
        AuthorizationTerms(
            timeout: options.authorizationTimeout,
            trust: options.trust,
            proxy: options.proxy
        )
    }

    private func authorize(_ request: BackendRequests.Request) async {
        guard let authorizer = options.channelAuthorizer else { return }
        let (question, terms) = (request.question, terms)
        let outcome = await attempts.run { try await authorizer.answer(question, terms) }
        finish(request) { session in
            guard let outcome else { return [] }
            return request.tickets.flatMap { channel, ticket in
                let missing = AuthorizationFailure.refused(
                    status: 403,
                    body: "the answer says nothing about \(channel)"
                )
                let authorization = outcome.flatMap { $0[channel] ?? .failure(missing) }
                return session.authorized(ticket, authorization)
            }
        }
    }

    private func authenticate(_ request: BackendRequests.Request) async {
        guard let authenticator = options.userAuthenticator else { return }
        let (question, terms) = (request.question, terms)
        let outcome = await attempts.run { try await authenticator.answer(question, terms) }
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
