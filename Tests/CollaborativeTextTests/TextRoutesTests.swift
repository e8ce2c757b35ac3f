import CollaborativeText
import DemoSite
import Foundation
import HTTP1
import LiveCollections
import TestSite
import Testing

@Suite("Routes of the text editor")
struct TextRoutesTests {
    let site: SiteProbe

    init() async throws { site = try await SiteProbe(CollaborativeText.demo) }

    private func decode<Value: Decodable>(_ text: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(text.utf8))
    }

    private func encode(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    private func post(_ batch: TextBatch) async throws -> SiteProbe.Answer {
        try await site.answer(
            .post,
            "/text/operations",
            try encode(batch),
            type: "application/json"
        )
    }

    private func string() async throws -> String {
        let snapshot: TextSnapshot = try decode(try await site.answer(.get, "/text/snapshot").body)
        return snapshot.string
    }

    @Test(
        "The tutorial's request is answered as the tutorial's backend does",
        arguments: [
            ("text=Hello+w%C3%B6rld&from=phone", "application/x-www-form-urlencoded"),
            (#"{"text":"Hello wörld","from":"phone"}"#, "application/json"),
        ]
    )
    func updateText(body: String, type: String) async throws {
        let reply = try await site.answer(.post, "/update_text", body, type: type)
        #expect(reply.status == 200)
        #expect(reply.body == #"{"success":200}"#)
        #expect(try await string() == "Hello wörld")
    }

    @Test("Whole-text clients receive text and device, other clients operations")
    func tells() async throws {
        _ = try await site.answer(.post, "/update_text", "text=Hi&from=phone")
        while site.recorder.events.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
        let events = await site.events()
        #expect(events.map(\.name) == ["text_operations", "text_update"])
        #expect(events.allSatisfy { $0.channel == "collabo" })
        let entry: TextEntry = try decode(events[0].data)
        #expect(entry.serial == 1)
        #expect(try sorted(events[1].data) == #"{"deviceId":"phone","text":"Hi"}"#)
    }

    @Test("Texts of one letter and empty texts are accepted unchanged, with white space")
    func shortTexts() async throws {
        for text in ["ab", "a", "", " \n"] {
            let body = try encode(["text": text, "from": "phone"])
            let reply = try await site.answer(.post, "/update_text", body, type: "application/json")
            #expect(reply.status == 200)
            #expect(try await string() == text)
        }
    }

    @Test("Concurrent edits of a whole-text client and another are both kept")
    func oldAndNew() async throws {
        _ = try await site.answer(.post, "/update_text", "text=one+two&from=phone")
        let snapshot: TextSnapshot = try decode(try await site.answer(.get, "/text/snapshot").body)
        var here = TextDocument(replica: .random(), from: snapshot)
        #expect(try await post(try here.replace(3..<3, with: " and a half")).status == 200)
        // The phone has not received this edit.
        _ = try await site.answer(.post, "/update_text", "text=one+two+three&from=phone")
        #expect(try await string() == "one and a half two three")
    }

    @Test("Batches are applied once and recovered by clients that missed them")
    func operations() async throws {
        var here = TextDocument(replica: .random())
        let batch = try here.replace(0..<0, with: "Hello")
        for _ in 0..<2 {
            let reply = try await post(batch)
            #expect(reply.status == 200)
            #expect(reply.body == #"{"serial":1}"#)
        }
        let reply = try await site.answer(.get, "/text/operations?after=0&epoch=0")
        #expect(
            try decode(reply.body)
                == TextRecovery.entries(
                    [
                        TextEntry(serial: 1, change: .batch(batch))
                    ],
                    serial: 1
                )
        )
        let other = try await site.answer(.get, "/text/operations?after=0&epoch=7")
        guard case .snapshot(let snapshot) = try decode(other.body) as TextRecovery else {
            Issue.record("another epoch needs the text")
            return
        }
        #expect(snapshot.string == "Hello")
    }

    @Test(
        "What does not fit is refused with what to do",
        arguments: [
            (
                "/text/operations",
                #"{"epoch":3,"replica":7,"number":1,"operations":[{"insert":"x","time":1}]}"#, 409
            ),
            (
                "/text/operations",
                #"{"epoch":0,"replica":7,"number":5,"operations":[{"insert":"x","time":1}]}"#, 409
            ),
            (
                "/text/operations",
                #"{"epoch":0,"replica":7,"number":1,"operations":[{"delete":[1,9,1]}]}"#, 409
            ),
            (
                "/text/operations",
                #"{"epoch":0,"replica":7,"number":1,"operations":[{"insert":"x","time":0}]}"#, 422
            ),
            ("/text/operations", #"{"epoch":0,"replica":0,"number":1,"operations":[]}"#, 400),
            ("/text/operations", "[]", 400),
            ("/update_text", #"{"text":"x"}"#, 400),
            ("/update_text", #"{"from":"phone"}"#, 400),
        ]
    )
    func refusals(path: String, body: String, status: Int) async throws {
        let reply = try await site.answer(.post, path, body, type: "application/json")
        #expect(reply.status == status)
        #expect(reply.body.hasPrefix(#"{"error":""#))
        #expect(try await string() == "")
    }

    @Test("A recovery needs serial and epoch", arguments: ["", "?after=1", "?after=x&epoch=0"])
    func recoveryFields(query: String) async throws {
        #expect(try await site.answer(.get, "/text/operations\(query)").status == 400)
    }

    @Test("A text that is too long is refused with the limit")
    func tooLong() async throws {
        let body = try encode(["text": String(repeating: "x", count: 100_001), "from": "phone"])
        let reply = try await site.answer(.post, "/update_text", body, type: "application/json")
        #expect(reply.status == 400)
        #expect(reply.body.contains("100000"))
    }

    @Test(
        "The files of the page are below its path",
        arguments: [
            "", "text.css", "text.js", "live-text.js", "carets.js", "undo.js",
        ]
    )
    func files(name: String) async throws {
        #expect(try await site.answer(.get, "/text/\(name)").status == 200)
    }
}
