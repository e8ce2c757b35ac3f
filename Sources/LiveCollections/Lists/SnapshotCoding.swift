/// A row of a snapshot that could not be decoded.
public struct OmittedRow: Sendable, Hashable, CustomStringConvertible {
    /// The row's index in the snapshot, from zero.
    public let index: Int
    /// The row's id as text; `nil` if it cannot be read either.
    public let id: String?
    /// The reason, with the member.
    public let reason: String

    /// Creates a description of a row.
    ///
    /// - Parameters:
    ///   - index: The row's index in the snapshot, from zero.
    ///   - id: The row's id as text.
    ///   - reason: The reason, with the member.
    package init(index: Int, id: String?, reason: String) {
        self.index = index
        self.id = id
        self.reason = reason
    }

    /// The row and the reason.
    public var description: String {
        "row \(index)\(id.map { " with id \($0)" } ?? ""): \(reason)"
    }
}

// As JSON: {"revision":13,"rows":[…]}.
extension ListSnapshot {
    private enum Key: String, CodingKey { case revision, rows }
}

extension ListSnapshot: Encodable where Row: Encodable {
    /// Encodes the revision and the rows.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(revision, forKey: .revision)
        try container.encode(rows, forKey: .rows)
    }
}

extension ListSnapshot: Decodable where Row: Decodable {
    /// Reads a snapshot; rows that cannot be decoded are listed in ``omittedRows``.
    ///
    /// - Throws: A `DecodingError`; the one of the first row when no row at all can be decoded, since then the type of the
    ///   rows is another than the backend's, and an empty list would be wrong.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let revision = try container.decode(UInt64.self, forKey: .revision)
        let rows = try container.decode([Row].self, forKey: .rows)
        self.init(revision: revision, rows: rows)
    }
}

/// A row, or the reason why it cannot be decoded.
private struct ReadRow<Row: Decodable>: Decodable {
    struct Failure: Error {
        let cause: any Error
        let id: String?
        let reason: String
    }

    let result: Result<Row, Failure>

    init(from decoder: any Decoder) throws {
        do {
            result = .success(try decoder.singleValueContainer().decode(Row.self))
        } catch {
            let id = try? decoder.singleValueContainer().decode(RowIdentity.self).id.text
            let reason = reason(of: error, below: decoder.codingPath)
            result = .failure(Failure(cause: error, id: id, reason: reason))
        }
    }
}

/// The id of a row: a number or a text.
private struct RowIdentity: Decodable {
    struct ID: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int64.self) {
                text = "\(number)"
            } else {
                text = try container.decode(String.self)
            }
        }
    }

    let id: ID
}

/// Returns the reason of a decoding error in a sentence, with the member's path.
func reason(of error: any Error, below base: [any CodingKey] = []) -> String {
    func member(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
        let keys = context.codingPath.dropFirst(base.count) + (key.map { [$0] } ?? [])
        let path = keys.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }
        return path.isEmpty ? "it" : "\"\(path.joined(separator: "."))\""
    }
    switch error as? DecodingError {
    case .keyNotFound(let key, let context): return "\(member(context, key)) is missing"
    case .valueNotFound(_, let context): return "\(member(context)) is null"
    case .typeMismatch(let type, let context): return "\(member(context)) is not a \(type)"
    case .dataCorrupted(let context):
        return "\(member(context)) is invalid: \(context.debugDescription)"
    case nil: return "\(error)"
    @unknown default: return "\(error)"
    }
}
