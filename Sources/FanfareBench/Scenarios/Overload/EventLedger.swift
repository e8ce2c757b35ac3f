import CommandSupport

/// Checks the events of several publishing connections: the answer to each, and the readers that received it.
///
/// Event `i` of connection `p` of `n` has the number `i * n + p`. Every reader subscribes to the channel that all
/// events are sent to. An event answered 200 must reach every reader, and one answered 503 none; an event without an
/// answer, because its connection was lost, may reach any. Each reader must receive the events of a connection once and
/// in the order in which they were sent.
struct EventLedger {
    private enum AnswerState: UInt8 {
        case unanswered, accepted, refused
    }

    private struct PublishedEvents {
        var answers: [AnswerState] = []
        var arrivals: [UInt32] = []
    }

    let publisherCount: Int
    let readerCount: Int
    private(set) var sentCount = 0
    private(set) var acceptedCount = 0
    private(set) var refusedCount = 0
    /// Deliveries that arrived in order and for the first time.
    private(set) var deliveries = 0
    /// Deliveries that were repeated, out of order, or of an event that was never sent.
    private(set) var misplacedCount = 0

    private var received: [UInt32]
    /// The readers whose connections were lost, and their deliveries.
    private var removed = (readers: 0, deliveries: 0)
    /// Deliveries that are no longer awaited.
    private var discardedCount = 0
    private var publishers: [PublishedEvents]
    /// The lowest index of each connection's events that each reader may receive next, grouped by reader.
    private var expected: [UInt32]

    /// Creates a ledger without events, of at least one connection and one reader.
    init(publisherCount: Int, readerCount: Int) {
        self.publisherCount = publisherCount
        self.readerCount = readerCount
        received = .init(repeating: 0, count: readerCount)
        publishers = .init(repeating: PublishedEvents(), count: publisherCount)
        expected = .init(repeating: 0, count: publisherCount * readerCount)
    }

    var unansweredCount: Int { sentCount - acceptedCount - refusedCount }

    /// Deliveries in flight to connected readers, if every unanswered event is accepted.
    var outstanding: Int {
        (sentCount - refusedCount) * (readerCount - removed.readers)
            - (deliveries - removed.deliveries) - discardedCount
    }

    /// Grows with each answer and delivery.
    var progress: Int { deliveries + misplacedCount + acceptedCount + refusedCount }

    /// Whether every event is answered and no delivery is awaited; an answer may come after the last delivery.
    var isSettled: Bool { unansweredCount == 0 && outstanding <= 0 }

    /// Stops waiting for outstanding deliveries; they count as lost.
    mutating func discardOutstanding() { discardedCount += outstanding }

    /// Stops waiting for deliveries to a reader whose connection was lost.
    mutating func removeReader(_ reader: Int) {
        removed.readers += 1
        removed.deliveries += Int(received[reader])
    }

    /// Counts an event as sent by the connection with an index; returns its number.
    mutating func send(by publisher: Int) -> UInt32 {
        sentCount += 1
        let index = publishers[publisher].answers.count
        publishers[publisher].answers.append(.unanswered)
        publishers[publisher].arrivals.append(0)
        return UInt32(index * publisherCount + publisher)
    }

    /// Records the answer to an event: 200 or 503.
    mutating func answer(_ number: UInt32, isAccepted: Bool) {
        let (index, publisher) = Int(number).quotientAndRemainder(dividingBy: publisherCount)
        publishers[publisher].answers[index] = isAccepted ? .accepted : .refused
        if isAccepted { acceptedCount += 1 } else { refusedCount += 1 }
    }

    /// Records a delivery; returns whether it arrived in order and for the first time.
    @discardableResult
    mutating func receive(_ number: UInt32, by reader: Int) -> Bool {
        let (index, publisher) = Int(number).quotientAndRemainder(dividingBy: publisherCount)
        let place = reader * publisherCount + publisher
        guard index < publishers[publisher].answers.count, index >= Int(expected[place]) else {
            misplacedCount += 1
            return false
        }
        expected[place] = UInt32(index) + 1
        publishers[publisher].arrivals[index] += 1
        received[reader] += 1
        deliveries += 1
        return true
    }

    struct Outcome: Equatable {
        /// Deliveries of accepted events that did not arrive.
        var lost = 0
        /// Deliveries of events that were answered 503.
        var deliveredThoughRefused = 0
    }

    var outcome: Outcome {
        var outcome = Outcome()
        for publisher in publishers {
            for (answer, arrivals) in zip(publisher.answers, publisher.arrivals) {
                switch answer {
                case .accepted: outcome.lost += readerCount - Int(arrivals)
                case .refused: outcome.deliveredThoughRefused += Int(arrivals)
                case .unanswered: break
                }
            }
        }
        return outcome
    }

    func fault(_ outcome: Outcome) -> String? {
        joined([
            counted(outcome.lost, "deliveries of accepted events lost"),
            counted(misplacedCount, "repeated or out of order"),
            counted(outcome.deliveredThoughRefused, "deliveries of events answered 503"),
        ])
    }
}
