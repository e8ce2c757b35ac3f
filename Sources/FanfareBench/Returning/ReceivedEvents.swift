/// The events that each client has received over all of its connections; those of a run are numbered from 0.
struct ReceivedEvents {
    /// The first event that each client has not received, by the client's index.
    private var next: [UInt32]
    /// Deliveries, without repeated ones.
    private(set) var delivered = 0
    /// Events that came to a client again.
    private(set) var repeated = 0
    /// Events that a client did not receive before a later one.
    private(set) var skipped = 0

    init(clientCount: Int) { next = [UInt32](repeating: 0, count: clientCount) }

    /// Records an event; returns whether the client receives it for the first time.
    mutating func receive(_ number: UInt32, by client: Int) -> Bool {
        let expected = next[client]
        guard number >= expected else {
            repeated += 1
            return false
        }
        skipped += Int(number - expected)
        delivered += 1
        next[client] = number + 1
        return true
    }

    var firstMissing: UInt32 { next.min() ?? 0 }

    /// Whether each client has received, or skipped, all events before a number.
    func isComplete(upTo count: UInt32) -> Bool { next.allSatisfy { $0 >= count } }
}
