import Broker
import Foundation
import Logging
import Net
import ServerLog
import TestFiles
import Testing
import WebSocket

@testable import BrokerConfiguration

@Suite("Configuration: reading") struct ConfigurationTests {
    @Test func withoutAFileIsTheDevelopmentBroker() throws {
        let configuration = try Configuration.load(file: nil)
        #expect(configuration == .development)
        #expect(configuration.faults().isEmpty)
        #expect(configuration.hosts == ["127.0.0.1"])
        #expect(configuration.port == 6001)
        #expect(configuration.apps.map(\.id) == ["1"])
        #expect(configuration.apps.map(\.key) == ["app-key"])
        #expect(configuration.apps.map(\.secret) == ["app-secret"])
        // In other apps client events are off by default.
        #expect(configuration.apps[0].features.clientEvents)
        #expect(!AppConfiguration(id: "1", key: "k", secret: "s").features.clientEvents)
    }

    @Test(arguments: ["", "# nothing but a comment\n", "listen:\ntls:\napps:\nlog: {}\n"])
    func emptyDocumentsKeepTheDefaults(yaml: String) throws {
        #expect(try Configuration.load(yaml: yaml, file: "f.yaml") == .development)
    }

    @Test func everyKindOfValueIsRead() throws {
        let configuration = try Configuration.load(
            yaml: """
                listen:
                  host: localhost
                  port: none
                  unix_socket: /run/fanfare.sock
                  path_prefix: /realtime
                loops: 4
                apps:
                  - id: 007
                    key: 1e6
                    secret: none-such
                  - {id: "2", key: k2, secret: 's#2', enabled: false, connections_max: 1_000}
                limits:
                  message_length_max: 16 KiB
                  queued_bytes_max: 1048576
                compression:
                  enabled: false
                log: {level: debug, format: json}
                """,
            file: "f.yaml"
        )
        #expect(configuration.hosts == ["127.0.0.1"])
        #expect(configuration.port == nil)
        #expect(configuration.unixSocket == "/run/fanfare.sock")
        #expect(configuration.pathPrefix == "/realtime")
        #expect(configuration.loops == 4)
        // A number in place of a text is kept as text, with its digits unchanged.
        #expect(configuration.apps[0].id == "007")
        #expect(configuration.apps[0].key == "1e6")
        #expect(configuration.apps[0].secret == "none-such")
        #expect(configuration.apps[1].isEnabled == false)
        #expect(configuration.apps[1].limits.connectionsMax == 1_000)
        #expect(configuration.apps[1].secret == "s#2")
        #expect(configuration.webSocketLimits.messageLengthMax == 16_384)
        #expect(configuration.streamLimits.queuedBytesMax == 1 << 20)
        #expect(configuration.compression.isEnabled == false)
        #expect(configuration.compression.threshold == 1_024)
        #expect(configuration.log.level == .debug)
        #expect(configuration.log.format == .json)
    }

    @Test(arguments: ["none", "~", "null", ""])
    func noneIsWrittenInSeveralWays(text: String) throws {
        let yaml = "listen:\n  port: \(text)\n  unix_socket: /run/f.sock\n"
        #expect(try Configuration.load(yaml: yaml, file: "f.yaml").port == nil)
    }

    @Test(arguments: [
        ("65536", 65_536), ("64 KiB", 65_536), ("64KiB", 65_536), ("1 MiB", 1 << 20),
        ("10_000", 10_000),
    ])
    func bytesAreRead(text: String, count: Int) throws {
        let yaml = "limits: {message_length_max: \(text)}"
        #expect(
            try Configuration.load(yaml: yaml, file: "f.yaml").webSocketLimits.messageLengthMax
                == count
        )
    }

    @Test func aFileIsReadFromDisk() throws {
        let file = try TemporaryFile("loops: 3\n")
        #expect(try Configuration.load(file: file.path).loops == 3)
    }

    @Test func aFileThatIsNotThereIsOneFault() {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: "/nonexistent/fanfare.yaml")
        }
        let expected = "/nonexistent/fanfare.yaml: the configuration cannot be read: "
        #expect(error?.description == expected + "No such file or directory")
    }

    @Test func aFileThatIsNotTextIsOneFault() throws {
        let file = try TemporaryFile(bytes: [0x61, 0xFF, 0x0A])
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: file.path)
        }
        #expect(error?.description == "\(file.path): the configuration must be text in UTF-8")
    }

    @Test func secretsAreNotShown() {
        let app = AppConfiguration(id: "1", key: "k", secret: "hush")
        var dumped = ""
        dump(app, to: &dumped)
        #expect(!"\(app)".contains("hush"))
        #expect(!dumped.contains("hush"))
        #expect(!String(reflecting: app).contains("hush"))
    }
}
