import Primitives

/// The query of a request target as pairs of name and value (RFC 3986 §3.4).
///
/// A `+` stands for itself here; in forms, where it stands for a space, use ``FormURLEncoded``.
public struct Query: Sendable, Hashable {
    /// A part between two `&`: name and value as they were sent.
    public struct Item: Sendable, Hashable {
        /// What stands before the first `=`, percent-encoded; all of the part when there is none.
        public let rawName: String

        /// What stands behind the first `=`, percent-encoded; empty when there is none.
        public let rawValue: String

        /// The decoded name; nil when it is not well-formed.
        public var name: String? { PercentEncoding.decode(rawName) }

        /// The decoded value; nil when it is not well-formed.
        public var value: String? { PercentEncoding.decode(rawValue) }
    }

    /// The parts in order; empty ones are left out.
    public let items: [Item]

    /// Takes a query apart.
    ///
    /// - Parameter raw: The query without the `?`, as ``RequestHead/query`` gives it.
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

    /// The decoded value of the first part with this name; nil when there is none, or when its
    /// value is not well-formed.
    ///
    /// - Parameter name: The decoded name, case-sensitive.
    public subscript(_ name: String) -> String? {
        items.first { $0.name == name }?.value
    }

    /// The decoded values of all parts with this name.
    ///
    /// - Parameter name: The decoded name, case-sensitive.
    /// - Returns: The values in order; those not well-formed are left out.
    public func all(_ name: String) -> [String] {
        items.compactMap { $0.name == name ? $0.value : nil }
    }
}
