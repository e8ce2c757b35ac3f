import Foundation
import TestProgram
import Testing

@Suite("fanfare serve: reload", .timeLimit(.minutes(1))) struct ReloadCommandTests {
    private static let first = "{id: 1, key: first, secret: a, features: {client_events: true}}"
    private static let second = "{id: 2, key: second, secret: b}"

    /// A broker with a configuration file, and a client of its first app.
    private struct Setting {
        let directory: TemporaryDirectory
        let file: String
        let broker: RunningBroker
        let listener: RunningProgram

        init(_ extra: String = "") async throws {
            directory = try TemporaryDirectory()
            file = directory.path("fanfare.yaml")
            let yaml = "apps: [\(ReloadCommandTests.first)]\n\(extra)"
            try Data(yaml.utf8).write(to: URL(filePath: file))
            broker = try await RunningBroker(["--config", file])
            listener = try RunningProgram(
                ["listen", "news", "--key", "first", "--url", broker.url()]
            )
            #expect(await listener.errors.first(containing: "subscribed to news") != nil)
        }

        /// Replaces the file atomically, as editors do.
        func write(_ yaml: String) throws {
            try Data(yaml.utf8).write(to: URL(filePath: file), options: .atomic)
        }

        /// Sends an event to the client of the first app, which must still be connected.
        func expectConnected() async throws {
            let trigger = try await Program.run(
                ["trigger", "hello", "1", "-c", "news", "--url", broker.url()]
                    + ["--app-id", "1", "--key", "first", "--secret", "a"]
            )
            #expect(trigger.code == 0, "\(trigger.errors)")
            #expect(await listener.output.first(containing: "news hello 1") != nil)
        }

        func trigger(second key: String) async throws -> Int32 {
            try await Program.run(
                ["trigger", "hello", "1", "-c", "news", "--url", broker.url()]
                    + ["--app-id", "2", "--key", key, "--secret", "b"]
            ).code
        }
    }

    @Test("A saved file is applied, and clients stay connected")
    func savedFile() async throws {
        let setting = try await Setting()
        #expect(try await setting.trigger(second: "second") == 1)
        try setting.write("apps: [\(Self.first), \(Self.second)]\nloops: 3\nlog: {level: debug}\n")
        let errors = setting.broker.program.errors
        let taken = await errors.first(containing: "configuration reloaded")
        #expect(taken?.contains(#""added":"1""#) == true)
        // The command-line option overrides the file, so that `loops` has not changed.
        #expect(try await setting.trigger(second: "second") == 0)
        try await setting.expectConnected()

        try setting.write("clients: {pong_timeout: 9}\napps: [\(Self.first)]\n")
        let warning = await errors.first(containing: "some changes take effect at the next start")
        #expect(warning?.contains(#""level":"warning""#) == true)
        #expect(warning?.contains(#""keys":"clients.pong_timeout""#) == true)
        #expect(try await setting.trigger(second: "second") == 1)
        try await setting.expectConnected()
    }

    @Test("SIGHUP reloads the file, and SIGTERM still ends the broker")
    func hangup() async throws {
        let setting = try await Setting()
        let errors = setting.broker.program.errors
        for _ in 0..<3 {
            setting.broker.program.signal(SIGHUP)
            #expect(await errors.first(containing: "configuration reloaded") != nil)
        }
        try await setting.expectConnected()
        setting.broker.program.signal(SIGTERM)
        #expect(await setting.broker.program.end() == 0)
    }

    @Test("A file with a fault is not applied, and the log has the fault and its line")
    func faultyFile() async throws {
        let setting = try await Setting()
        try setting.write("apps:\n- \(Self.second)\n- {id: 3, key: k}\n")
        let errors = setting.broker.program.errors
        let fault = await errors.first(containing: "the configuration has a fault")
        #expect(fault?.contains(#""level":"error""#) == true)
        #expect(fault?.contains("\(setting.file):3: apps.1.secret is missing") == true)
        #expect(await errors.first(containing: "is not reloaded: the broker continues") != nil)
        try await setting.expectConnected()
        #expect(try await setting.trigger(second: "second") == 1)
        // A fixed file is applied.
        try setting.write("apps: [\(Self.first), \(Self.second)]\n")
        #expect(await errors.first(containing: "configuration reloaded") != nil)
        #expect(try await setting.trigger(second: "second") == 0)
    }

    @Test("The log level is applied")
    func logLevel() async throws {
        let setting = try await Setting("log: {level: error}\n")
        let errors = setting.broker.program.errors
        try setting.write("apps: [\(Self.first)]\nlog: {level: notice}\n")
        #expect(await errors.first(containing: "configuration reloaded") != nil)
    }

    @Test("Without a file SIGHUP stops the broker")
    func noFile() async throws {
        let broker = try await RunningBroker()
        broker.program.signal(SIGHUP)
        #expect(await broker.program.end() == 0)
    }
}
