import Foundation
import HTTP1
import HTTPServer

/// What the backend answers: a function from a request to a response, with no socket in sight.
struct Routes: Sendable {
    /// The most characters of a name.
    static let nameLengthMax = 100
    /// The most characters of a device's identifier.
    static let deviceIDLengthMax = 100

    let users: UserList
    let page: Page

    /// Answers a request; whatever goes wrong becomes a JSON object with an `error`.
    func answer(_ request: HTTPRequest) async -> Response {
        do {
            // The answer to HEAD is that to GET; its content is left out where it is written.
            switch (request.method == .head ? .get : request.method, request.path) {
            case (.get, "/users"): return try Self.json(try await users.users())
            case (.post, "/add"): return try await add(RequestFields(request))
            case (.post, "/delete"): return try await delete(RequestFields(request))
            case (.post, "/move"): return try await move(RequestFields(request))
            // A browser gets the page; what asks for nothing in particular, the sign of life.
            case (.get, "/") where !request.accepts("text/html"): return try Self.json("It works!")
            case (.get, let path): return page.file(path) ?? Self.nothingHere(request)
            default: return Self.nothingHere(request)
            }
        } catch let error as RequestError {
            return Self.refusal(error)
        } catch {
            // Not the caller's fault, and its text may not be the caller's business.
            return Self.failure(status: 500, "The list cannot be read or changed just now.")
        }
    }

    private func add(_ fields: RequestFields) async throws -> Response {
        try Self.json(
            try await users.add(
                name: fields.text("name", limit: Self.nameLengthMax),
                deviceID: fields.deviceID()
            )
        )
    }

    private func delete(_ fields: RequestFields) async throws -> Response {
        // The index is asked for, since the answer has one, but the id decides.
        let _: Int = try fields.integer("index")
        return try Self.json(
            try await users.remove(id: fields.integer("id"), deviceID: fields.deviceID())
        )
    }

    private func move(_ fields: RequestFields) async throws -> Response {
        let request = Move(
            sourceIndex: try fields.integer("src"),
            destinationIndex: try fields.integer("dest"),
            sourceID: try fields.integer("src_id"),
            destinationID: try fields.integer("dest_id")
        )
        return try Self.json(try await users.move(request, deviceID: fields.deviceID()))
    }
}

extension Routes {
    private static func json(_ value: some Encodable) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return .json([UInt8](try encoder.encode(value)))
    }

    private static func nothingHere(_ request: HTTPRequest) -> Response {
        refusal(.nothingHere(method: request.method.description, path: request.path))
    }

    private static func refusal(_ error: RequestError) -> Response {
        failure(status: error.status, error.description)
    }

    private static func failure(status: Status, _ sentence: String) -> Response {
        let body = (try? JSONEncoder().encode(["error": sentence])) ?? Data("{}".utf8)
        return .json([UInt8](body), status: status)
    }
}

extension RequestFields {
    fileprivate init(_ request: HTTPRequest) throws(RequestError) {
        try self.init(request.body, contentType: request.field("content-type"))
    }

    /// Who acted, so that its own screen can tell the event that it caused.
    fileprivate func deviceID() throws(RequestError) -> String {
        try text("deviceId", limit: Routes.deviceIDLengthMax)
    }
}

extension HTTPRequest {
    /// Whether the client named this media type among those it wants.
    fileprivate func accepts(_ type: String) -> Bool {
        field("accept")?.lowercased().contains(type) ?? false
    }
}
