import GRDB

/// A to-do in the local database and at the backend.
struct LocalToDo: Codable, Equatable, Sendable, Identifiable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "ToDos"

    let id: Int64
    var title: String
    /// The due date, `2026-01-31`; `nil` for none.
    var due: String?
    var isDone: Bool
    var doneAt: String?
}

/// An edit of one to-do, in the backend's format.
enum ToDoOperation: Equatable, Sendable {
    case put(LocalToDo)
    case complete(Int64)
    case reopen(Int64)
    case rename(Int64, String)
    /// Sets another due date; `nil` for none.
    case postpone(Int64, String?)
    case remove(Int64)

    /// Returns the row after the edit.
    func applied(to row: LocalToDo?) -> LocalToDo? {
        var row = row
        switch self {
        case .put(let new): return new
        case .complete: row?.isDone = true
        case .reopen:
            row?.isDone = false
            row?.doneAt = nil
        case .rename(_, let title): row?.title = title
        case .postpone(_, let due): row?.due = due
        case .remove: return nil
        }
        return row
    }

    /// The ID of the to-do.
    var id: Int64 {
        switch self {
        case .put(let row): row.id
        case .complete(let id), .reopen(let id), .rename(let id, _), .postpone(let id, _),
            .remove(let id):
            id
        }
    }
}

extension ToDoOperation: Codable {
    private enum Key: String, CodingKey { case op, row, id }
    private enum Field: String, CodingKey { case id, title, due, isDone }

    /// Encodes the backend's format: an update contains only the changed field.
    func encode(to encoder: any Encoder) throws {
        var operation = encoder.container(keyedBy: Key.self)
        switch self {
        case .put(let row):
            try operation.encode("put", forKey: .op)
            try operation.encode(row, forKey: .row)
            return
        case .remove(let id):
            try operation.encode("remove", forKey: .op)
            try operation.encode(id, forKey: .id)
            return
        case .complete, .reopen, .rename, .postpone: break
        }
        try operation.encode("update", forKey: .op)
        var row = operation.nestedContainer(keyedBy: Field.self, forKey: .row)
        try row.encode(id, forKey: .id)
        switch self {
        case .complete: try row.encode(true, forKey: .isDone)
        case .reopen: try row.encode(false, forKey: .isDone)
        case .rename(_, let title): try row.encode(title, forKey: .title)
        case .postpone(_, let due): try row.encode(due, forKey: .due)
        case .put, .remove: break
        }
    }

    /// Decodes a stored edit.
    init(from decoder: any Decoder) throws {
        let operation = try decoder.container(keyedBy: Key.self)
        switch try operation.decode(String.self, forKey: .op) {
        case "put": self = .put(try operation.decode(LocalToDo.self, forKey: .row))
        case "remove": self = .remove(try operation.decode(Int64.self, forKey: .id))
        default:
            let row = try operation.nestedContainer(keyedBy: Field.self, forKey: .row)
            let id = try row.decode(Int64.self, forKey: .id)
            if let title = try row.decodeIfPresent(String.self, forKey: .title) {
                self = .rename(id, title)
            } else if let isDone = try row.decodeIfPresent(Bool.self, forKey: .isDone) {
                self = isDone ? .complete(id) : .reopen(id)
            } else {
                self = .postpone(id, try row.decodeIfPresent(String.self, forKey: .due))
            }
        }
    }
}
