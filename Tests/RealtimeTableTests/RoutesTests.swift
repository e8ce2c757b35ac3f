import DemoSite
import HTTP1
import RealtimeTable
import TestSite
import Testing

@Suite("Routes of the Realtime table") struct RoutesTests {
    let site: SiteProbe

    init() async throws { site = try await SiteProbe(.realtimeTable) }

    @Test func listsTheUsers() async throws {
        let reply = try await site.answer(.get, "/users")
        #expect(reply.status == 200)
        #expect(reply.type == "application/json")
        #expect(reply.body.hasPrefix(#"[{"id":1,"name":"John Doe","position":1,"updated_at":""#))
    }

    @Test(arguments: [
        ("name=Ada&deviceId=phone", "application/x-www-form-urlencoded"),
        (#"{"name":"Ada","deviceId":"phone"}"#, "application/json"),
    ])
    func addsAndTells(body: String, type: String) async throws {
        let reply = try await site.answer(.post, "/add", body, type: type)
        #expect(reply.status == 200)
        #expect(reply.body == #"{"deviceId":"phone","id":2,"name":"Ada"}"#)
        let events = await site.events()
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
        let events = await site.events()
        #expect(events.map(\.name) == ["removeUser"])
        #expect(try sorted(events[0].data) == reply.body)
    }

    @Test(arguments: [
        ("src=0&dest=1&src_id=1&dest_id=2&deviceId=phone", "application/x-www-form-urlencoded"),
        (#"{"src":0,"dest":1,"src_id":1,"dest_id":2,"deviceId":"phone"}"#, "application/json"),
    ])
    func movesAndTells(body: String, type: String) async throws {
        _ = try await site.answer(.post, "/add", "name=Ada&deviceId=phone")
        let reply = try await site.answer(.post, "/move", body, type: type)
        #expect(reply.status == 200)
        #expect(reply.body == #"{"dest":1,"dest_id":2,"deviceId":"phone","src":0,"src_id":1}"#)
        let events = await site.events()
        #expect(events.map(\.name) == ["addUser", "moveUser"])
        #expect(try sorted(events[1].data) == reply.body)
    }

    @Test func thePageIsBelowItsPath() async throws {
        for name in ["", "table.js", "list.js", "rows.js"] {
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
        #expect(await site.events().isEmpty)
    }
}
