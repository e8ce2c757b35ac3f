/// A property that an input violates.
public struct Finding: Error, CustomStringConvertible {
    /// The expectation, and the actual result.
    public let description: String

    /// Creates a finding.
    package init(description: String) { self.description = description }
}

/// Throws a finding unless `condition` holds.
package func expect(
    _ condition: Bool,
    _ description: @autoclosure () -> String
) throws(Finding) {
    guard condition else { throw Finding(description: description()) }
}

/// Throws a finding unless both values are equal.
package func expectEqual<Value: Equatable>(
    _ left: Value,
    _ right: Value,
    _ description: @autoclosure () -> String
) throws(Finding) {
    guard left != right else { return }
    throw Finding(description: "\(description()): \(left) is not \(right)")
}
