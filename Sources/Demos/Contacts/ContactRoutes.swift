import DemoSite
import Foundation
import HTTP1
import HTTPServer

/// What the contacts' page asks for.
///
/// - `GET people` and `GET person?id=…` answer a snapshot: `{"revision": 7, "model": …}`.
/// - `POST add`, `change` and `remove` take the contact's `id`, and the first two its fields. They answer
///   `{"revision": 8}`, or a status of 4xx with `{"error": "…", "field": "…"}` when a field cannot be taken. Asked
///   twice, each is done once.
struct ContactRoutes: Sendable {
    let contacts: PublishedContacts

    /// Who is meant.
    private struct Target: Decodable { let id: String }

    var all: [Route] {
        [
            .get("people") { _ in try .encoding(try await contacts.people()) },
            .get("person") { request in
                guard let id = request.query["id"] else { throw RequestError.missing(field: "id") }
                return try .encoding(try await contacts.contact(Self.checked(id)))
            },
            .post("add") { request in
                try await answer {
                    let (id, edit) = try Self.read(request)
                    return try await contacts.add(try Contact(id: id, edit))
                }
            },
            .post("change") { request in
                try await answer {
                    let (id, edit) = try Self.read(request)
                    return try await contacts.change(id, edit)
                }
            },
            .post("remove") { request in
                let id = try Self.checked(try request.decode(Target.self).id)
                return try .encoding(["revision": try await contacts.remove(id)])
            },
        ]
    }

    private func answer(_ change: () async throws -> Int64) async throws -> Response {
        do {
            return try .encoding(["revision": try await change()])
        } catch let refusal as FieldRefusal {
            let body = try JSONText.encode([
                "error": refusal.description, "field": refusal.field.rawValue,
            ])
            return .json(Array(body.utf8), status: 422)
        }
    }

    private static func read(_ request: HTTPRequest) throws -> (String, ContactEdit) {
        (
            try checked(try request.decode(Target.self).id),
            try request.decode(ContactEdit.self)
        )
    }

    /// An id as the store and the channel's name have it.
    private static func checked(_ id: String) throws(RequestError) -> String {
        guard let uuid = UUID(uuidString: id) else {
            throw .refused(400, "The field id must be a UUID, not \(id.prefix(50)).")
        }
        return uuid.uuidString.lowercased()
    }
}
