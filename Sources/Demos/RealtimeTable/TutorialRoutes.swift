import DemoSite
import GRDB
import HTTP1
import LiveRows

/// The routes of the well-known tutorial at the root of the site, which edit the live list.
struct TutorialRoutes: Sendable {
    /// The maximum length of a device ID, in characters.
    static let deviceIDLengthMax = 100

    let users: PublishedList<User>
    let database: DatabaseQueue

    var all: [Route] {
        [
            .get("/users") { _ in try .encoding(try await database.read { try ListedUser.all($0) })
            },
            .post("/add") { try .encoding(try await add(RequestFields($0))) },
            .post("/delete") { try .encoding(try await delete(RequestFields($0))) },
            .post("/move") { try .encoding(try await move(RequestFields($0))) },
        ]
    }

    private func add(_ fields: RequestFields) async throws -> TableChange {
        let name = try fields.text("name", limit: User.nameLengthMax)
        return try await commit(fields) { rows in
            .put(User(id: .newRowID(), name: name), after: rows.last?.id)
        }
    }

    private func delete(_ fields: RequestFields) async throws -> TableChange {
        // The tutorial's API requires the index, but it is unused: the ID identifies the row.
        let _: Int = try fields.integer("index")
        let id: Int64 = try fields.integer("id")
        return try await commit(fields) { rows in
            guard rows.contains(where: { $0.id == id }) else { throw Self.unknownUser(id) }
            return .remove(id)
        }
    }

    private func move(_ fields: RequestFields) async throws -> TableChange {
        let request = Move(
            sourceIndex: try fields.integer("src"),
            destinationIndex: try fields.integer("dest"),
            sourceID: try fields.integer("src_id"),
            destinationID: try fields.integer("dest_id")
        )
        return try await commit(fields) { rows in
            guard let source = rows.firstIndex(where: { $0.id == request.sourceID }) else {
                throw Self.unknownUser(request.sourceID)
            }
            return .move(request.sourceID, after: request.anchor(in: rows.map(\.id), from: source))
        }
    }

    /// Commits one operation and returns the data of its event.
    private func commit(
        _ fields: RequestFields,
        _ decide: @Sendable ([User]) throws -> ListOperation<User>
    ) async throws -> TableChange {
        // The sender, so that its own screen recognises the event that it caused.
        let device = try fields.text("deviceId", limit: Self.deviceIDLengthMax)
        let commit = try await users.commit(by: device) { [try decide($0)] }
        guard let step = commit?.steps.first else { throw RequestError.notJSON }
        return TableChange.changes(for: step, by: device)[0]
    }

    private static func unknownUser(_ id: Int64) -> RequestError {
        .refused(404, "There is no user with the id \(id).")
    }
}

/// A row of the list in the tutorial's `GET /users`.
struct ListedUser: Codable, Equatable, Sendable, FetchableRecord {
    let id: Int64
    let name: String
    /// The position in the list: 1 for the first row.
    let position: Int
    /// The time of the last write of the row, in UTC: `2026-01-31 23:59:59`.
    let updatedAt: String

    // Columns of the database and keys of the JSON.
    private enum CodingKeys: String, CodingKey {
        case id, name, position
        case updatedAt = "updated_at"
    }

    /// Returns all users, in order.
    static func all(_ database: Database) throws -> [ListedUser] {
        try fetchAll(
            database,
            sql: "SELECT id, name, position, updated_at FROM Users ORDER BY position"
        )
    }
}
