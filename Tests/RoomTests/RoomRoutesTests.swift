import DemoSite
import FanfareEncryption
import Foundation
import GRDB
import HTTP1
import TestSite
import Testing

@testable import Room

@Suite("Routes of the room") struct RoomRoutesTests {
    private let site: SiteProbe

    init() async throws { site = try await SiteProbe(Room.demo) }

    private func say(_ id: String, _ text: String) async throws -> SiteProbe.Answer {
        let body = "id=\(id)&user_id=ada&user_name=Ada&text=\(text)"
        return try await site.answer(.post, "/room/messages", body)
    }

    private func messages() async throws -> [RoomMessage] {
        let body = try await site.answer(.get, "/room/messages").body
        return try JSONDecoder().decode([RoomMessage].self, from: Data(body.utf8))
    }

    private func authorize(_ channel: String) async throws -> [String: String] {
        let user = "user_id=ada&user_name=Ada"
        let body = "socket_id=12.34&channel_name=\(channel)&\(user)"
        let answer = try await site.answer(.post, "/auth", body)
        #expect(answer.status == 200)
        return try JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))
    }

    @Test func thePageIsBelowItsPath() async throws {
        for file in Room.demo.files {
            let name = file.name == "index.html" ? "" : file.name
            #expect(try await site.answer(.get, "/room/\(name)").status == 200)
        }
    }

    @Test func aMessageIsPublishedEncryptedWithTheKeyOfThePages() async throws {
        #expect(try await say("a", "Hello+%E2%9C%93").status == 200)
        let secret = try #require(try await authorize("private-encrypted-room")["shared_secret"])
        let events = await site.events()
        #expect(events.map(\.name) == ["message"])
        #expect(events.map(\.channel) == ["private-encrypted-room"])
        #expect(!events[0].data.contains("Hello"))
        let text = try SecretBoxDecrypter().open(events[0].data, sharedSecret: secret)
        let message = try JSONDecoder().decode(RoomMessage.self, from: Data(text.utf8))
        #expect(message.text == "Hello ✓")
        #expect(try await messages() == [message])
    }

    @Test func aMessageThatIsSentAgainIsPublishedOnce() async throws {
        for _ in 0..<2 { #expect(try await say("a", "Hello").status == 200) }
        #expect(try await messages().map(\.id) == ["a"])
        #expect(await site.events().count == 1)
    }

    @Test func theLastFiftyMessagesAreKept() async throws {
        for number in 1...52 { _ = try await say("\(number)", "x") }
        #expect(try await messages().map(\.id) == (3...52).map { "\($0)" })
    }

    @Test func membersNeedNoKey() async throws {
        let fields = try await authorize("presence-room")
        #expect(fields.keys.sorted() == ["auth", "channel_data"])
    }

    @Test("No two databases share a key, and one keeps its own")
    func keysAreOfTheDatabase() async throws {
        let other = try await SiteProbe(Room.demo)
        func key(_ site: SiteProbe) async throws -> MasterKey {
            try await RoomMessages(site.environment).masterKey()
        }
        #expect(try await key(site) == key(site))
        #expect(try await key(site) != key(other))
    }

    @Test(arguments: [
        ("user_id=a&user_name=A&text=x", "The field id is missing."),
        ("id=a&user_id=a&user_name=A&text=+", "The field text must not be empty."),
        ("id=a&user_id=a&text=x", "The field user_name is missing."),
    ])
    func anInvalidMessageIsRefused(body: String, reason: String) async throws {
        let answer = try await site.answer(.post, "/room/messages", body)
        #expect(answer.status == 400)
        #expect(answer.body == #"{"error":"\#(reason)"}"#)
    }

    @Test func aLongMessageIsRefused() async throws {
        #expect(try await say("a", String(repeating: "x", count: 501)).status == 400)
        #expect(try await messages().isEmpty)
        #expect(await site.events().isEmpty)
    }

    @Test func downDropsTheTables() async throws {
        let database = site.environment.database
        #expect(try Room.demo.migrations.migrateDown(database) == "createRoom")
        #expect(try await database.read { try $0.tableExists("RoomMessages") } == false)
    }
}
