import Net

/// The calls of a connection that Redis has not answered, in their order.
struct UnansweredCalls {
    /// What answers a call.
    enum Answer: Equatable {
        /// One reply.
        case reply
        /// So many pushes that begin with the command's name, or one error.
        case confirmations(SubscriptionCommand, Int)
        /// `PONG`, which a `PING` behind the command brings, or an error and then `PONG`.
        ///
        /// For `SUNSUBSCRIBE`: a server of a Redis Cluster also sends pushes for a slot that has moved, without a call, and
        /// then answers the call itself by an error. So pushes do not tell whether the error is still to come.
        case pong
    }

    struct Call {
        var answer: Answer
        /// The bytes of the command.
        let length: Int
        let sentAt: MonotonicTime
    }

    private var calls: [Call] = []
    /// The index of the oldest call; those before it are answered.
    private var head = 0
    /// The ID of the oldest call.
    private(set) var firstID = CallID(number: 1)
    /// The bytes of all calls.
    private(set) var byteCount = 0

    var isEmpty: Bool { head == calls.count }
    /// The oldest call.
    var first: Call? { isEmpty ? nil : calls[head] }
    var ids: Range<CallID> { firstID..<firstID.advanced(by: calls.count - head) }

    mutating func append(_ call: Call) -> CallID {
        calls.append(call)
        byteCount += call.length
        return firstID.advanced(by: calls.count - head - 1)
    }

    /// Removes the oldest call, if there is one, and returns its ID.
    mutating func removeFirst() -> CallID {
        let id = firstID
        guard !isEmpty else { return id }
        byteCount -= calls[head].length
        head += 1
        firstID = firstID.advanced(by: 1)
        // Seldom, and half of the list at least: the cost of a removal is constant on average.
        if head == calls.count {
            calls.removeAll(keepingCapacity: calls.capacity <= 4_096)
            head = 0
        } else if head >= 1_024, head * 2 >= calls.count {
            calls.removeFirst(head)
            head = 0
        }
        return id
    }

    /// Counts a push that may answer the oldest call.
    ///
    /// - Returns: Whether it was the last one, so that the call is answered.
    mutating func confirm(_ command: SubscriptionCommand) -> Bool {
        guard !isEmpty, case .confirmations(command, let count) = calls[head].answer else {
            return false
        }
        calls[head].answer = .confirmations(command, count - 1)
        return count == 1
    }
}

/// A command that is answered by pushes.
enum SubscriptionCommand: CaseIterable {
    case subscribe, unsubscribe, ssubscribe, sunsubscribe

    /// The command, and the first element of its pushes.
    var name: StaticString {
        switch self {
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .ssubscribe: "ssubscribe"
        case .sunsubscribe: "sunsubscribe"
        }
    }
}
