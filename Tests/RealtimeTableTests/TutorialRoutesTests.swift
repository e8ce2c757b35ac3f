import DemoSite
import Foundation
import GRDB
import HTTP1
import RealtimeTable
import TestSite
import Testing

@Suite("The routes of the tutorial") struct TutorialRoutesTests {
    let site: SiteProbe

    /// The list begins with John Doe alone.
    init() async throws {
        site = try await SiteProbe(RealtimeTable.demo)
        try await site.environment.database.write { database in
            try database.execute(sql: "DELETE FROM Users WHERE id > 1")
        }
    }

    @Test func listsTheUsers() async throws {
        let reply = try await site.answer(.get, "/users")
        #expect(reply.status == 200)
        #expect(reply.type == "application/json")
        #expect(reply.body.hasPrefix(#"[{"id":1,"name":"John Doe","position":1,"updated_at":""#))
    }

    /// The tutorial's events; each commit is also published as `list_changed`.
    private func tutorialEvents() async throws -> [Recorder.Event] {
        let events = await site.events()
        #expect(events.allSatisfy { $0.channel == "userslist" })
        return events.filter { $0.name != "list_changed" }
    }

    /// Adds a user as a tutorial client and returns the id.
    private func add(_ name: String) async throws -> Int64 {
        let reply = try await site.answer(.post, "/add", "name=\(name)&deviceId=phone")
        return try JSONDecoder().decode(Added.self, from: Data(reply.body.utf8)).id
    }

    private struct Added: Decodable { let id: Int64 }

    @Test(arguments: [
        ("name=Ada&deviceId=phone", "application/x-www-form-urlencoded"),
        (#"{"name":"Ada","deviceId":"phone"}"#, "application/json"),
    ])
    func addsAndTells(body: String, type: String) async throws {
        let reply = try await site.answer(.post, "/add", body, type: type)
        #expect(reply.status == 200)
        let id = try JSONDecoder().decode(Added.self, from: Data(reply.body.utf8)).id
        #expect(reply.body == #"{"deviceId":"phone","id":\#(id),"name":"Ada"}"#)
        #expect((1 << 32..<1 << 53).contains(id))
        let events = try await tutorialEvents()
        #expect(events.map(\.name) == ["addUser"])
        #expect(try sorted(events[0].data) == reply.body)
    }

    @Test(arguments: [
        ("id=1&index=0&deviceId=phone", "application/x-www-form-urlencoded"),
        (#"{"id":"1","index":0,"deviceId":"phone"}"#, "application/json"),
    ])
    func deletesAndTells(body: String, type: String) async throws {
        let reply = try await site.answer(.post, "/delete", body, type: type)
        #expect(reply.status == 200)
        #expect(reply.body == #"{"deviceId":"phone","id":1,"index":0}"#)
        #expect(try await site.answer(.get, "/users").body == "[]")
        let events = try await tutorialEvents()
        #expect(events.map(\.name) == ["removeUser"])
        #expect(try sorted(events[0].data) == reply.body)
    }

    @Test(arguments: [
        ("src=0&dest=1&src_id=1&dest_id=ADA&deviceId=phone", "application/x-www-form-urlencoded"),
        (#"{"src":0,"dest":1,"src_id":1,"dest_id":ADA,"deviceId":"phone"}"#, "application/json"),
    ])
    func movesAndTells(body: String, type: String) async throws {
        let ada = try await add("Ada")
        let body = body.replacing("ADA", with: "\(ada)")
        let reply = try await site.answer(.post, "/move", body, type: type)
        #expect(reply.status == 200)
        #expect(
            reply.body == #"{"dest":1,"dest_id":\#(ada),"deviceId":"phone","src":0,"src_id":1}"#
        )
        let events = try await tutorialEvents()
        #expect(events.map(\.name) == ["addUser", "moveUser"])
        #expect(try sorted(events[1].data) == reply.body)
    }

    @Test func aUserCanBeAddedToAnEmptyList() async throws {
        _ = try await site.answer(.post, "/delete", "id=1&index=0&deviceId=phone")
        _ = try await add("Ada")
        #expect(try await site.answer(.get, "/users").body.contains(#""name":"Ada","position":1"#))
    }

    @Test func aNameIsNeverReadAsSQL() async throws {
        let name = "Robert%27);%20DROP%20TABLE%20Users;%20--"
        _ = try await add(name)
        let body = try await site.answer(.get, "/users").body
        #expect(body.contains("Robert'); DROP TABLE Users; --"))
    }

    @Test func aFullListRefusesUsers() async throws {
        for start in stride(from: 0, to: 1_000, by: 125) {
            // One thousand users, including John Doe.
            let steps = (start..<min(start + 125, 999)).map { n in
                #"{"op":"put","row":{"id":\#(n + 2),"name":"U"},"after":\#(n + 1)}"#
            }
            let body = #"{"operations":[\#(steps.joined(separator: ","))]}"#
            #expect(try await site.answer(.post, "/table/rows/operations", body).status == 200)
        }
        let reply = try await site.answer(.post, "/add", "name=One+too+many&deviceId=phone")
        #expect(reply.status == 409)
        #expect(reply.body == #"{"error":"The list is full: the limit is 1000 rows."}"#)
    }

    @Test func thePageIsBelowItsPath() async throws {
        for name in ["", "table.js"] {
            let reply = try await site.answer(.get, "/table/\(name)")
            #expect(reply.status == 200)
            #expect(reply.type?.hasPrefix("text/") == true)
        }
    }

    @Test(arguments: [(Method.get, "/add"), (.post, "/users"), (.put, "/move")])
    func nothingElseIsHere(method: Method, path: String) async throws {
        #expect(try await site.answer(method, path).status == 404)
    }

    @Test(arguments: [
        ("/add", "deviceId=d", 400, "The field name is missing."),
        ("/add", "name=+&deviceId=d", 400, "The field name must not be empty."),
        ("/add", "name=Ada", 400, "The field deviceId is missing."),
        ("/delete", "id=x&index=0&deviceId=d", 400, "The field id must be an integer."),
        ("/delete", "id=1&deviceId=d", 400, "The field index is missing."),
        ("/delete", "id=9&index=0&deviceId=d", 404, "There is no user with the id 9."),
        ("/move", "src=0&dest=0&src_id=1&deviceId=d", 400, "The field dest_id is missing."),
        (
            "/move", "src=0&dest=0&src_id=9&dest_id=1&deviceId=d", 404,
            "There is no user with the id 9."
        ),
    ])
    func refusalsSayWhy(path: String, body: String, status: Int, sentence: String) async throws {
        let reply = try await site.answer(.post, path, body)
        #expect(reply.status == status)
        #expect(reply.body == #"{"error":"\#(sentence)"}"#)
        #expect(try await tutorialEvents().isEmpty)
    }
}
