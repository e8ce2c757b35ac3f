import Net
import Primitives

/// The calls of a connection that Redis has not answered, in their order.
struct UnansweredCalls {
    /// The kind of answer to a call.
    enum Answer: Equatable {
        /// One reply.
        case reply
        /// This number of pushes that begin with the command's name, or one error.
        case confirmations(SubscriptionCommand, Int)
        /// The `PONG` to a `PING` sent after the command, or an error followed by `PONG`.
        ///
        /// For `SUNSUBSCRIBE`: a server of a Redis Cluster also sends pushes without a call for a slot that has moved.
        /// Then it answers the call itself by an error. So pushes do not show whether the error will follow.
        case pong
    }

    struct Call {
        var answer: Answer
        /// The bytes of the command.
        let length: Int
        let sentAt: MonotonicTime
    }

    private var calls = Queue<Call>()
    /// The ID of the oldest call.
    private(set) var firstID = CallID(number: 1)
    /// The bytes of all calls.
    private(set) var byteCount = 0

    var isEmpty: Bool { calls.isEmpty }
    /// The oldest call.
    var first: Call? { calls.first }
    var ids: Range<CallID> { firstID..<firstID.advanced(by: calls.count) }

    mutating func append(_ call: Call) -> CallID {
        calls.append(call)
        byteCount += call.length
        return firstID.advanced(by: calls.count - 1)
    }

    /// Removes the oldest call, if there is one, and returns its ID.
    mutating func removeFirst() -> CallID {
        let id = firstID
        guard !isEmpty else { return id }
        byteCount -= calls.removeFirst().length
        firstID = firstID.advanced(by: 1)
        return id
    }

    /// Counts a push that may answer the oldest call, and returns whether it was the last one, so that the call is
    /// answered.
    mutating func confirm(_ command: SubscriptionCommand) -> Bool {
        guard !isEmpty, case .confirmations(command, let count) = calls[0].answer else {
            return false
        }
        calls[0].answer = .confirmations(command, count - 1)
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
