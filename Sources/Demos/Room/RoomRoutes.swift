import DemoSite
import Foundation
import HTTP1
import HTTPServer

/// The routes of the room's page.
///
/// - `GET messages` returns the last messages, oldest first.
/// - `POST messages` takes `id`, `user_id`, `user_name` and `text`; it is idempotent.
struct RoomRoutes: Sendable {
    let messages: RoomMessages

    var all: [Route] {
        [
            .get("messages") { _ in try .encoding(try await messages.all()) },
            .post("messages") { request in
                let message = try Self.message(RequestFields(request))
                try await messages.add(message)
                return try .encoding(["id": message.id])
            },
        ]
    }

    private static func message(_ fields: RequestFields) throws(RequestError) -> RoomMessage {
        RoomMessage(
            id: try fields.text("id", limit: RoomMessage.idLengthMax),
            user: try fields.text("user_id", limit: RoomMessage.userLengthMax),
            name: try fields.text("user_name", limit: RoomMessage.nameLengthMax),
            text: try fields.text("text", limit: RoomMessage.textLengthMax),
            sentAt: Int64(Date().timeIntervalSince1970)
        )
    }
}
