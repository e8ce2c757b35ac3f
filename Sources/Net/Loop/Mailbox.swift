import Synchronization

/// Messages from any thread to a loop, in the order of posting.
///
/// Posting into an empty mailbox wakes the loop, so a burst costs one write to its eventfd. The
/// loop's resident drains its mailboxes between `poll()` and `flush()`.
public final class Mailbox<Message: Sendable>: Sendable {
    /// How many messages wait: looked at each turn, mostly to find none.
    private let waiting = Atomic(0)
    /// The weights of the messages that wait, in sum.
    private let waitingWeight = Atomic(0)
    private let loop: EventLoop
    private let messages = Mutex<[Message]>([])

    /// Makes an empty mailbox.
    ///
    /// - Parameter loop: The loop to wake.
    public init(wakes loop: EventLoop) { self.loop = loop }

    /// Adds a message, from any thread; bounding their number is the poster's matter.
    public func post(_ message: Message) {
        let wasEmpty = messages.withLock { messages in
            messages.append(message)
            return waiting.add(1, ordering: .relaxed).oldValue == 0
        }
        if wasEmpty { loop.wake() }
    }

    /// Adds a burst of messages, which the loop takes out together.
    ///
    /// - Parameters:
    ///   - burst: The messages.
    ///   - weight: What they add to ``weight``, in a unit of the poster's choice.
    ///   - assists: Whether the calling thread may handle them itself if the loop's sleeps (``EventLoop/assist()``).
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

    /// Takes all messages that have been posted.
    public func drain() -> [Message] {
        guard count > 0 else { return [] }
        return messages.withLock { messages in
            waiting.store(0, ordering: .relaxed)
            waitingWeight.store(0, ordering: .relaxed)
            return exchange(&messages, with: [])
        }
    }

    /// How many messages wait.
    public var count: Int { waiting.load(ordering: .relaxed) }

    /// The weights of the messages that wait, in sum.
    public var weight: Int { waitingWeight.load(ordering: .relaxed) }
}
