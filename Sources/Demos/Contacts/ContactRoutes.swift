import DemoSite
import Foundation
import HTTP1
import HTTPServer

/// The routes of the contacts' page.
///
/// - `GET people` and `GET person?id=…` return a snapshot: `{"revision": 7, "model": …}`.
/// - `POST add`, `change` and `remove` take the contact's `id`; the first two also take its fields. They return
///   `{"revision": 8}`. For an invalid field they return a 4xx status with `{"error": "…", "field": "…"}`. They are
///   idempotent.
struct ContactRoutes: Sendable {
    let contacts: PublishedContacts

    /// The contact of a request.
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

    /// Validates an ID and returns it in lower case.
    private static func checked(_ id: String) throws(RequestError) -> String {
        guard let uuid = UUID(uuidString: id) else {
            throw .refused(400, "The field id must be a UUID, not \(id.prefix(50)).")
        }
        return uuid.uuidString.lowercased()
    }
}
