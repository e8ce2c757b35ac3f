/// The messages of send requests, in the order in which the client has made the requests.
///
/// A client makes the next request without waiting for the one before, and on another connection it may overtake it. The
/// client numbers all its requests, but shares the numbers among its sessions: a number that is missing may never come, so
/// it is waited for only briefly.
struct SendOrder {
    /// How long to wait for a missing request.
    static var patience: Duration { .milliseconds(50) }
    /// The most requests that wait for one with a smaller number.
    static var waitingMax: Int { 16 }

    /// The messages that can be processed; the first of them is at `position`.
    private var due: [[UInt8]] = []
    private var position = 0
    /// The requests that wait for one with a smaller number, by number.
    private var waiting: [(number: Int, messages: [[UInt8]])] = []
    private var lastNumber: Int?
    /// The length of all messages, in bytes.
    private(set) var byteCount = 0

    /// Whether there are no messages to process before a missing request has come.
    var isEmpty: Bool { position == due.count }

    /// Whether requests wait for a missing one.
    var isWaiting: Bool { !waiting.isEmpty }

    /// Adds the messages of a request; those of one without a number, or of one that comes too late, are next.
    mutating func add(_ messages: [[UInt8]], number: Int?) {
        byteCount += messages.reduce(0) { $0 + $1.count }
        guard let number, number > lastNumber ?? number - 1 else {
            due += messages
            return
        }
        let index = waiting.firstIndex { $0.number > number } ?? waiting.count
        waiting.insert((number, messages), at: index)
        if waiting.count > Self.waitingMax { skipMissing() }
        release()
    }

    /// Waits no longer for the request that is missing.
    mutating func skipMissing() {
        guard let first = waiting.first else { return }
        lastNumber = first.number - 1
        release()
    }

    /// Returns the next message; `nil` if there is none, or one may be missing.
    mutating func next() -> [UInt8]? {
        guard position < due.count else { return nil }
        let message = due[position]
        position += 1
        byteCount -= message.count
        if position == due.count { (due, position) = ([], 0) }
        return message
    }

    private mutating func release() {
        while let first = waiting.first, first.number == (lastNumber ?? first.number - 1) + 1 {
            lastNumber = first.number
            due += first.messages
            waiting.removeFirst()
        }
    }
}
