import CommandSupport

/// The events of several publishing connections: how each was answered, and which readers received it.
///
/// Event `i` of connection `p` of `n` has the number `i * n + p`. Every reader subscribes to the channel that all events
/// go to. An event that is answered 200 must reach every reader, one that is answered 503 none; of one that is never
/// answered, because its connection ended, either is right. Each reader must receive the events of a connection in the
/// order in which they were sent, and none twice.
struct EventLedger {
    /// How an event was answered.
    private enum AnswerState: UInt8 {
        case unanswered, accepted, refused
    }

    /// What is known of one connection's events, by their index.
    private struct PublishedEvents {
        var answers: [AnswerState] = []
        var arrivals: [UInt32] = []
    }

    /// The number of publishing connections.
    let publisherCount: Int
    /// The number of readers.
    let readerCount: Int
    /// Events sent.
    private(set) var sentCount = 0
    /// Events answered 200.
    private(set) var acceptedCount = 0
    /// Events answered 503.
    private(set) var refusedCount = 0
    /// Arrivals of an event at a reader, in order and each once.
    private(set) var deliveries = 0
    /// Arrivals of an event that the reader had received before, that came behind a later one, or that was never sent.
    private(set) var misplacedCount = 0

    /// Deliveries to each reader.
    private var received: [UInt32]
    /// The readers that have left, and the deliveries that they had.
    private var removed = (readers: 0, deliveries: 0)
    /// Deliveries that are not waited for any more.
    private var discardedCount = 0
    private var publishers: [PublishedEvents]
    /// The least index that each reader may receive next of each connection's events, reader by reader.
    private var expected: [UInt32]

    /// A ledger without events.
    ///
    /// - Parameters:
    ///   - publisherCount: At least 1.
    ///   - readerCount: At least 1.
    init(publisherCount: Int, readerCount: Int) {
        self.publisherCount = publisherCount
        self.readerCount = readerCount
        received = .init(repeating: 0, count: readerCount)
        publishers = .init(repeating: PublishedEvents(), count: publisherCount)
        expected = .init(repeating: 0, count: publisherCount * readerCount)
    }

    /// Events that were sent and not answered yet.
    var unansweredCount: Int { sentCount - acceptedCount - refusedCount }

    /// Deliveries under way to readers that are still there, if every unanswered event is going to be accepted.
    var outstanding: Int {
        (sentCount - refusedCount) * (readerCount - removed.readers)
            - (deliveries - removed.deliveries) - discardedCount
    }

    /// Waits no longer for what is outstanding: it stays lost.
    mutating func discardOutstanding() { discardedCount += outstanding }

    /// Waits no longer for what a reader has not received: its connection has ended.
    mutating func removeReader(_ reader: Int) {
        removed.readers += 1
        removed.deliveries += Int(received[reader])
    }

    /// Counts an event as sent.
    ///
    /// - Parameter publisher: The index of its connection.
    /// - Returns: Its number.
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

    /// Records that a reader received an event.
    ///
    /// - Returns: Whether it came in order, for the first time.
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

    /// What the readers received of the events, by how these were answered.
    struct Outcome: Equatable {
        /// Deliveries of accepted events that did not arrive.
        var lost = 0
        /// Deliveries of events that were answered 503.
        var deliveredThoughRefused = 0
    }

    /// Adds up what has arrived; a walk over all events.
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

    /// What is wrong, in a line; nil if nothing is.
    func fault(_ outcome: Outcome) -> String? {
        let faults = [
            outcome.lost > 0 ? "\(grouped(outcome.lost)) deliveries of accepted events lost" : nil,
            misplacedCount > 0 ? "\(grouped(misplacedCount)) repeated or out of order" : nil,
            outcome.deliveredThoughRefused > 0
                ? "\(grouped(outcome.deliveredThoughRefused)) deliveries of events answered 503"
                : nil,
        ].compactMap { $0 }
        return faults.isEmpty ? nil : faults.joined(separator: ", ")
    }
}
