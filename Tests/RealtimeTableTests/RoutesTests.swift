import HTTP1
import HTTPServer

import Testing

@testable import RealtimeTable

@Suite("Routes of the Realtime table") struct RoutesTests {
    let recorder = Recorder()
    let outbox: Outbox
    let routes: Routes

    init() throws {
        outbox = Outbox(trigger: recorder) { _ in }
        routes = Routes(
            users: UserList(store: try UserStore(path: nil), outbox: outbox),
            page: try Page(
                broker: PublicBroker(key: "app-key", host: nil, port: 6001, tls: false)
            )
        )
    }

    private func answer(
        _ method: Method,
        _ path: String,
        _ body: String = "",
        type: String? = nil,
        accept: String? = nil
    ) async throws -> (status: Int, body: String, type: String?) {
        var fields: [Field] = []
        if let type { fields.append(Field("Content-Type", type)) }
        if let accept { fields.append(Field("Accept", accept)) }
        let request = Request(
            method,
            path,
            host: "table.example",
            fields: fields,
            body: Array(body.utf8)
        )
        let response = await routes.answer(try received(request))
        return (
            response.status.code, String(decoding: response.body, as: UTF8.self),
            response.field("content-type")
        )
    }

    /// The request as it arrives at the other end of a connection.
    private func received(_ request: Request) throws -> HTTPRequest {
        let bytes = try request.encode()
        var parser = RequestParser()
        var index = 0
        guard case .head(let head) = try parser.advance(over: bytes.span, from: &index),
            case .content(let content) = try parser.advance(over: bytes.span, from: &index)
        else { throw RequestError.nothingHere(method: "", path: "") }
        return HTTPRequest(head: head, body: content.copy(from: bytes.span))
    }

    @Test func listsTheUsers() async throws {
        let (status, body, type) = try await answer(.get, "/users")
        #expect(status == 200)
        #expect(type == "application/json")
        #expect(body.hasPrefix(#"[{"id":1,"name":"John Doe","position":1,"updated_at":""#))
    }

    @Test(arguments: [
        ("name=Ada&deviceId=phone", "application/x-www-form-urlencoded"),
        (#"{"name":"Ada","deviceId":"phone"}"#, "application/json"),
    ])
    func addsAndTells(body: String, type: String) async throws {
        let (status, answer, _) = try await answer(.post, "/add", body, type: type)
        #expect(status == 200)
        #expect(answer == #"{"deviceId":"phone","id":2,"name":"Ada"}"#)
        await outbox.close()
        #expect(recorder.events.map(\.name) == ["addUser"])
        #expect(try sorted(recorder.events[0].data) == answer)
    }

    @Test(arguments: [
        ("id=1&index=0&deviceId=phone", "application/x-www-form-urlencoded"),
        (#"{"id":"1","index":0,"deviceId":"phone"}"#, "application/json"),
    ])
    func deletesAndTells(body: String, type: String) async throws {
        let (status, answer, _) = try await answer(.post, "/delete", body, type: type)
        #expect(status == 200)
        #expect(answer == #"{"deviceId":"phone","id":1,"index":0}"#)
        #expect(try await self.answer(.get, "/users").body == "[]")
        await outbox.close()
        #expect(recorder.events.map(\.name) == ["removeUser"])
        #expect(try sorted(recorder.events[0].data) == answer)
    }

    @Test(arguments: [
        ("src=0&dest=1&src_id=1&dest_id=2&deviceId=phone", "application/x-www-form-urlencoded"),
        (#"{"src":0,"dest":1,"src_id":1,"dest_id":2,"deviceId":"phone"}"#, "application/json"),
    ])
    func movesAndTells(body: String, type: String) async throws {
        _ = try await answer(.post, "/add", "name=Ada&deviceId=phone")
        let (status, answer, _) = try await answer(.post, "/move", body, type: type)
        #expect(status == 200)
        #expect(answer == #"{"dest":1,"dest_id":2,"deviceId":"phone","src":0,"src_id":1}"#)
        await outbox.close()
        #expect(recorder.events.map(\.name) == ["addUser", "moveUser"])
        #expect(try sorted(recorder.events[1].data) == answer)
    }

    @Test func theRootIsASignOfLifeOrThePage() async throws {
        for accept in [nil, "*/*", "application/json"] {
            #expect(try await answer(.get, "/", accept: accept).body == #""It works!""#)
        }
        let (status, page, type) = try await answer(.get, "/", accept: "text/html,*/*;q=0.8")
        #expect(status == 200)
        #expect(type == "text/html; charset=utf-8")
        #expect(page.contains("<title>Realtime table</title>"))
    }

    @Test(arguments: ["style.css", "table.js", "list.js", "rows.js", "backend.js", "fanfare.js"])
    func thePageFindsItsFiles(name: String) async throws {
        let (status, body, type) = try await answer(.get, "/\(name)")
        #expect(status == 200)
        #expect(!body.isEmpty)
        #expect(type?.hasPrefix("text/") == true)
    }

    @Test func thePageLearnsWhereTheBrokerIs() async throws {
        let config = try sorted(try await answer(.get, "/config.json").body)
        #expect(config == #"{"key":"app-key","port":6001,"tls":false}"#)
    }

    @Test(arguments: [
        (Method.get, "/nowhere"), (.get, "/add"), (.post, "/users"), (.post, "/"),
        (.put, "/move"), (.get, "/../Package.swift"),
    ])
    func nothingElseIsHere(method: Method, path: String) async throws {
        let (status, body, type) = try await answer(method, path, accept: "text/html")
        #expect(status == 404)
        #expect(type == "application/json")
        #expect(body.contains("error"))
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
        let answer = try await answer(.post, path, body)
        #expect(answer.status == status)
        #expect(answer.body == #"{"error":"\#(sentence)"}"#)
        await outbox.close()
        #expect(recorder.events.isEmpty)
    }
}
