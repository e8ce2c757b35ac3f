import Foundation
import HTTP1
import HTTPServer
import Net
import Synchronization
import TestProgram
import Testing
import Webhooks

/// A backend that answers 410 until it is told to answer 200.
private final class Backend: Sendable {
    private final class State: Sendable {
        let bodies = Mutex<[String]>([])
        let accepts = Mutex(false)
    }

    let url: String
    private let service: HTTPService
    private let state = State()

    init() throws {
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        service = try HTTPService.start(on: [address]) { [state] request in
            state.bodies.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
            return Response(status: state.accepts.withLock { $0 } ? 200 : 410)
        }
        url = "http://127.0.0.1:\(try #require(service.addresses.first?.port))/webhooks"
    }

    var bodies: [String] { state.bodies.withLock { $0 } }

    func accept() { state.accepts.withLock { $0 = true } }

    func stop() async { await service.stop(within: .zero) }
}

/// Waits until a condition holds, for at most 30 seconds.
private func eventually(_ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record("the condition did not come true")
            return
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}

@Suite("fanfare webhooks", .timeLimit(.minutes(1))) struct WebhooksCommandTests {
    /// A configuration with a file for webhooks.
    private struct Place {
        let directory: TemporaryDirectory
        let file: String
        let database: String

        init(url: String = "https://example.com/webhooks") throws {
            directory = try TemporaryDirectory()
            file = directory.path("fanfare.yaml")
            database = directory.path("webhooks.sqlite")
            try """
            apps: [{id: 1, key: app-key, secret: app-secret, webhooks: [{url: "\(url)"}]}]
            webhooks: {database: \(database)}
            """.write(toFile: file, atomically: true, encoding: .utf8)
        }

        func run(_ arguments: String...) async throws -> Program.Result {
            try await Program.run(["webhooks"] + arguments + ["--config", file])
        }

        func letters() throws -> [DeadLetter] { try WebhookQueue(reading: database).deadLetters() }

        /// Waits for a number of dead letters.
        func letters(_ count: Int) async throws -> [DeadLetter] {
            // The file does not exist before the first webhook.
            try await eventually { (try? letters())?.count == count }
            return try letters()
        }
    }

    @Test("A dead letter is listed, sent again, and gone")
    func replay() async throws {
        let backend = try Backend()
        let place = try Place(url: backend.url)
        let broker = try await RunningBroker(["--config", place.file])
        let empty = try await place.run("list")
        #expect(empty.output == "No dead letters; no webhooks wait to be sent.\n")
        #expect(empty.code == 0)

        let listener = try RunningProgram(["listen", "news", "--url", broker.url()])
        let letter = try #require(try await place.letters(1).first)
        let listed = try await place.run()
        #expect(listed.code == 0)
        let attempts = letter.attempts == 1 ? "1 attempt" : "\(letter.attempts) attempts"
        #expect(
            listed.output.contains(
                " app 1  \(backend.url)\n    gone (\(attempts) since the broker's start): the endpoint answered 410\n"
                    + #"    [{"name":"channel_occupied","channel":"news"}]"#
            ),
            "\(listed.output)"
        )
        #expect(listed.output.hasSuffix("1 dead letter; no webhooks wait to be sent.\n"))

        backend.accept()
        let replayed = try await place.run("replay", "\(letter.id)")
        #expect(
            replayed.output == "1 webhook is sent again, within seconds if the broker runs.\n"
        )
        #expect(replayed.code == 0, "\(replayed.errors)")
        #expect(try await place.letters(0).isEmpty)
        // The first attempt was answered 410, or the second where a busy machine delayed the first answer. The replay
        // has a new time.
        try await eventually { backend.bodies.count == letter.attempts + 1 }
        let bodies = backend.bodies
        #expect(bodies.count == letter.attempts + 1)
        #expect(
            bodies.allSatisfy { $0.contains(#"[{"name":"channel_occupied","channel":"news"}]"#) }
        )
        #expect(Set(bodies).count == 2)
        listener.signal(SIGINT)
        broker.program.signal(SIGTERM)
        #expect(await broker.program.end() == 0)
        await backend.stop()
    }

    @Test("While no broker runs: all as JSON, some deleted, all sent again by the next")
    func jsonAndDelete() async throws {
        let backend = try Backend()
        let place = try Place(url: backend.url)
        let first = try await RunningBroker(["--config", place.file])
        let listener = try RunningProgram(["listen", "a", "b", "c", "--url", first.url()])
        let letters = try await place.letters(3)
        first.program.signal(SIGTERM)
        #expect(await first.program.end() == 0)
        listener.signal(SIGINT)

        let json = try await place.run("list", "--all", "--json")
        let objects = try json.output.split(separator: "\n").map {
            try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(objects.map { $0["id"] as? Int64 } == letters.map(\.id))
        #expect(objects.allSatisfy { $0["cause"] as? String == "gone" })
        #expect(
            Set(objects.compactMap { ($0["channels"] as? [String])?.first }) == ["a", "b", "c"]
        )
        #expect(objects.allSatisfy { ($0["events"] as? [Any])?.count == 1 })
        let one = try await place.run("list", "--limit", "1")
        #expect(one.output.split(separator: "\n").count == 4)
        #expect(
            one.output.hasSuffix(
                "3 dead letters (--all shows all); no webhooks wait to be sent.\n"
            )
        )

        let deleted = try await place.run("delete", "\(letters[0].id)", "12345")
        #expect(deleted.code == 1)
        #expect(deleted.output == "1 dead letter deleted.\n")
        #expect(deleted.errors == "fanfare: no dead letter 12345\n")
        #expect(try place.letters().map(\.id) == letters.dropFirst().map(\.id))

        backend.accept()
        let replayed = try await place.run("replay", "--all")
        #expect(
            replayed.output == "2 webhooks are sent again, within seconds if the broker runs.\n"
        )
        let waiting = try await place.run()
        #expect(waiting.output.contains("; about to be sent again\n"))
        #expect(
            try await place.run("replay", "--all").output == "No dead letters to send again.\n"
        )
        #expect(try await place.run("delete", "--all").output == "No dead letters to delete.\n")
        let second = try await RunningBroker(["--config", place.file])
        #expect(try await place.letters(0).isEmpty)
        second.program.signal(SIGTERM)
        #expect(await second.program.end() == 0)
        #expect(backend.bodies.count == letters.map(\.attempts).reduce(2, +))
        await backend.stop()
    }

    @Test("A second broker with the file of one that runs is refused; a killed one leaves it free")
    func oneBrokerToAFile() async throws {
        let place = try Place()
        let first = try await RunningBroker(["--config", place.file])
        let second = try await Program.run(["serve", "--port", "0", "--config", place.file])
        #expect(second.code == 1)
        #expect(
            second.errors.contains(
                "\(place.database) is in use by process \(first.program.id); each broker needs its own file"
            ),
            "\(second.errors)"
        )
        // The command line is not a broker.
        #expect(try await place.run("list").code == 0)
        first.program.signal(SIGKILL)
        #expect(await first.program.end() == -SIGKILL)
        let third = try await RunningBroker(["--config", place.file])
        third.program.signal(SIGTERM)
        #expect(await third.program.end() == 0)
    }

    @Test("Without a file the error says what to do")
    func withoutAFile() async throws {
        let unconfigured = try await Program.run(["webhooks"])
        #expect(unconfigured.code == 1)
        #expect(unconfigured.errors.contains("Give the broker's configuration with --config."))

        let place = try Place()
        let missing = try await place.run("list")
        #expect(missing.code == 1)
        #expect(missing.errors.contains("The file \(place.database) of"))

        try "apps: [{id: 1, key: k, secret: s}]".write(
            toFile: place.file,
            atomically: true,
            encoding: .utf8
        )
        let memory = try await place.run("replay", "--all")
        #expect(memory.code == 1)
        #expect(memory.errors.contains("webhooks.database is none in \(place.file)"))
        #expect(memory.errors.contains("Set it to a path"))

        try "no database".write(toFile: place.file, atomically: true, encoding: .utf8)
        #expect(try await place.run().errors.contains("the configuration has"))
    }

    @Test("A file that is not a database is not changed")
    func noDatabase() async throws {
        let place = try Place()
        let text = String(repeating: "This is no database. ", count: 100)
        try text.write(toFile: place.database, atomically: true, encoding: .utf8)
        let result = try await place.run()
        #expect(result.code == 1)
        #expect(result.errors.contains("The webhook file cannot be used: "))
        #expect(try String(contentsOfFile: place.database, encoding: .utf8) == text)
    }

    @Test(arguments: [
        ["replay"], ["delete"], ["replay", "1", "--all"], ["replay", "x"],
        ["list", "--limit", "0"], ["list", "--limit", "1", "--all"], ["list", "1"],
    ])
    func invalidOptionsEndWith64(arguments: [String]) async throws {
        let result = try await Program.run(["webhooks"] + arguments)
        #expect(result.code == 64)
        #expect(result.errors.contains("Usage: fanfare webhooks"))
    }
}
