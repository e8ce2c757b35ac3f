import TestFiles
import Testing

@testable import BrokerConfiguration

/// The lines of the faults of a configuration; empty if it is valid.
func faults(
    _ yaml: String,
    environment: [String: String] = [:],
    options: ConfigurationOptions = ConfigurationOptions()
) -> [String] {
    do {
        _ = try Configuration.load(
            yaml: yaml,
            file: "f.yaml",
            environment: environment,
            options: options
        )
        return []
    } catch {
        return error.faults.map(\.description)
    }
}

@Suite("Configuration: faults in the file") struct ConfigurationFaultTests {
    @Test func everyFaultIsReportedAtOnceInTheOrderOfTheFile() {
        let yaml = """
            lisen:
              port: 1
            listen:
              host: example.org
              prot: 6001
              port: 70000
            tls:
              port: 6002
            apps:
              - id: "1"
                key: a
                secret: b
              - id: "1"
                key: a
                sekret: hush
            loops: many
            limits:
              queued_bytes_max: 1 KiB
            """
        #expect(
            faults(yaml, environment: ["FANFARE_LOOP": "2"]) == [
                "f.yaml:2: lisen.port is not a key: did you mean listen.port?",
                "f.yaml:4: listen.host must be an IP address (127.0.0.1 or ::1 for this machine "
                    + "alone, 0.0.0.0 or :: for every network), not \"example.org\"",
                "f.yaml:5: listen.prot is not a key: did you mean listen.port?",
                "f.yaml:6: listen.port must be a port from 0 to 65535 (0 takes any free one), "
                    + "or none, not \"70000\"",
                "f.yaml:8: tls.port needs a certificate: name its files in tls.certificates, "
                    + "or with --tls-certificate and --tls-key (\"fanfare keys certificate\" makes one for development)",
                "f.yaml:13: apps.1.secret is missing: it must be 1 to 256 characters of ASCII "
                    + "without spaces",
                "f.yaml:13: apps.1.id is 1, as that of apps.0: each app needs its own",
                "f.yaml:14: apps.1.key is a, as that of apps.0: each app needs its own",
                "f.yaml:15: apps.1.sekret is not a key: did you mean apps.1.secret?",
                "f.yaml:16: loops must be a number of threads from 0 to 1024, not \"many\"",
                "f.yaml:18: limits.queued_bytes_max must be a number of bytes from 64 KiB to "
                    + "1024 MiB, as 16384 or 16 KiB, not \"1 KiB\"",
            ]
        )
    }

    @Test(arguments: [
        (
            "port: 6001",
            "f.yaml:1: port is not a key: did you mean listen.port or tls.port or metrics.port?"
        ),
        (
            "shutdown_deadline: 5",
            "f.yaml:1: shutdown_deadline is not a key: did you mean shutdown.deadline?"
        ),
        (
            "shutdown: {notice: 20, deadline: 20}",
            "f.yaml:1: shutdown.notice is 20 s of the 20 s of shutdown.deadline: "
                + "leave some in which clients are closed"
        ),
        (
            "colour: red",
            "f.yaml:1: colour is not a key: the file may have "
                + "listen, tls, loops, apps, clients, limits, compression, webhooks, recovery, cluster, "
                + "metrics, console, shutdown, log"
        ),
        (
            "log:\n  colour: red",
            "f.yaml:2: log.colour is not a key: log may have level, format"
        ),
        (
            "listen: 6001",
            "f.yaml:1: listen is a section: write its keys beneath it, indented: "
                + "host, port, unix_socket, path_prefix, trusted_proxies"
        ),
        (
            "apps:\n  id: 1",
            "f.yaml:2: apps is a list: begin each item with \"- \" and write its keys: id, key, "
                + "secret, credentials, enabled, tls_only, allowed_origins, connections_max, "
                + "queued_bytes_max, subscriptions_max, event_data_length_max, "
                + "event_data_rules, channel_name_length_max, trigger_channels_max, batch_events_max, "
                + "members_max, presence_notice_delay, presence_grace, presence_activity_timeout, "
                + "user_info_length_max, watchlist_max, cached_events_max, cache_lifetime, "
                + "idempotency_keys_max, idempotency_age, "
                + "client_events_per_second_max, "
                + "subscriptions_per_second_max, requests_per_second_max, triggers_per_second_max, "
                + "queries_per_second_max, terminations_per_second_max, "
                + "faulty_messages_per_minute_max, features, recovery, webhooks"
        ),
        (
            "tls: {certificates: cert.pem}",
            "f.yaml:1: tls.certificates is a list: begin each item with \"- \" and write its "
                + "keys: certificate, key"
        ),
        (
            "tls: {port: 1, certificates: [cert.pem]}",
            "f.yaml:1: tls.certificates.0 must have the keys certificate, key"
        ),
        (
            "loops: [1, 2]",
            "f.yaml:1: loops must be a number of threads from 0 to 1024, not a list or section"
        ),
        ("loops: -1", "f.yaml:1: loops must be a number of threads from 0 to 1024, not \"-1\""),
        ("loops: 1_", "f.yaml:1: loops must be a number of threads from 0 to 1024, not \"1_\""),
        ("loops: 2000", "f.yaml:1: loops must be a number of threads from 0 to 1024, not \"2000\""),
        ("loops:", "f.yaml:1: loops must be a number of threads from 0 to 1024, not nothing"),
        (
            "loops: 99999999999999999999",
            "f.yaml:1: loops must be a number of threads from 0 to 1024, "
                + "not \"99999999999999999999\""
        ),
        (
            "compression: {enabled: yes}",
            "f.yaml:1: compression.enabled must be true or false, not \"yes\""
        ),
        (
            "log: {level: loud}",
            "f.yaml:1: log.level must be one of trace, debug, info, notice, warning, error, "
                + "critical, not \"loud\""
        ),
        (
            "listen: {path_prefix: realtime/}",
            "f.yaml:1: listen.path_prefix must be a path as /realtime, without a slash at its "
                + "end, or none, not \"realtime/\""
        ),
        (
            "limits: {message_length_max: 99999999999999999 MiB}",
            "f.yaml:1: limits.message_length_max must be a number of bytes from 1 KiB to 16 MiB, "
                + "as 16384 or 16 KiB, not \"99999999999999999 MiB\""
        ),
        ("apps: []", "f.yaml:1: apps must have at least one app: \"fanfare keys app\" makes one"),
        (
            "apps:\n- {id: 1/2, key: k, secret: s}",
            "f.yaml:2: apps.0.id must be 1 to 100 letters, digits, - or _, not \"1/2\""
        ),
        (
            "listen:\n  port: none",
            "f.yaml:2: listen.port is none, and so are tls.port and listen.unix_socket: set one"
        ),
        (
            "metrics: {port: 6001}",
            "f.yaml:1: metrics.port is 6001, as listen.port is: choose one of its own"
        ),
        (
            "console: {port: 6001, password: long-enough-word}",
            "f.yaml:1: console.port is 6001, as listen.port is: choose one of its own"
        ),
        (
            "console: {port: 6060}",
            "f.yaml:1: console.port needs console.password: who signs in sees and sends events"
        ),
        (
            "console: {port: 6060, password: short-word1}",
            "f.yaml:1: console.password must have 12 characters or more"
        ),
        (
            "console: {password: long-enough-word}",
            "f.yaml:1: console.password is of no use without console.port: set it, as to 6060"
        ),
        ("loops: 1\nloops: 2", "f.yaml:1: loops is written twice in the same place: keep one"),
        (
            "x: 1\n? [a, b]\n: 1\nx: 2\n? [a, b]\n: 2",
            "f.yaml: a list or a mapping stands where a key should, more than once"
        ),
        ("- loops", "f.yaml:1: the file must be a list of \"key: value\" lines"),
    ])
    func names(yaml: String, fault: String) {
        #expect(faults(yaml) == [fault])
    }

    @Test func aBrokenDocumentNamesThePlace() {
        let found = faults("loops: 1\nlisten: {port: 1\n")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("f.yaml:3: this is not YAML at column 1: ") == true)
    }

    @Test func secretsAreNeverRepeated() {
        let yaml = "apps:\n- {id: 1, key: k, secret: \"with space\"}"
        #expect(
            faults(yaml) == [
                "f.yaml:2: apps.0.secret must be 1 to 256 characters of ASCII without spaces, "
                    + "not \"(secret)\""
            ]
        )
    }

    @Test(arguments: [
        ("0.0.0.0", false), ("::", false), ("192.168.1.4", false), ("::ffff:10.0.0.1", false),
        ("127.0.0.1", true), ("127.8.8.8", true), ("::1", true), ("[::1]", true),
        ("::ffff:127.0.0.1", true), ("localhost", true),
    ])
    func developmentCredentialsStayOnLoopback(host: String, isAccepted: Bool) {
        let found = faults("listen: {host: \"\(host)\"}")
        #expect(found.isEmpty == isAccepted)
        guard !isAccepted else { return }
        #expect(
            found == [
                "apps.0.secret is the development one, which is public, and the broker would "
                    + "listen on \(host): make an app of your own with \"fanfare keys app\", or "
                    + "listen on 127.0.0.1"
            ]
        )
    }

    @Test(arguments: [("app-key", "x"), ("x", "app-secret")])
    func halfOfTheDevelopmentCredentialsIsTooMuch(key: String, secret: String) {
        let app = "apps: [{id: 1, key: \(key), secret: \(secret)}]"
        #expect(faults("listen: {host: 0.0.0.0}\n\(app)").count == 1)
        #expect(faults(app).isEmpty)
        #expect(faults("listen: {host: 0.0.0.0, port: none, unix_socket: /s}\n\(app)").isEmpty)
    }

    @Test func portsDiffer() throws {
        let pair = try TemporaryCertificate()
        func yaml(_ port: String) -> String {
            "listen: {port: 7000}\ntls: {port: \(port), certificates: [\(pair.yaml)]}"
        }
        #expect(faults(yaml("7001")).isEmpty)
        #expect(
            faults(yaml("7000")) == [
                "f.yaml:2: tls.port is 7000, as listen.port is: choose another, "
                    + "for each is a listener"
            ]
        )
        #expect(
            faults(yaml("none")) == [
                "f.yaml:2: tls.certificates are of no use without tls.port: set it, as to 6002"
            ]
        )
    }

    @Test func certificatesAreReadable() throws {
        let pair = try TemporaryCertificate()
        let yaml = """
            tls:
              port: 6002
              certificates:
                - certificate: /nonexistent/certificate.pem
                  key: \(pair.key.path)
            """
        #expect(
            faults(yaml) == [
                "f.yaml:4: tls.certificates.0.certificate cannot be read: "
                    + "/nonexistent/certificate.pem: No such file or directory"
            ]
        )
    }

    @Test func certificatesAreWhatTheyShouldBe() throws {
        let (one, other) = try (TemporaryCertificate(), TemporaryCertificate())
        let text = try TemporaryFile("nothing of the kind")
        func faults(_ certificate: TemporaryFile, _ key: TemporaryFile) -> [String] {
            let item = "{certificate: \(certificate.path), key: \(key.path)}"
            return BrokerConfigurationTests.faults("tls: {port: 6002, certificates: [\(item)]}")
        }
        #expect(faults(one.certificate, one.key).isEmpty)
        #expect(
            faults(one.certificate, other.key) == [
                "f.yaml:1: tls.certificates.0.key is not the key of \(one.certificate.path): "
                    + "name the one it was made with"
            ]
        )
        for (found, problem) in [
            (faults(text, one.key), "certificate must be a certificate in PEM: "),
            (
                faults(one.certificate, text),
                "key must be a private key in PEM without a passphrase: "
            ),
        ] {
            #expect(found.count == 1)
            #expect(found.first?.hasPrefix("f.yaml:1: tls.certificates.0.\(problem)") == true)
        }
    }

    @Test func limitsThatContradictEachOther() {
        let yaml = """
            apps: [{id: 1, key: k, secret: s, event_data_length_max: 2 MiB, event_data_rules: [{channel_prefix: a, length_max: 3 MiB}]}]
            limits: {queued_bytes_max: 2 MiB}
            """
        #expect(
            faults(yaml) == [
                "f.yaml:1: apps.0.event_data_length_max is 2097152 bytes, but "
                    + "limits.request_body_length_max is 2097152: no such event would pass; "
                    + "lower the one or raise the other",
                "f.yaml:1: apps.0.event_data_length_max is 2097152 bytes, but "
                    + "limits.queued_bytes_max is 2097152: no such event would pass; lower the "
                    + "one or raise the other",
                "f.yaml:1: apps.0.event_data_rules.0.length_max is 3145728 bytes, but "
                    + "limits.request_body_length_max is 2097152: no such event would pass; "
                    + "lower the one or raise the other",
                "f.yaml:1: apps.0.event_data_rules.0.length_max is 3145728 bytes, but "
                    + "limits.queued_bytes_max is 2097152: no such event would pass; lower the "
                    + "one or raise the other",
            ]
        )
    }

    @Test func aConfigurationMadeInCodeIsValidated() {
        var configuration = Configuration()
        configuration.loops = -1
        #expect(
            configuration.faults().map(\.description) == [
                "loops must be a number of threads from 0 to 1024, not \"-1\""
            ]
        )
        #expect(throws: ConfigurationError.self) { try configuration.validate() }
    }

    @Test func aliasesThatStandForBillionsOfValuesAreRefusedAtOnce() {
        var yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            yaml += "a\(level): &a\(level) [\(aliases)]\n"
        }
        let found = faults(yaml)
        #expect(found.count == 1)
        #expect(found[0].contains("there are more than 100000 values: "))
    }

    @Test func ofThousandsOfUnknownKeysTheFirstAreReported() {
        let yaml = (0..<5_000).map { "key\($0): 1\n" }.joined()
        let found = faults(yaml)
        #expect(found.count == 201)
        #expect(found[0].hasPrefix("f.yaml:1: key0 is not a key"))
        #expect(found[200] == "f.yaml:201: there is more that is no key: fix these first")
    }
}
