import Archive
import Broker
import Foundation
import Net
import TestProgram
import Testing

@Suite("fanfare check") struct CheckTests {
    @Test func withoutAFileItChecksTheDevelopmentConfiguration() async throws {
        let result = try await Program.run(["check"])
        #expect(result.code == 0)
        #expect(result.errors == "")
        #expect(
            result.output == """
                No configuration file; the development configuration is valid.

                  listens      ws://127.0.0.1:6001
                  loops        one for each core
                  app 1        key app-key, 10000 channels per connection, data up to 100 KiB
                               features: client events (10 per second), users
                  clients      ping after 120 s of silence, pong within 30 s
                  limits       connections up to the descriptor limit, messages up to 256 KiB, \
                queues up to 16 MiB, requests up to 2 MiB
                  compression  messages of 1 KiB or more
                  shutdown     closes 5000 clients per second, within 10 s
                  log          info and above, text on a terminal and JSON otherwise

                """
        )
    }

    @Test func itListsEveryLimitOfAFile() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        try "limits: {message_length_max: 5000}".write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        let result = try await Program.run(["check", "--limits", "--config", file])
        #expect(result.code == 0)
        let words = result.output.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(words.contains { $0.starts(with: ["limits.message_length_max", "5000"]) })
        #expect(words.contains { $0.starts(with: ["apps.N.members_max", "100", "members"]) })
    }

    @Test func itSummarizesAFile() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        try """
        listen: {host: "::", port: 0, unix_socket: /run/fanfare.sock, path_prefix: /realtime}
        loops: 2
        apps:
          - {id: 7, key: k, secret: hush, connections_max: 5}
          - {id: 8, key: l, secret: hush, enabled: false}
          - id: 9
            key: m
            secret: hush
            credentials: [{secret: hush-hush}]
            allowed_origins: [https://a.test, https://b.test]
            subscriptions_per_second_max: 20
            requests_per_second_max: 30
            event_data_rules: [{channel_prefix: private-ai-, length_max: 500 KiB}]
            features: {users: false, subscription_count: true, authorized_connections: true}
            webhooks:
              - {url: https://a.test/hook, events: [cache_miss], channel_prefix: private-}
              - {url: https://b.test/hook, headers: {Authorization: hush}, batching: true}
          - {id: 10, key: n, secret: hush, features: {users: false}}
        limits: {connections_max: 100, message_length_max: 5000}
        metrics: {port: 9100}
        compression: {enabled: false}
        log: {level: warning, format: json}
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await Program.run(["check"], environment: ["FANFARE_CONFIG": file])
        #expect(result.code == 0)
        let expected = [
            "\(file) is valid.", "listens      ws://[::] on any free port",
            "listens      unix:/run/fanfare.sock", "metrics      http://127.0.0.1:9100/metrics",
            "paths        begin with /realtime",
            "loops        2", "app 7        key k, 5 connections, 10000 channels per connection",
            "app 8        key l, disabled",
            "app 9        key m and 1 more credential, 10000 channels per connection, "
                + "20 subscriptions per second, data up to 100 KiB, up to 500 KiB on private-ai-…, "
                + "30 requests per second\n",
            "             features: subscription counts, authorized connections (30 s)\n",
            "             origins https://a.test, https://b.test\n",
            "             webhook https://a.test/hook: cache_miss, channels private-…\n",
            "             webhook https://b.test/hook: channel_occupied, channel_vacated, "
                + "member_added, member_removed, client_event, batched\n",
            "             features: none\n",
            "webhooks     queued in memory, lost at a restart\n",
            "100 connections, messages up to 5000 bytes",
            "compression  off", "log          warning and above, as JSON",
        ]
        for line in expected { #expect(result.output.contains(line), "\(result.output)") }
        #expect(!result.output.contains("hush"))
    }

    @Test("Secrets in the URL of a webhook are not printed, neither of a valid one nor of others")
    func secretsInURLs() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        for (url, shown) in [
            ("https://a.test/hook?token=hush&a=hush#hush", "https://a.test/hook?token=…&a=…#…"),
            ("https://user:hush@a.test/hook", "https://…@a.test/hook"),
            ("https://a.test/services/T0/hush", "https://a.test/services/…"),
            ("https://user:hush/hush@a.test/", "https://…"),
            ("user:hush@a.test/", "…"),
            ("https://a.test/?token=hush hush", "https://a.test/?token=…"),
        ] {
            try
                "apps: [{id: 7, key: k, secret: a-long-secret-of-an-app, webhooks: [{url: '\(url)'}]}]"
                .write(toFile: file, atomically: true, encoding: .utf8)
            // With a valid one, the broker would run.
            let isValid = shown.hasSuffix("…#…") || shown.hasSuffix("services/…")
            for command in isValid ? ["check"] : ["check", "serve"] {
                let result = try await Program.run([command, "--config", file])
                let text = result.output + result.errors
                #expect(text.contains(shown), "\(text)")
                #expect(!text.contains("hush"), "\(text)")
            }
        }
    }

    @Test func itListsEveryFaultAndFails() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        try "loops: many\nlisten: {prot: 1}\n".write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        let result = try await Program.run(
            ["check", "--config", file],
            environment: ["FANFARE_LOOP": "1"]
        )
        #expect(result.code == 1)
        #expect(result.output == "")
        #expect(
            result.errors == """
                fanfare: ignored: FANFARE_LOOP: stands for no key: did you mean FANFARE_LOOPS?
                fanfare: the configuration has 2 faults:
                  \(file):1: loops must be a number of threads from 0 to 1024, not "many"
                  \(file):2: listen.prot is not a key: did you mean listen.port?

                """
        )
    }

    @Test("What a broker runs with and is not meant is a warning, and recovery is in the summary")
    func warnings() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        try """
        apps:
          - id: 1
            key: app-key
            secret: app-secret
            recovery: {rules: [{channel_prefix: chat-, store: sqlite, age_max: 60}]}
          - {id: 2, key: k, secret: s}
        recovery: {database: /nonexistent/a/history.sqlite, spool: /tmp/spool}
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await Program.run(
            ["check", "--config", file],
            environment: ["FANFARE_CONSOLE_PASSWORD": "a-long-password"]
        )
        #expect(result.code == 0, "\(result.errors)")
        for text in [
            "recovery     stored in /nonexistent/a/history.sqlite, up to 1024 MiB, surviving the end",
            "kept over a restart in /tmp/spool",
            "keeps 1000 messages of chat-… for 60 s in the file",
            "warning  apps.1.secret has 1 characters", "the folder /nonexistent/a does not exist",
            "warning  console.password is of no use without console.port",
        ] { #expect(result.output.contains(text), "\(result.output)") }
        let beside = try await Program.run(["check", "--config", file])
        #expect(beside.output.contains("there is no console at /"), "\(beside.output)")
    }

    @Test(
        "A clock that was set since the files were written is a warning with both times",
        arguments: [(3_600_000, "behind"), (-3_600_000, "ahead"), (0, nil)] as [(Int64, String?)]
    )
    func clocks(step: Int64, direction: String?) async throws {
        let directory = try TemporaryDirectory()
        let (file, database) = (directory.path("fanfare.yaml"), directory.path("history.sqlite"))
        let spool = directory.path("spool")
        let written = ClockReading(
            calendar: ClockReading.now.calendar + step,
            uptime: ClockReading.now.uptime
        )
        try """
        apps: [{id: 1, key: app-key, secret: app-secret}]
        recovery: {database: \(database), spool: \(spool)}
        """.write(toFile: file, atomically: true, encoding: .utf8)
        // Without the files there is nothing to warn of, and none is made.
        let before = try await Program.run(["check", "--config", file])
        #expect(!before.output.contains("warning"), "\(before.output)")
        #expect(!FileManager.default.fileExists(atPath: spool))
        do {
            var settings = ArchiveFile.Settings(path: database)
            settings.clocks = { written }
            _ = try ArchiveFile(settings)
        }
        try await Spool(path: spool, clocks: { written }).write(SpooledState())
        let result = try await Program.run(["check", "--config", file])
        #expect(result.code == 0, "\(result.errors)")
        for key in ["database", "spool"] {
            let text = "warning  recovery.\(key) shows that the clock is \(direction ?? "")"
            #expect(result.output.contains(text) == (direction != nil), "\(result.output)")
        }
        guard direction != nil else { return }
        // The hour and the minute of the check by the clock of the files; a minute may have begun during the test.
        let times = [written.calendar, ClockReading.now.calendar + step].map {
            Date(timeIntervalSince1970: Double($0) / 1_000).formatted(.iso8601).prefix(16)
        }
        #expect(
            times.contains { result.output.contains("by the file it is \($0)") },
            "\(result.output)"
        )
    }

    @Test(
        "Certificates: their names and days; one that expires soon is a warning, an expired one a fault",
        arguments: [
            (60, 0, "for a.test, 10.0.0.7, 2001:db8::1, 60 days left", ""),
            (5, 0, "5 days left", "warning  tls.certificates.0.certificate expires in 5 days"),
            (-3, 1, "expired", "fault    tls.certificates.0.certificate has expired 3 days ago"),
        ]
    )
    func certificates(days: Int, code: Int32, line: String, report: String) async throws {
        let directory = try TemporaryDirectory()
        let made = try DevelopmentCertificate.make(
            hosts: ["a.test", "10.0.0.7", "2001:db8::1"],
            // Some time passes until the program runs.
            days: days < 0 ? days : days + 1
        )
        let (certificate, key) = (directory.path("c.pem"), directory.path("k.pem"))
        try Data(made.certificatePEM).write(to: URL(filePath: certificate))
        try Data(made.keyPEM).write(to: URL(filePath: key))
        let file = directory.path("fanfare.yaml")
        try "tls: {port: 6002, certificates: [{certificate: \(certificate), key: \(key)}]}"
            .write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await Program.run(["check", "--config", file])
        #expect(result.code == code, "\(result.output)\(result.errors)")
        // Within the second in which it was made, the certificate has a day more.
        let output = result.output.replacing("\(days + 1) days", with: "\(days) days")
        for text in ["certificate  \(certificate) for a.test", line, report] where !text.isEmpty {
            #expect(output.contains(text), "\(result.output)")
        }
        guard report.isEmpty else { return }
        #expect(!result.output.contains("tls.certificates"), "\(result.output)")
        let other = try DevelopmentCertificate.make(hosts: ["a.test"])
        try Data(other.keyPEM).write(to: URL(filePath: key))
        let mismatch = try await Program.run(["check", "--config", file])
        #expect(mismatch.code == 1)
        #expect(mismatch.errors.contains("is not the key of \(certificate)"), "\(mismatch.errors)")
    }

    @Test func aSecretThatIsAVariableOfAShell() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        try "apps: [{id: 1, key: k, secret: '${APP_SECRET}'}]"
            .write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await Program.run(["check", "--config", file])
        #expect(result.code == 1)
        #expect(result.errors.contains("FANFARE_APPS_0_SECRET"), "\(result.errors)")
        // Tools that need no secret do not ask for one.
        let webhooks = try await Program.run(["webhooks", "--config", file])
        #expect(webhooks.errors.contains("webhooks.database is none"), "\(webhooks.errors)")
    }

    @Test func aMissingFile() async throws {
        let result = try await Program.run(["check", "--config", "/nonexistent"])
        #expect(result.code == 1)
        #expect(
            result.errors == """
                fanfare: the configuration has a fault:
                  /nonexistent: the configuration cannot be read: No such file or directory

                """
        )
    }
}

