import DemoSite
import HTTP1

/// The routes of the well-known tutorial, which are at the root of the site.
struct Routes: Sendable {
    /// The most characters of a name.
    static let nameLengthMax = 100
    /// The most characters of a device's identifier.
    static let deviceIDLengthMax = 100

    let users: UserList

    var all: [Route] {
        [
            .get("/users") { _ in try .encoding(try await users.users()) },
            .post("/add") { try .encoding(try await add(RequestFields($0))) },
            .post("/delete") { try .encoding(try await delete(RequestFields($0))) },
            .post("/move") { try .encoding(try await move(RequestFields($0))) },
        ]
    }

    private func add(_ fields: RequestFields) async throws -> TableChange {
        try await users.add(
            name: fields.text("name", limit: Self.nameLengthMax),
            deviceID: fields.deviceID()
        )
    }

    private func delete(_ fields: RequestFields) async throws -> TableChange {
        // The index is asked for, since the answer has one, but the id decides.
        let _: Int = try fields.integer("index")
        return try await users.remove(id: fields.integer("id"), deviceID: fields.deviceID())
    }

    private func move(_ fields: RequestFields) async throws -> TableChange {
        let request = Move(
            sourceIndex: try fields.integer("src"),
            destinationIndex: try fields.integer("dest"),
            sourceID: try fields.integer("src_id"),
            destinationID: try fields.integer("dest_id")
        )
        return try await users.move(request, deviceID: fields.deviceID())
    }
}

extension RequestFields {
    /// Who acted, so that its own screen can tell the event that it caused.
    fileprivate func deviceID() throws(RequestError) -> String {
        try text("deviceId", limit: Routes.deviceIDLengthMax)
    }
}
