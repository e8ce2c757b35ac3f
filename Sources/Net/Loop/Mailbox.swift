import Synchronization

/// Messages from any thread to a loop, in the order of posting.
///
/// Posting into an empty mailbox wakes the loop, so a burst costs one write to its eventfd. The
/// loop's resident drains its mailboxes between `poll()` and `flush()`.
public final class Mailbox<Message: Sendable>: Sendable {
    /// The number of waiting messages; an atomic, because it is read every turn and is mostly zero.
    private let waiting = Atomic(0)
    /// The total weight of the waiting messages.
    private let waitingWeight = Atomic(0)
    private let loop: EventLoop
    private let messages = Mutex<[Message]>([])

    /// Makes an empty mailbox that wakes `loop`.
    public init(wakes loop: EventLoop) { self.loop = loop }

    /// Posts a message, from any thread.
    ///
    /// The mailbox is unbounded; callers have to bound what they post.
    public func post(_ message: Message) {
        let wasEmpty = messages.withLock { messages in
            messages.append(message)
            return waiting.add(1, ordering: .relaxed).oldValue == 0
        }
        if wasEmpty { loop.wake() }
    }

    /// Posts several messages, which the loop drains together.
    ///
    /// - Parameters:
    ///   - burst: The messages, in order.
    ///   - weight: Added to ``weight``, in a unit of the caller's choice.
    ///   - assists: Whether the calling thread may handle them if the loop's thread sleeps (``EventLoop/assist()``).
    public func post(_ burst: [Message], weight: Int = 0, assists: Bool = false) {
        guard !burst.isEmpty else { return }
        let wasEmpty = messages.withLock { messages in
            messages += burst
            if weight != 0 { waitingWeight.add(weight, ordering: .relaxed) }
            return waiting.add(burst.count, ordering: .relaxed).oldValue == 0
        }
        guard wasEmpty else { return }
        if assists { loop.assist() } else { loop.wake() }
    }

    /// Removes and returns all messages.
    public func drain() -> [Message] {
        guard count > 0 else { return [] }
        return messages.withLock { messages in
            waiting.store(0, ordering: .relaxed)
            waitingWeight.store(0, ordering: .relaxed)
            return exchange(&messages, with: [])
        }
    }

    /// The number of waiting messages.
    public var count: Int { waiting.load(ordering: .relaxed) }

    /// The total weight of the waiting messages.
    public var weight: Int { waitingWeight.load(ordering: .relaxed) }
}
