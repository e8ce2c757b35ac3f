import DemoSite
import Foundation
import HTTP1
import PusherProtocol
import TestSite
import Testing

@Suite("Authorization of pages") struct AuthorizationTests {
    private static let demo = Demo(
        name: "Rooms",
        path: "/rooms/",
        channels: ["private-notes", "presence-room-*", "private-encrypted-*"],
        sharedSecret: { channel, _ in
            guard channel == "private-encrypted-a" else { throw RequestError.missing(field: "key") }
            return "key of \(channel)"
        }
    )

    private let user = "user_id=ann&user_name=Ann+B."

    private func answer(_ body: String) async throws -> (status: Int, fields: [String: String]) {
        let reply = try await SiteProbe(Self.demo).answer(.post, "/auth", body)
        let fields = try JSONDecoder().decode([String: String].self, from: Data(reply.body.utf8))
        return (reply.status, fields)
    }

    @Test func aPrivateChannelIsSigned() async throws {
        let (status, fields) = try await answer("socket_id=12.34&channel_name=private-notes")
        #expect(status == 200)
        #expect(Array(fields.keys) == ["auth"])
        try verify(fields, "private-notes")
    }

    @Test func aPresenceChannelIsSignedForItsMember() async throws {
        let (status, fields) = try await answer(
            "socket_id=12.34&channel_name=presence-room-1&\(user)"
        )
        #expect(status == 200)
        #expect(fields["channel_data"] == #"{"user_id":"ann","user_info":{"name":"Ann B."}}"#)
        try verify(fields, "presence-room-1")
    }

    @Test func thePagesOfAnEncryptedChannelGetItsKey() async throws {
        let (status, fields) = try await answer("socket_id=12.34&channel_name=private-encrypted-a")
        #expect(status == 200)
        #expect(fields["shared_secret"] == "key of private-encrypted-a")
        try verify(fields, "private-encrypted-a")
    }

    @Test func anEncryptedChannelWithoutAKeyIsRefused() async throws {
        let (status, fields) = try await answer("socket_id=12.34&channel_name=private-encrypted-b")
        #expect(status == 400)
        #expect(Array(fields.keys) == ["error"])
    }

    private func verify(_ fields: [String: String], _ channel: String) throws {
        try ChannelSignature.verify(
            try #require(fields["auth"]),
            socketID: SocketID(12, 34),
            channel: channel,
            channelData: fields["channel_data"]
        ) { $0 == "app-key" ? AppSecret("app-secret") : nil }
    }

    @Test func withoutAChannelTheUserIsSignedIn() async throws {
        let (status, fields) = try await answer("socket_id=12.34&\(user)")
        #expect(status == 200)
        let data = try #require(fields["user_data"])
        #expect(data == #"{"id":"ann","user_info":{"name":"Ann B."}}"#)
        try UserSignature.verify(
            try #require(fields["auth"]),
            socketID: SocketID(12, 34),
            userData: data
        ) { $0 == "app-key" ? AppSecret("app-secret") : nil }
    }

    @Test(arguments: [
        ("channel_name=private-notes", 400, "The field socket_id is missing."),
        ("socket_id=1", 400, "1 is not a socket ID such as 123.456."),
        (
            "socket_id=1.2&channel_name=private-other", 403,
            "No demo has a channel private-other to join."
        ),
        (
            "socket_id=1.2&channel_name=private-notes-2", 403,
            "No demo has a channel private-notes-2 to join."
        ),
        (
            "socket_id=1.2&channel_name=presence-room-%2F", 403,
            "No demo has a channel presence-room-/ to join."
        ),
        ("socket_id=1.2&channel_name=presence-room-1", 400, "The field user_id is missing."),
        ("socket_id=1.2&user_id=ann", 400, "The field user_name is missing."),
        (
            "socket_id=1.2&user_id=a+b&user_name=A", 400,
            "The field user_id may have letters, digits and _-=@,.; only."
        ),
    ])
    func refusalsSayWhy(body: String, status: Int, sentence: String) async throws {
        let reply = try await answer(body)
        #expect(reply.status == status)
        #expect(reply.fields == ["error": sentence])
    }
}