@Suite("fanfare: usage") struct UsageTests {
    @Test(arguments: [
        ["check", "--confg", "x"], ["check", "extra"], ["keys", "app", "x"],
        ["trigger", "x", "1"], ["trigger", "x", "1", "-c", "c", "--url", "x"],
        ["serve", "--app", "1:2"], ["keys", "certificate", "--days", "0"],
        ["keys", "certificate", "--key", "certificate.pem"],
    ])
    func unknownArgumentsEndWith64(arguments: [String]) async throws {
        let result = try await Program.run(arguments)
        #expect(result.code == 64)
        #expect(result.errors.contains("Usage: fanfare"))
    }

    @Test(
        "A malformed --app is not printed: it may be a secret",
        arguments: ["1:hush", "hush", "::hush"]
    )
    func theSecretOfAMalformedApp(argument: String) async throws {
        let result = try await Program.run(["serve", "--app", argument])
        #expect(result.code == 64)
        #expect(result.errors.contains("--app must be ID:KEY:SECRET"))
        #expect(!result.errors.contains("hush"), "\(result.errors)")
    }

    @Test(arguments: [
        [], ["check"], ["keys"], ["keys", "app"], ["keys", "secret"], ["listen"],
        ["keys", "certificate"], ["serve"], ["webhooks"], ["webhooks", "list"],
        ["webhooks", "replay"], ["webhooks", "delete"],
        ["trigger"],
    ])
    func everyHelpHasExamples(arguments: [String]) async throws {
        let result = try await Program.run(arguments + ["--help"])
        #expect(result.code == 0)
        #expect(result.output.contains("Examples:\n  fanfare "))
    }
}
