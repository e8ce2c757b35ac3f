import Primitives

/// Creates the buffers of a sequence's iterators; the first buffer is filled from the creation of the sequence on.
final class BufferSource<Element: Sendable>: Sendable {
    private let make: @Sendable () -> EventBuffer<Element>?
    private let first: Lock<EventBuffer<Element>?>

    /// Creates a source; `make` returns a buffer that the client fills, or `nil` once the client is released.
    init(_ make: @escaping @Sendable () -> EventBuffer<Element>?) {
        self.make = make
        first = Lock(make())
    }

    func takeBuffer() -> EventBuffer<Element> {
        if let buffer = first.withLock({ $0.take() }) ?? make() { return buffer }
        let ended = EventBuffer<Element>(policy: .keepsNewest(limit: 1))
        ended.finish()
        return ended
    }
}
