import DemoSite

/// A client's commit, in the format of live lists: `{"mutation": "…", "operations": […]}`.
///
/// An operation has no position: the query defines the order. An update contains only the fields that it changes.
struct ToDoEdit: Decodable, Sendable {
    /// The ID of the edit; a repeated edit is applied once.
    let mutation: String?
    let operations: [Operation]

    enum Operation: Sendable {
        case put(ToDo)
        case update(Fields)
        case remove(Int64)
    }

    /// The fields of an update; `nil` for unchanged ones.
    struct Fields: Sendable {
        let id: Int64
        let title: String?
        /// `.some(nil)` to remove the date.
        let due: String??
        let isDone: Bool?
    }
}

extension ToDoEdit.Fields: Decodable {
    private enum CodingKeys: String, CodingKey { case id, title, due, isDone }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        id = try fields.decode(Int64.self, forKey: .id)
        title = try fields.decodeIfPresent(String.self, forKey: .title)
        due =
            fields.contains(.due)
            ? .some(try fields.decodeIfPresent(String.self, forKey: .due)) : nil
        isDone = try fields.decodeIfPresent(Bool.self, forKey: .isDone)
    }
}

extension ToDoEdit.Operation: Decodable {
    private enum CodingKeys: String, CodingKey { case op, row, id }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        switch try fields.decode(String.self, forKey: .op) {
        case "put":
            let row = try fields.decode(ToDoEdit.Fields.self, forKey: .row)
            self = .put(
                ToDo(
                    id: row.id,
                    title: row.title ?? "",
                    due: row.due ?? nil,
                    isDone: row.isDone ?? false
                )
            )
        case "update": self = .update(try fields.decode(ToDoEdit.Fields.self, forKey: .row))
        case "remove": self = .remove(try fields.decode(Int64.self, forKey: .id))
        case let other:
            throw DecodingError.dataCorruptedError(
                forKey: .op,
                in: fields,
                debugDescription: """
                    \(other.prefix(20)) is not put, update or remove; the order is by date, so there is \
                    nothing to move.
                    """
            )
        }
    }
}
