import Net

/// The connections that publish to the readers' channel, with or without a window.
final class OverloadPublishers {
    /// The readers that receive the events.
    let readers: OverloadReaders
    /// Answers 503 without Retry-After.
    private(set) var withoutRetryAfter = 0
    /// How often a connection waited for Retry-After.
    private(set) var pauseCount = 0

    private let connections: [EventPublisher]
    private let obeysRetryAfter: Bool
    /// The time until which each connection waits.
    private var pauses: [MonotonicTime?]
    /// The index of the next connection to use with a window.
    private var next = 0

    /// Creates the publishers, without connections: as many as the readers' ledger has.
    init(
        to readers: OverloadReaders,
        dataLength: Int,
        obeysRetryAfter: Bool,
        generator: LoadGenerator
    ) {
        self.readers = readers
        self.obeysRetryAfter = obeysRetryAfter
        let requests = readers.requests(dataLength: dataLength)
        let count = readers.ledger.publisherCount
        connections = (0..<count).map { _ in
            EventPublisher(requests, policy: .count, generator: generator)
        }
        pauses = .init(repeating: nil, count: count)
        for (index, connection) in connections.enumerated() {
            connection.onAnswer = { [unowned self] in receive($1, to: $0, on: index) }
        }
    }

    /// Opens all connections; returns whether all are open.
    func open(at now: MonotonicTime) throws(BenchError) -> Bool {
        var areOpen = true
        for connection in connections { if try !connection.open(at: now) { areOpen = false } }
        return areOpen
    }

    /// The number of connections that were lost with requests unanswered.
    var lostConnectionCount: Int { connections.reduce(0) { $0 + $1.lostConnectionCount } }

    /// Sends events, over the connections in turn, until as many are in flight.
    func fill(_ window: Int) {
        var idleCount = 0
        while readers.ledger.outstanding < window * readers.ledger.readerCount,
            idleCount < connections.count
        {
            idleCount = send(on: next) ? 0 : idleCount + 1
            next = (next + 1) % connections.count
        }
    }

    /// Sends as many events as the sockets accept, up to a number.
    func flood(atMost limit: Int) {
        var rest = limit
        for index in connections.indices {
            while rest > 0, send(on: index) { rest -= 1 }
        }
    }

    /// Aborts all connections; unanswered events stay unanswered.
    func end() { for connection in connections { connection.end() } }

    private func send(on index: Int) -> Bool {
        guard connections[index].canSend else { return false }
        let now = MonotonicTime.current
        if let pause = pauses[index] {
            guard pause <= now else { return false }
            pauses[index] = nil
        }
        let number = readers.ledger.send(by: index)
        connections[index].trigger(TriggeredEvent(number: number, due: now))
        return true
    }

    private func receive(_ answer: EventPublisher.Answer, to number: UInt32, on index: Int) {
        readers.ledger.answer(number, isAccepted: answer == .accepted)
        guard case .refused(let retryAfter) = answer else { return }
        guard let retryAfter else {
            withoutRetryAfter += 1
            return
        }
        guard obeysRetryAfter else { return }
        if pauses[index] == nil { pauseCount += 1 }
        pauses[index] = MonotonicTime.current.advanced(by: retryAfter)
    }
}
