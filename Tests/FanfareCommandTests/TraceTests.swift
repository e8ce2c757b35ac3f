import Foundation
import TestProgram
import Testing

@testable import fanfare

@Suite("fanfare trace", .timeLimit(.minutes(1))) struct TraceTests {
    private static func record(_ kind: String) -> TraceBatch.Record {
        TraceBatch.Record(at: 1_795_253_603_042, kind: kind)
    }

    private func line(
        _ record: TraceBatch.Record,
        isJSON: Bool = false,
        isColored: Bool = false
    ) -> String {
        TraceText(isJSON: isJSON, isColored: isColored).line(record)
    }

    @Test("An event: time, channel, name, whom it excludes and the data")
    func anEvent() {
        var record = Self.record("event")
        (record.channel, record.event, record.data, record.length) = ("news", "e", "{\n}", 3)
        // The time is local; the time zone is unknown.
        #expect(line(record).dropFirst(12) == #" event          news e {\n}"#)
        #expect(line(record).prefix(12).contains(/^\d\d:\d\d:23\.042$/))
        (record.socket, record.length) = ("1.2", 9)
        #expect(line(record).hasSuffix(#"news e (not to 1.2) {\n}…"#))
    }

    @Test func aRefusalSaysWhyAndWhatToDo() {
        var record = Self.record("refused")
        (record.subject, record.channel, record.socket) = ("subscription", "private-x", "1.2")
        (record.reason, record.code, record.advice) = ("Invalid signature", 401, "sign with it")
        #expect(
            line(record).hasSuffix(
                "subscription of private-x 1.2: Invalid signature (401); sign with it"
            )
        )
        #expect(line(record, isColored: true).contains("\u{1B}[31mrefused"))
    }

    @Test func controlCharactersAreEscaped() {
        var record = Self.record("connected")
        (record.socket, record.address, record.library) = ("1.2", "[::1]:9", "js\u{1B}[2J")
        #expect(line(record).hasSuffix(#"connected      1.2 [::1]:9 js\u{1b}[2J"#))
    }

    @Test func jsonIsOneObject() {
        var record = Self.record("subscribed")
        (record.channel, record.socket, record.user) = ("presence-a", "1.2", "ann")
        #expect(
            line(record, isJSON: true)
                == #"{"time":"2026-11-21T09:33:23.042Z","kind":"subscribed","channel":"presence-a","#
                + #""socket_id":"1.2","user_id":"ann"}"#
        )
    }

    @Test("Of a broker that runs: what fits, until enough is shown")
    func aBroker() async throws {
        let broker = try await RunningBroker()
        let program = try RunningProgram(
            ["trace", "--channel", "news", "--count", "2", "--json", "--url", broker.url()]
        )
        #expect(await program.errors.first(containing: "tracing app 1 at") != nil)
        for (channel, data) in [("sport", "0"), ("news", "1"), ("news", "2")] {
            _ = try await Program.run(
                ["trigger", "e", data, "--channel", channel, "--url", broker.url()]
            )
        }
        let lines = await program.output.rest()
        #expect(await program.end() == 0)
        #expect(lines.count == 2)
        let event = #""kind":"event","channel":"news","event":"e","data":"1""#
        #expect(lines.first?.contains(event) == true)
        #expect(lines.last?.contains(#""data":"2""#) == true)
    }

    @Test("A broker that is restarted is traced anew")
    func aRestart() async throws {
        let first = try await RunningBroker()
        let url = first.url()
        let port = try #require(url.split(separator: ":").last.map(String.init))
        let program = try RunningProgram(["trace", "--count", "1", "--url", url])
        #expect(await program.errors.first(containing: "tracing app 1 at") != nil)
        first.program.signal(SIGINT)
        #expect(await program.errors.first(containing: "Trying again …") != nil)
        let second = try await RunningBroker(["--port", port])
        #expect(await program.errors.first(containing: "a new one has begun") != nil)
        _ = try await Program.run(["trigger", "e", "1", "--channel", "c", "--url", second.url()])
        #expect(await program.output.first(containing: "event") != nil)
        #expect(await program.end() == 0)
    }

    @Test(arguments: [
        (["trace", "--count", "0"], 64, "--count must be 1 or more"),
        (["trace", "--socket", "x"], 64, "--socket must be a socket ID such as 27.9132, not x"),
        (["trace", "--url", "http://127.0.0.1:1"], 1, "127.0.0.1:1"),
        (["trace", "--url", "nowhere"], 64, "nowhere"),
    ])
    func mistakes(arguments: [String], code: Int32, text: String) async throws {
        let result = try await Program.run(arguments)
        #expect(result.code == code)
        #expect(result.errors.contains(text), "\(result.errors)")
    }

    @Test("A wrong secret, and a server that is none of ours, end it with what to do")
    func refusals() async throws {
        let broker = try await RunningBroker()
        let wrong = try await Program.run(["trace", "--secret", "x", "--url", broker.url()])
        #expect(wrong.code == 1 && wrong.errors.contains("Check the app's id, key and secret"))
        let other = try await Program.run(["trace", "--app-id", "9", "--url", broker.url()])
        #expect(other.code == 1 && other.errors.contains("No app has the ID 9"))
    }
}
