import Foundation

/// What an app has put in the place of something that the client knows, until the client knows something newer.
///
/// The official client keeps its state in variables that anybody can set, and apps' tests do. Here the state is the
/// client's: what is set is what is read, and changes nothing else.
// SAFETY: the value is only touched under `lock`.
final class Overwrite<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value?

    /// What the app has set, or else what the client knows.
    func value(or known: @autoclosure () -> Value) -> Value {
        lock.withLock { value } ?? known()
    }

    /// What the app has set, if anything.
    var current: Value? { lock.withLock { value } }

    /// Takes what the app sets.
    func set(_ new: Value) { lock.withLock { value = new } }

    /// The client knows something newer.
    ///
    /// What was set may own anything, and its end may call back: it does not end under the lock.
    func clear() { _ = lock.withLock { exchange(&value, with: nil) } }
}
