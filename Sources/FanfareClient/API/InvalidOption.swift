/// An option that cannot be used as it is: certificates, a pin or a proxy.
public struct InvalidOption: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong with which part of it, and what it should be.
    public let description: String

    init(_ description: String) { self.description = description }
}
