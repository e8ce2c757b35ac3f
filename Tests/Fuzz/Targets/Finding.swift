/// A property that an input disproves.
public struct Finding: Error, CustomStringConvertible {
    /// What should have held, and what was there instead.
    public let description: String

    /// Says what should have held, and what was there instead.
    package init(description: String) { self.description = description }
}

/// Throws a finding unless `condition` holds.
package func expect(
    _ condition: Bool,
    _ description: @autoclosure () -> String
) throws(Finding) {
    guard condition else { throw Finding(description: description()) }
}

/// Throws a finding unless both sides are the same.
package func expectEqual<Value: Equatable>(
    _ left: Value,
    _ right: Value,
    _ description: @autoclosure () -> String
) throws(Finding) {
    guard left != right else { return }
    throw Finding(description: "\(description()): \(left) is not \(right)")
}
