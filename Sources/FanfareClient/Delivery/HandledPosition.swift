import Primitives

/// The position up to which an app has handled one channel's events: callbacks have returned, sequences have been read.
///
/// Events may be handled in any order; the position is the last one before the first unhandled event.
final class HandledPosition: Sendable {
    private struct Entry {
        let position: ChannelPosition
        var isHandled = false
    }

    private struct State {
        /// The positions after `position`, in order; those before `head` are handled.
        var entries: [Entry] = []
        /// The index of the first unhandled entry; removing entries one by one would be quadratic.
        var head = 0
        /// The number of the first entry, counted from the very first position.
        var first = 0
        var position: ChannelPosition?
    }

    private let state = Lock(State())
    /// Called in order with each new position, under a lock: it must not call back.
    private let moved: @Sendable (ChannelPosition) -> Void

    init(moved: @escaping @Sendable (ChannelPosition) -> Void = { _ in }) { self.moved = moved }

    /// The position; `nil` before the first event is handled.
    var position: ChannelPosition? { state.withLock { $0.position } }

    /// Begins to handle the message at a position after all others, and returns the object that its listeners retain
    /// meanwhile.
    func begin(_ position: ChannelPosition) -> Handling {
        let number = state.withLock { state in
            state.entries.append(Entry(position: position))
            return state.first + state.entries.count - 1
        }
        return Handling(position, number, of: self)
    }

    fileprivate func end(_ number: Int) {
        state.withLock { state in
            state.entries[number - state.first].isHandled = true
            let count = state.entries[state.head...].prefix { $0.isHandled }.count
            guard count > 0 else { return }
            state.head += count
            let position = state.entries[state.head - 1].position
            state.position = position
            moved(position)
            guard state.head * 2 > state.entries.count else { return }
            state.entries.removeFirst(state.head)
            state.first += state.head
            state.head = 0
        }
    }
}

/// A message that an app is handling; it is handled when the last listener has released this object.
final class Handling: Sendable {
    /// The message's position.
    let position: ChannelPosition
    private let number: Int
    private let owner: HandledPosition

    fileprivate init(_ position: ChannelPosition, _ number: Int, of owner: HandledPosition) {
        self.position = position
        self.number = number
        self.owner = owner
    }

    deinit { owner.end(number) }
}
