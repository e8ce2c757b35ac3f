#if canImport(Darwin)
    /// The orderings of ``Atomic``.
    package enum AtomicOrdering {
        /// Any: a lock orders more.
        case relaxed
    }

    /// The part of `Synchronization.Atomic` that the broker's rules use, for `FanfareTesting` on Apple platforms, which
    /// have it from iOS 18 and macOS 15 on.
    package final class Atomic<Value: Equatable & Sendable>: Sendable {
        private let lock: Lock<Value>

        /// Creates an atomic value.
        package init(_ value: Value) { lock = Lock(value) }

        /// The value at this moment.
        package func load(ordering: AtomicOrdering) -> Value { lock.load() }

        /// Replaces the value.
        package func store(_ value: Value, ordering: AtomicOrdering) { lock.exchange(value) }

        /// Replaces the value if it is the expected one.
        package func weakCompareExchange(
            expected: Value,
            desired: Value,
            ordering: AtomicOrdering
        ) -> (exchanged: Bool, original: Value) {
            lock.withLock { value in
                let original = value
                if original == expected { value = desired }
                return (original == expected, original)
            }
        }
    }

    extension Atomic where Value: FixedWidthInteger {
        /// Adds to the value, and traps on overflow.
        @discardableResult
        package func add(
            _ operand: Value,
            ordering: AtomicOrdering
        ) -> (oldValue: Value, newValue: Value) {
            lock.withLock { value in
                let old = value
                value += operand
                return (old, value)
            }
        }

        /// Subtracts from the value, and traps on overflow.
        @discardableResult
        package func subtract(
            _ operand: Value,
            ordering: AtomicOrdering
        ) -> (oldValue: Value, newValue: Value) {
            lock.withLock { value in
                let old = value
                value -= operand
                return (old, value)
            }
        }
    }
#endif
