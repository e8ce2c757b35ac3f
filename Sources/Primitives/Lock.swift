#if canImport(Darwin)
    package import Darwin

    /// A value that one thread at a time uses: `Mutex`, which Apple platforms have from iOS 18 and macOS 15 on.
    package final class Lock<Value: ~Copyable>: @unchecked Sendable {
        // SAFETY: only `withLock` uses it, with the lock held.
        @usableFromInline nonisolated(unsafe) var value: Value
        // At an address of its own, because the lock must not move.
        @usableFromInline let lock: UnsafeMutablePointer<os_unfair_lock>

        /// Creates an open lock.
        package init(_ value: consuming sending Value) {
            self.value = value
            lock = .allocate(capacity: 1)
            lock.initialize(to: os_unfair_lock())
        }

        deinit {
            lock.deinitialize(count: 1)
            lock.deallocate()
        }

        /// Calls `body` with the value; it must not take the lock again.
        @inlinable package func withLock<Result, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            os_unfair_lock_lock(lock)
            defer { os_unfair_lock_unlock(lock) }
            return try body(&value)
        }
    }
#else
    package import Synchronization

    /// A value that one thread at a time uses: `Mutex`, which Apple platforms have from iOS 18 and macOS 15 on.
    package struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
        @usableFromInline let mutex: Mutex<Value>

        /// Creates an open lock.
        @inlinable package init(_ value: consuming sending Value) { mutex = Mutex(value) }

        /// Calls `body` with the value; it must not take the lock again.
        @inlinable package borrowing func withLock<Result, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try mutex.withLock(body)
        }
    }
#endif

extension Lock {
    /// The value at this moment.
    @inlinable package borrowing func load() -> Value where Value: Sendable { withLock { $0 } }

    /// Replaces the value, and returns the former one.
    @inlinable @discardableResult
    package borrowing func exchange(_ value: Value) -> Value where Value: Sendable {
        withLock { current in
            defer { current = value }
            return current
        }
    }
}
