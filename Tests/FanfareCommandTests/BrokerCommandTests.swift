import Foundation
import TestProgram
import Testing

@Suite("fanfare serve, trigger and listen", .timeLimit(.minutes(1))) struct BrokerCommandTests {
    @Test func oneTriggerReachesEveryListener() async throws {
        let directory = try TemporaryDirectory()
        let (certificate, key) = (directory.path("c.pem"), directory.path("k.pem"))
        let made = try await Program.run(
            ["keys", "certificate", "--certificate", certificate, "--key", key]
        )
        #expect(made.code == 0)
        let broker = try await RunningBroker(
            ["--tls-port", "0", "--tls-certificate", certificate, "--tls-key", key]
        )
        #expect(broker.readyLine.hasSuffix(" (app key app-key)"))

        let plain = try RunningProgram(
            ["listen", "news", "sport", "--count", "3", "--url", broker.url()]
        )
        let secure = try RunningProgram(
            ["listen", "news", "--json", "--count", "2", "--url", broker.url("wss")]
                + ["--trust", certificate]
        )
        #expect(await plain.errors.first(containing: "subscribed to news") != nil)
        #expect(await plain.errors.first(containing: "subscribed to sport") != nil)
        #expect(await secure.errors.first(containing: "subscribed to news") != nil)

        let first = try await Program.run(
            ["trigger", "hello", #"{"a":1}"#, "--channel", "news", "-c", "sport"]
                + ["--url", broker.url(), "--info", "subscription_count"]
        )
        #expect(first.code == 0)
        #expect(
            first.output == """
                sent hello to news (2 subscribers), sport (1 subscriber)
                news: subscription_count 2
                sport: subscription_count 1

                """
        )
        let second = try await Program.run(
            ["trigger", "tick", "-", "-c", "news", "--url", broker.url("wss"), "--insecure"],
            input: "two\nlines\n"
        )
        #expect(second.code == 0)
        // It is the listeners' last event, so they may have left when the answer counts them.
        #expect(second.output.hasPrefix("sent tick to news ("))

        let lines = await plain.output.rest()
        #expect(
            lines.map { String($0.dropFirst(9)) } == [
                #"news hello {"a":1}"#, #"sport hello {"a":1}"#, #"news tick two\nlines"#,
            ]
        )
        #expect(await plain.end() == 0)
        let objects = try await secure.output.rest().map {
            try JSONDecoder().decode([String: String].self, from: Data($0.utf8))
        }
        #expect(objects.map { $0["event"] } == ["hello", "tick"])
        #expect(objects.map { $0["data"] } == [#"{"a":1}"#, "two\nlines"])
        #expect(await secure.end() == 0)
    }

    @Test("A port with TLS in place of one without, and the reverse, are told with what to do")
    func mistakenTLS() async throws {
        let directory = try TemporaryDirectory()
        let (certificate, key) = (directory.path("c.pem"), directory.path("k.pem"))
        _ = try await Program.run(
            ["keys", "certificate", "--certificate", certificate, "--key", key]
        )
        let broker = try await RunningBroker(
            ["--tls-port", "0", "--tls-certificate", certificate, "--tls-key", key]
        )
        let toTLS = broker.url("wss").replacing("https://", with: "http://")
        let toPlain = broker.url().replacing("http://", with: "https://")
        for (url, text) in [
            (
                toTLS,
                "This is a TLS port, and the request was sent without TLS: use https:// or wss://"
            ),
            (toPlain, "the server answers without TLS; use http:// or ws://"),
        ] {
            let listen = try RunningProgram(["listen", "news", "--url", url])
            #expect(await listen.errors.first(containing: text) != nil, "\(url)")
            let trigger = try await Program.run(["trigger", "a", "1", "-c", "news", "--url", url])
            #expect(trigger.code == 1)
            #expect(trigger.errors.contains(text), "\(trigger.errors)")
        }
    }

    @Test("What was triggered is shown with its serials; --if-position is refused when it is old")
    func history() async throws {
        let broker = try await RunningBroker()
        func run(_ arguments: String...) async throws -> Program.Result {
            try await Program.run(arguments + ["--url", broker.url()])
        }
        let first = try await run("trigger", "a", "1", "-c", "news", "--info", "position")
        let fact = try #require(first.output.split(separator: "\n").last)
        #expect(fact.hasPrefix("news: position ") && fact.hasSuffix(":1"), "\(first.output)")
        let position = String(fact.dropFirst("news: position ".count))
        let second = try await run("trigger", "b", "x\ny", "-c", "news", "--if-position", position)
        #expect(second.code == 0, "\(second.errors)")
        #expect(try await run("trigger", "t", "", "-c", "news", "--ephemeral").code == 0)
        // A stream's ID may begin with "-".
        for stale in [position, "-\(position.dropFirst())"] {
            let third = try await run("trigger", "c", "3", "-c", "news", "--if-position", stale)
            #expect(third.code == 1)
            #expect(third.errors.hasPrefix("Error: The broker answered 412: "), "\(third.errors)")
        }

        let all = try await run("history", "news")
        #expect(all.code == 0)
        let lines = all.output.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines.map { [$0[0]] + $0[2...] } == [["1", "a", "1"], ["2", "b", #"x\ny"#]])
        #expect(all.errors == "position \(position.dropLast(2)):2\n")
        let last = try await run("history", "news", "--last", "1", "--json")
        #expect(last.output.hasPrefix(#"{"serial":2,"time":"20"#), "\(last.output)")
        #expect(last.output.hasSuffix(#"Z","event":"b","data":"x\ny"}"# + "\n"))
        #expect(try await run("history", "news", "--after", "2").output == "")
        let unknown = try await run("history", "never-used")
        #expect(unknown.code == 0)
        #expect(unknown.output == "")
    }

    @Test("What became of an event is told in sentences, and a purge ends the history")
    func why() async throws {
        let broker = try await RunningBroker()
        func run(_ arguments: String...) async throws -> Program.Result {
            try await Program.run(arguments + ["--url", broker.url()])
        }
        let silent = try await run("why", "news", "1")
        #expect(silent.output.hasPrefix("No message of the channel has a serial"), "\(silent)")
        let listener = try RunningProgram(["listen", "news", "--url", broker.url()])
        #expect(await listener.errors.first(containing: "subscribed to news") != nil)
        for data in ["1", "2"] {
            #expect(try await run("trigger", "e", data, "-c", "news").code == 0)
        }
        #expect(await listener.output.first(containing: "news e 2") != nil)
        let counts = try await run("why", "news", "2")
        let lines = counts.output.split(separator: "\n")
        let pattern = /2 was published at \d\d:\d\d:\d\d\.\d\d\d and is kept\./
        #expect(lines.first?.wholeMatch(of: pattern) != nil, "\(counts.output)")
        #expect(lines.last == "1 client: sent")
        let future = try await run("why", "news", "3")
        #expect(future.output == "3 was never published: the last message is 2.\n")
        let stranger = try await run("why", "news", "2", "--socket", "1.1")
        #expect(stranger.output.hasSuffix("No record of 1.1 is kept.\n"), "\(stranger.output)")
        let both = try await run("why", "news", "2", "--socket", "1.1", "--user", "ann")
        #expect(both.code == 64 && both.errors.contains("--socket or --user, not both"))

        let purged = try await run("history", "news", "--purge")
        #expect(purged.code == 0 && purged.output == "")
        #expect(purged.errors.hasPrefix("position ") && purged.errors.hasSuffix(":0\n"))
        #expect(try await run("history", "news").output == "")
        let mixed = try await run("history", "news", "--purge", "--json")
        #expect(mixed.code == 64 && mixed.errors.contains("use it alone"))
        listener.signal(SIGINT)
        _ = await listener.end()
    }

    @Test(
        "Options that contradict each other are refused before anything is sent",
        arguments: [
            (["-c", "a", "-c", "b", "--if-position", "s:1"], "exactly one --channel"),
            (["--user", "ann", "--if-position", "s:1"], "exactly one --channel"),
            (["-c", "a", "--ephemeral", "--if-position", "s:1"], "has no position"),
            (["-c", "a", "--if-position", "s"], "--if-position"),
            (["-c", "a", "--if-position", ":1"], "--if-position"),
        ]
    )
    func contradictions(options: [String], part: String) async throws {
        let result = try await Program.run(["trigger", "e", "1"] + options)
        #expect(result.code == 64)
        #expect(result.errors.contains(part), "\(result.errors)")
    }

    @Test("The clients of a TLS-only app connect with wss; with ws they get 4000")
    func anAppForTLSOnly() async throws {
        let directory = try TemporaryDirectory()
        let (certificate, key) = (directory.path("c.pem"), directory.path("k.pem"))
        let made = try await Program.run(
            ["keys", "certificate", "--certificate", certificate, "--key", key]
        )
        #expect(made.code == 0)
        let file = directory.path("fanfare.yaml")
        try """
        tls: {port: 0, certificates: [{certificate: \(certificate), key: \(key)}]}
        apps: [{id: 1, key: app-key, secret: app-secret, tls_only: true}]
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let broker = try await RunningBroker(["--config", file])
        let refused = try await Program.run(["listen", "news", "--url", broker.url()])
        #expect(refused.code == 1)
        #expect(refused.errors.contains("4000"), "\(refused.errors)")
        let listener = try RunningProgram(
            ["listen", "news", "--url", broker.url("wss"), "--trust", certificate]
        )
        #expect(await listener.errors.first(containing: "subscribed to news") != nil)
    }

    @Test func appsOfTheCommandLine() async throws {
        let broker = try await RunningBroker(["--app", "7:a-key:a-secret", "--app", "8:b:c"])
        #expect(broker.readyLine.hasSuffix(" (app keys a-key, b)"))
        let environment = [
            "FANFARE_URL": broker.url(), "FANFARE_APP_ID": "7", "FANFARE_KEY": "a-key",
            "FANFARE_SECRET": "a-secret",
        ]
        let arguments = ["trigger", "x", "1", "-c", "news"]
        #expect(try await Program.run(arguments, environment: environment).code == 0)

        let refused = try await Program.run(
            arguments + ["--secret", "wrong"],
            environment: environment
        )
        #expect(refused.code == 1)
        #expect(refused.output == "")
        #expect(refused.errors.hasPrefix("Error: The broker answered 401: Invalid signature"))
        #expect(!refused.errors.contains("a-secret"))
    }

    @Test func aListenerWithTheWrongKeyIsRefused() async throws {
        let broker = try await RunningBroker()
        let result = try await Program.run(
            ["listen", "news", "--key", "wrong-key", "--url", broker.url()]
        )
        #expect(result.code == 1)
        #expect(result.errors.contains("Error: the broker refuses the connection: "))
        #expect(result.errors.contains("4001"))
    }

    @Test func withoutABroker() async throws {
        // Port 9 is for the discard service, which is not running.
        let result = try await Program.run(
            ["trigger", "x", "1", "-c", "news", "--url", "http://127.0.0.1:9"]
        )
        #expect(result.code == 1)
        #expect(result.errors.hasPrefix("Error: The broker cannot be reached: "))
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aSignalStopsItGracefully(signal: Int32) async throws {
        let broker = try await RunningBroker()
        let listener = try RunningProgram(["listen", "news", "--url", broker.url()])
        #expect(await listener.errors.first(containing: "subscribed to news") != nil)
        broker.program.signal(signal)
        #expect(await broker.program.end() == 0)
        let log = await broker.program.errors.rest()
        #expect(log.contains { $0.contains(#""message":"stopping""#) })
        #expect(log.last?.contains(#""message":"stopped""#) == true)
        // The close code makes the client reconnect.
        #expect(await listener.errors.first(containing: "the next attempt is in") != nil)
        listener.signal(SIGKILL)
    }

    @Test func aPortThatIsTaken() async throws {
        // A listener of another program, which does not share its port.
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = try withUnsafeMutablePointer(to: &address) { address in
            try address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try #require(bind(socket, address, length) == 0)
                try #require(listen(socket, 1) == 0)
                try #require(getsockname(socket, address, &length) == 0)
            }
            return UInt16(bigEndian: address.pointee.sin_port)
        }
        let result = try await Program.run(["serve", "--port", "\(port)"])
        #expect(result.code == 1)
        #expect(result.output == "")
        #expect(result.errors.contains("127.0.0.1:\(port)"))
        #expect(result.errors.contains("--port"))
    }

    @Test func faultsOfOptionsAreNamed() async throws {
        let result = try await Program.run(
            ["serve", "--host", "0.0.0.0", "--port", "x", "--loops", "many"]
        )
        #expect(result.code == 1)
        #expect(result.errors.hasPrefix("fanfare: the configuration has 3 faults:\n"))
        for place in ["  --port: listen.port must be", "  --loops: loops must be"] {
            #expect(result.errors.contains(place), "\(result.errors)")
        }
        #expect(result.errors.contains("is the development one"))
    }
}
