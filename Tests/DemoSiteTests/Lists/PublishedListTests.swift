import HTTP1
import TestSite
import Testing

@testable import DemoSite

@Suite("A live list on the site") struct PublishedListTests {
    private static let demo = Demo(
        name: "Entries",
        path: "/entries/",
        migrations: [Entry.migration]
    ) { environment in
        PublishedList<Entry>(
            ListStore(environment.database),
            channel: "entries",
            outbox: environment.outbox
        ) { commit, device in
            [OutgoingEvent("old", on: "entries", data: "\(commit.change.revision) by \(device)")]
        }
        .routes(below: "rows")
    }

    private let site: SiteProbe

    init() async throws { site = try await SiteProbe(Self.demo) }

    private func post(_ body: String) async throws -> SiteProbe.Answer {
        try await site.answer(.post, "/entries/rows/operations", body)
    }

    @Test func returnsASnapshot() async throws {
        let reply = try await site.answer(.get, "/entries/rows")
        #expect(reply.body.hasPrefix(#"{"revision":0,"rows":[{"id":"a","text":"text"},"#))
    }

    @Test func commitsAndPublishes() async throws {
        let operations = #"[{"op":"move","id":"d","after":null},{"op":"remove","id":"a"}]"#
        let reply = try await post(#"{"mutation":"m","operations":\#(operations)}"#)
        #expect(reply.status == 200)
        #expect(reply.body == #"{"revision":1}"#)
        let events = await site.events()
        #expect(events.map(\.name) == ["list_changed", "old"])
        let expected = #"{"mutation":"m","operations":\#(operations),"revision":1}"#
        #expect(try sorted(events[0].data) == sorted(expected))
        #expect(events[1].data == "1 by m")
    }

    @Test func aMutationIsAppliedAndPublishedOnce() async throws {
        for _ in 0..<3 {
            let reply = try await post(#"{"mutation":"m","operations":[{"op":"remove","id":"a"}]}"#)
            #expect(reply.body == #"{"revision":1}"#)
        }
        _ = try await post(#"{"operations":[{"op":"remove","id":"b"}]}"#)
        #expect(try await site.answer(.get, "/entries/rows").body.hasPrefix(#"{"revision":2,"#))
        #expect(await site.events().count == 4)
    }

    @Test func anEditCanRequireARevision() async throws {
        func update(_ text: String) async throws -> SiteProbe.Answer {
            let row = #"{"id":"a","text":"\#(text)"}"#
            let operation = #"{"op":"update","row":\#(row)}"#
            return try await post(
                #"{"mutation":"\#(text)","ifRevision":0,"operations":[\#(operation)]}"#
            )
        }
        #expect(try await update("first").status == 200)
        let late = try await update("late")
        #expect(late.status == 409)
        #expect(late.body.contains("it has revision 1, not 0"))
        // An applied mutation is confirmed at any later revision.
        #expect(try await update("first").status == 200)
        #expect(try await site.answer(.get, "/entries/rows").body.contains(#""text":"first""#))
    }

    @Test(arguments: [
        ("", 400, "The body has the wrong structure"),
        ("{}", 400, "operations"),
        (#"{"operations":[{"op":"dance"}]}"#, 400, "operations.0.op"),
        (#"{"operations":[{"op":"put","row":{"id":"n"}}]}"#, 400, "operations.0.row.text"),
        (#"{"operations":[{"op":"move","id":7,"after":null}]}"#, 400, "operations.0.id"),
        (#"{"mutation":" ","operations":[]}"#, 400, "The field mutation must not be empty."),
        (
            #"{"operations":[{"op":"update","row":{"id":"a","text":"too long"}}]}"#, 400,
            "The field text must not have more than 5 characters."
        ),
    ])
    func refusalsSayWhy(body: String, status: Int, part: String) async throws {
        let reply = try await post(body)
        #expect(reply.status == status)
        #expect(reply.body.contains(part))
        #expect(await site.events().isEmpty)
    }

    @Test func aCommitHasALimit() async throws {
        let steps = Array(repeating: #"{"op":"remove","id":"a"}"#, count: 201)
        let reply = try await post(#"{"operations":[\#(steps.joined(separator: ","))]}"#)
        #expect(reply.status == 413)
        #expect(reply.body == #"{"error":"A commit may have 200 operations, not 201."}"#)
    }
}
