import Foundation

/// A value set by the app; it hides the client's value until the client has a newer one.
///
/// The official client keeps its state in settable variables, and the tests of apps set them. Here the state belongs to
/// the client: a set value is returned when read and has no other effect.
// SAFETY: the value is only accessed under `lock`.
final class Override<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value?

    /// Returns the app's value if there is one, otherwise the client's.
    func value(or known: @autoclosure () -> Value) -> Value {
        lock.withLock { value } ?? known()
    }

    /// The app's value, if any.
    var current: Value? { lock.withLock { value } }

    /// Sets the app's value.
    func set(_ new: Value) { lock.withLock { value = new } }

    /// Removes the app's value.
    ///
    /// The value is released outside the lock, because it may own anything and its deinitialisation may call back.
    func clear() { _ = lock.withLock { exchange(&value, with: nil) } }
}
