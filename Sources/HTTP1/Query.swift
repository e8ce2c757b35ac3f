import Primitives

/// The query of a request target as pairs of name and value (RFC 3986 §3.4).
///
/// A `+` is not decoded; for forms, where it means a space, use ``FormURLEncoded``.
public struct Query: Sendable, Hashable {
    /// A part between two `&`: the name and value as they were sent.
    public struct Item: Sendable, Hashable {
        /// The text before the first `=`, percent-encoded; the whole part if there is no `=`.
        public let rawName: String

        /// The text after the first `=`, percent-encoded; empty if there is no `=`.
        public let rawValue: String

        /// The decoded name; nil if it is malformed.
        public var name: String? { PercentEncoding.decode(rawName) }

        /// The decoded value; nil if it is malformed.
        public var value: String? { PercentEncoding.decode(rawValue) }

        fileprivate func isNamed(_ name: String) -> Bool {
            self.name?.utf8.elementsEqual(name.utf8) == true
        }
    }

    /// The parts in order, without empty ones.
    public let items: [Item]

    /// Splits a query.
    ///
    /// - Parameter raw: The query without the `?`, as in ``RequestHead/query``.
    public init(_ raw: String) {
        items = raw.utf8.split(separator: UInt8(ascii: "&")).map { part in
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else {
                return Item(rawName: String(Substring(part)), rawValue: "")
            }
            return Item(
                rawName: String(Substring(part[..<equals])),
                rawValue: String(Substring(part[part.index(after: equals)...]))
            )
        }
    }

    /// The decoded value of the first part with this decoded, case-sensitive name.
    ///
    /// Nil if there is none, or if its value is malformed.
    public subscript(_ name: String) -> String? {
        items.first { $0.isNamed(name) }?.value
    }

    /// Returns the decoded values of all parts with this decoded, case-sensitive name, in order, without malformed
    /// ones.
    public func all(_ name: String) -> [String] {
        items.compactMap { $0.isNamed(name) ? $0.value : nil }
    }
}
