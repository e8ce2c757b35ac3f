/// A row of a snapshot that could not be decoded.
public struct OmittedRow: Sendable, Hashable, CustomStringConvertible {
    /// The row's index in the snapshot, from zero.
    public let index: Int
    /// The row's ID as text; `nil` if the ID cannot be decoded either.
    public let id: String?
    /// The reason, with the path of the member.
    public let reason: String

    /// Creates a description of a row that could not be decoded.
    ///
    /// - Parameters:
    ///   - index: The row's index in the snapshot, from zero.
    ///   - id: The row's ID as text; `nil` if the ID cannot be decoded either.
    ///   - reason: The reason, with the path of the member.
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
    /// Decodes a snapshot; rows that cannot be decoded are listed in ``omittedRows``.
    ///
    /// - Throws: A `DecodingError`. If no row can be decoded, it is that of the first row: the backend's rows then have
    ///   another type, and an empty list would be wrong.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let revision = try container.decode(UInt64.self, forKey: .revision)
        if let rows = try? container.decode([Row].self, forKey: .rows) {
            self.init(revision: revision, rows: rows)
            return
        }
        // Only now row by row, which takes longer.
        let rows = try container.decode([ReadRow<Row>].self, forKey: .rows)
        self.init(revision: revision, rows: rows.compactMap { try? $0.result.get() })
        for (index, row) in rows.enumerated() {
            guard case .failure(let error) = row.result else { continue }
            if self.rows.isEmpty { throw error.cause }
            omittedRows.append(OmittedRow(index: index, id: error.id, reason: error.reason))
        }
    }
}

/// A row, or the reason for which it cannot be decoded.
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

/// The ID of a row: a number or text.
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

/// Returns the reason for a decoding error as a sentence, with the path of the member.
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
