import BrowserClient
package import DemoSite
import FanfareEncryption

/// A room with members, typing indicators, pointers, and messages that the broker cannot read.
///
/// Members, typing and pointers are client events on a presence channel, which no backend sees. The backend
/// receives the messages, keeps the last ones and publishes them on an end-to-end encrypted channel.
package enum Room {
    /// Its page, its routes and its tables.
    package static let demo = Demo(
        name: "Room",
        path: "/room/",
        files: [
            .page(
                title: "Room",
                purpose: "Who is here, who is typing, and messages that only this room can read.",
                style: "room.css",
                script: "room.js",
                content: PackageResources.content_html
            ),
            SiteFile("room.css", PackageResources.room_css),
            SiteFile("room.js", PackageResources.room_js),
            SiteFile("messages.js", PackageResources.messages_js),
            SiteFile("pointers.js", PackageResources.pointers_js),
            SiteFile("typing.js", PackageResources.typing_js),
            SiteFile("fanfare-encrypted.js", BrowserFile.encrypted.bytes),
        ],
        migrations: [RoomMessages.migration],
        channels: ["presence-room", RoomMessages.channel]
    ) { environment in
        RoomRoutes(messages: RoomMessages(environment)).all
    } sharedSecret: { channel, environment in
        try await RoomMessages(environment).masterKey().sharedSecret(of: channel)
    }
}
