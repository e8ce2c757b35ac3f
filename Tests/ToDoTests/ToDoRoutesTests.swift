import DemoSite
import Foundation
import GRDB
import HTTP1
import TestSite
import Testing

@testable import ToDo

@Suite("Routes of the to-dos") struct ToDoRoutesTests {
    private let site: SiteProbe

    init() async throws { site = try await SiteProbe(ToDoApp.demo) }

    private struct Snapshot: Decodable {
        let revision: Int64
        let rows: [ToDo]
    }

    private func snapshot(_ query: String) async throws -> Snapshot {
        let body = try await site.answer(.get, "/to-do/\(query)").body
        return try JSONDecoder().decode(Snapshot.self, from: Data(body.utf8))
    }

    private func commit(
        _ operations: String,
        to base: String = "open",
        mutation: String = "null"
    ) async throws -> SiteProbe.Answer {
        let body = #"{"mutation":\#(mutation),"operations":[\#(operations)]}"#
        return try await site.answer(.post, "/to-do/\(base)/operations", body)
    }

    private let bread =
        #"{"op":"put","row":{"id":4294967296,"title":"Buy bread","due":"2000-01-01"},"after":7}"#

    @Test func thePageIsBelowItsPath() async throws {
        for file in ToDoApp.demo.files {
            let name = file.name == "index.html" ? "" : file.name
            #expect(try await site.answer(.get, "/to-do/\(name)").status == 200)
        }
    }

    @Test func theQueryDeterminesTheOrder() async throws {
        let before = try await snapshot("open")
        let reply = try await commit(bread)
        #expect(reply.body == #"{"revision":\#(before.revision + 1)}"#)
        let after = try await snapshot("open")
        #expect(after.revision == before.revision + 1)
        #expect(after.rows.map(\.id) == [4_294_967_296] + before.rows.map(\.id))
    }

    @Test func completingLeavesOneResultAndEntersTheOther() async throws {
        let open = try await snapshot("open")
        _ = try await snapshot("done")
        let first = open.rows[0].id
        _ = try await commit(#"{"op":"update","row":{"id":\#(first),"isDone":true}}"#)
        _ = try await commit("", to: "done")
        let events = await site.events()
        let change = "{\"mutation\":null,\"operations\":[{\"id\":\(first),\"op\":\"remove\"}],"
        #expect(events.contains { $0.channel == "to-do-open" && $0.data.hasPrefix(change) })
        let put = events.first { $0.channel == "to-do-done" && $0.data.contains(#""op":"put""#) }
        #expect(put?.data.contains(#""title":"\#(open.rows[0].title)""#) == true)
    }

    @Test func writesOfOthersArePublished() async throws {
        let before = try await snapshot("open")
        try await site.environment.database.write { database in
            try database.execute(
                sql: "UPDATE ToDos SET title = 'Eat' WHERE id = \(before.rows[2].id)"
            )
        }
        // An empty edit waits for the writes before it.
        #expect(try await commit("").body == #"{"revision":\#(before.revision + 1)}"#)
        let events = await site.events()
        #expect(events.last?.data.contains(#""op":"update""#) == true)
        #expect(events.last?.data.contains(#""title":"Eat""#) == true)
    }

    @Test func twoClientsCanChangeDifferentFieldsOfARow() async throws {
        let row = try await snapshot("open").rows[1]
        _ = try await commit(#"{"op":"update","row":{"id":\#(row.id),"title":"A title"}}"#)
        _ = try await commit(#"{"op":"update","row":{"id":\#(row.id),"due":null}}"#)
        let changed = try await snapshot("open").rows.first { $0.id == row.id }
        #expect(changed?.title == "A title")
        #expect(changed?.due == nil)
        #expect(try await snapshot("open").rows.last?.id == 5)
    }

    @Test func aRepeatedEditIsAppliedOnce() async throws {
        let rename = #"{"op":"update","row":{"id":1,"title":"First"}}"#
        _ = try await commit(rename, mutation: #""a""#)
        _ = try await commit(#"{"op":"update","row":{"id":1,"title":"Second"}}"#, mutation: #""b""#)
        #expect(try await commit(rename, mutation: #""a""#).status == 200)
        #expect(try await snapshot("open").rows.first { $0.id == 1 }?.title == "Second")
    }

    @Test func aDeletedRowStaysDeleted() async throws {
        _ = try await commit(#"{"op":"remove","id":1}"#)
        #expect(try await commit(#"{"op":"update","row":{"id":1,"isDone":true}}"#).status == 200)
        #expect(try await commit(#"{"op":"remove","id":1}"#).status == 200)
        #expect(try await snapshot("open").rows.contains { $0.id == 1 } == false)
        #expect(try await snapshot("done").rows.contains { $0.id == 1 } == false)
    }

    @Test func allRowsAreReturnedWithTheirVersion() async throws {
        let reply = try await commit(bread, to: "rows").body
        let everything = try await site.answer(.get, "/to-do/rows").body
        #expect(everything.hasSuffix(#","version":\#(reply.dropFirst(#"{"version":"#.count))"#))
        #expect(everything.contains(#""title":"Mend the bicycle""#))
        #expect(everything.contains(#""title":"Buy bread""#))
    }

    @Test(arguments: [
        (#"{"op":"put","row":{"id":1,"title":" "}}"#, 400, "The field title must not be empty."),
        (
            #"{"op":"put","row":{"id":0,"title":"A"}}"#, 400,
            "The field id must be from 1 to 2^53 - 1, not 0."
        ),
        (
            #"{"op":"update","row":{"id":1,"due":"2026-2-3"}}"#, 400,
            "The field due must be a day like 2026-01-31, not 2026-2-3."
        ),
        (
            #"{"op":"update","row":{"id":1,"due":"2026-02-30"}}"#, 400,
            "The field due must be a day like 2026-01-31, not 2026-02-30."
        ),
        (#"{"op":"move","id":1,"after":null}"#, 400, "the order is by date"),
        (#"{"op":"update","row":{"title":"A"}}"#, 400, "operations.1.row.id"),
    ])
    func refusalsSayWhyAndDoNothing(operation: String, status: Int, sentence: String) async throws {
        let before = try await snapshot("open")
        let reply = try await commit(#"{"op":"remove","id":2},\#(operation)"#)
        #expect(reply.status == status)
        #expect(reply.body.contains(sentence), "\(reply.body)")
        #expect(try await snapshot("open").rows == before.rows)
    }

    @Test func aFullListRefusesRows() async throws {
        try await site.environment.database.write { database in
            for _ in 6..<ToDo.countMax {
                try database.execute(sql: "INSERT INTO ToDos (title) VALUES ('A')")
            }
        }
        let reply = try await commit(bread)
        #expect(reply.status == 409)
        #expect(reply.body == #"{"error":"The list is full: it takes 1000 to-dos at most."}"#)
    }

    @Test func anEditHasALimit() async throws {
        let operation = #"{"op":"remove","id":1}"#
        let reply = try await commit(Array(repeating: operation, count: 201).joined(separator: ","))
        #expect(reply.status == 413)
        #expect(reply.body == #"{"error":"An edit may have 200 operations, not 201."}"#)
        let mutation = String(repeating: "m", count: 65)
        let long = try await commit(operation, mutation: #""\#(mutation)""#)
        #expect(
            long.body == #"{"error":"The field mutation must not have more than 64 characters."}"#
        )
    }
}
