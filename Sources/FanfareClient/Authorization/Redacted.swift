/// A secret, which is not shown when a value that has it is printed or dumped.
@propertyWrapper
package struct Redacted<Value: Sendable & Hashable>: Sendable, Hashable {
    package var wrappedValue: Value

    package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}

extension Redacted: CustomStringConvertible, CustomReflectable {
    package var description: String { "…" }

    /// An empty mirror, because `dump` reads the values of a mirror.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
