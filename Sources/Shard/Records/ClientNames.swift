import Primitives
import PusherProtocol

/// The names and versions of the libraries that the clients of one shard use, each stored once.
package struct ClientNames {
    /// The maximum number of names; clients with others have none.
    private static var countMax: Int { 256 }
    /// The maximum length of a name with its version, in characters.
    private static var lengthMax: Int { 64 }
    /// The maximum length of a stored query, in bytes; clients with a longer one have no name.
    private static var queryLengthMax: Int { 512 }

    /// The queries of connection URLs; clients with one version of a library send the same one.
    private var entries: [(query: [UInt8], name: String)] = [([], "")]

    /// The name with an index; empty for a client that sends none.
    package subscript(index: UInt16) -> String { entries[Int(index)].name }

    /// Returns the index of the name in a connection URL; 0 for a client without a name.
    ///
    /// `target` is the request target in origin form.
    package mutating func index(inTarget target: Span<UInt8>) -> UInt16 {
        let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
        let query = target.extracting(min(mark + 1, target.count)..<target.count)
        let known = query.withUnsafeBufferPointer { query in
            entries.firstIndex { $0.query.elementsEqual(query) }
        }
        if let known { return UInt16(known) }
        guard query.count <= Self.queryLengthMax, entries.count < Self.countMax else { return 0 }
        let parameters = QueryParameters(parsing: query)
        let words = [parameters["client"], parameters["version"]].compactMap(\.self)
        let name = words.joined(separator: " ").unicodeScalars.prefix(Self.lengthMax)
        entries.append((query.withUnsafeBufferPointer { Array($0) }, String(name)))
        return UInt16(entries.count - 1)
    }
}
