import Broker
import Foundation
import Net
import TestFiles
import Testing

@testable import BrokerConfiguration

private let config = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "config")

@Suite("Configuration: the reference of all keys") struct ConfigurationReferenceTests {
    private static let path = config.appending(path: "fanfare.example.yaml").path()

    @Test("config/fanfare.example.yaml is the table of keys") func document() throws {
        let expected = ConfigurationReference.text
        guard try String(contentsOfFile: Self.path, encoding: .utf8) != expected else { return }
        let generated = FileManager.default.temporaryDirectory
            .appending(path: "fanfare.example.yaml").path()
        try expected.write(toFile: generated, atomically: true, encoding: .utf8)
        Issue.record("it differs from the table: cp \(generated) \(Self.path)")
    }

    @Test func itsValuesAreTheDefaults() throws {
        #expect(try Configuration.load(file: Self.path) == .development)
    }

    @Test func itHasEveryKey() throws {
        let text = try CommentedExamples(ConfigurationReference.text).all
        let written = Set(try YAMLSettings.read(text, file: "f").map { Self.pattern($0) })
        #expect(written == Set(ConfigurationKeys.schema.patterns))
    }

    @Test("Each example that is commented out is valid in its place, alone")
    func examples() throws {
        let examples = try CommentedExamples(ConfigurationReference.text)
        #expect(
            examples.keys == [
                "certificates", "credentials", "allowed_origins", "event_data_rules", "rules",
                "webhooks", "urls", "sentinels",
            ]
        )
        for index in examples.keys.indices {
            let (key, text) = (examples.keys[index], examples.uncommented(at: index))
            let found = faults(text)
            if key == "certificates" {
                // The explanation says that certificates need a TLS port; then only their files are missing.
                let missing = faults(text, environment: ["FANFARE_TLS_PORT": "6002"])
                #expect(missing.count == 2, "\(missing)")
                #expect(missing.allSatisfy { $0.contains("/etc/fanfare/tls/") }, "\(missing)")
                let others = found.filter { !$0.contains("/etc/fanfare/tls/") }
                #expect(others.count == 1, "\(others)")
                #expect(others.allSatisfy { $0.contains("without tls.port: set it, as to 6002") })
            } else {
                #expect(found.isEmpty, "\(key)")
            }
            let items = try YAMLSettings.read(text, file: "f")
                .filter { $0.path.dropLast().contains(String(key)) }
            #expect(!items.isEmpty, "\(key)")
        }
    }

    @Test("All examples together are a configuration with a TLS port") func allExamples() throws {
        let pair = try TemporaryCertificate()
        let yaml = try CommentedExamples(ConfigurationReference.text).all
            .replacing("/etc/fanfare/tls/fullchain.pem", with: pair.certificate.path)
            .replacing("/etc/fanfare/tls/privkey.pem", with: pair.key.path)
        let configuration = try Configuration.load(
            yaml: yaml,
            file: "f",
            environment: ["FANFARE_TLS_PORT": "6002"]
        )
        let app = configuration.apps[0]
        #expect(
            app.credentials
                == [AppConfiguration.Credential(key: "another-key", secret: "another-secret")]
        )
        #expect(app.allowedOrigins.count == 3)
        #expect(app.recoveryRules.map(\.settings.channelPrefix) == ["private-orders-"])
        // The endpoint is shown with its defaults, except for one header.
        var webhook = WebhookConfiguration(url: "https://example.com/webhooks")
        webhook.headers = ["X-Example": "text"]
        #expect(app.webhooks == [webhook])
        #expect(configuration.cluster.redis.sentinels.count == 1)
    }

    @Test func everyKeyIsExplainedInSentences() {
        func check(_ key: KeyReference) {
            #expect(key.help.last == "." || key.help.hasSuffix("/…."), "\(key.path)")
            if case .item(let keys, _) = key.content { keys.forEach(check) }
        }
        for key in ConfigurationKeys.all { check(key.reference(.development)) }
    }

    @Test func noLineIsTooLong() {
        for line in ConfigurationReference.text.split(separator: "\n") {
            #expect(line.count <= 120, "\(line)")
        }
    }

    /// The pattern of a setting's path, or the path when it has none.
    private static func pattern(_ setting: Setting) -> String {
        ConfigurationKeys.schema.patterns.first { pattern in
            let parts = pattern.split(separator: ".")
            return parts.count == setting.path.count
                && zip(parts, setting.path).allSatisfy { part, name in
                    part == "*" || part == name
                        || part == "N" && ConfigurationSchema.isPosition(name)
                }
        } ?? setting.key
    }
}

@Suite("Configuration: the file for production") struct ProductionConfigurationTests {
    private static let path = config.appending(path: "fanfare.yaml").path()
    private static let environment = [
        "FANFARE_APPS_0_KEY": "k", "FANFARE_APPS_0_SECRET": "a-secret-of-sixteen-characters",
    ]

    @Test func itHasThirtyLinesAtMost() throws {
        let text = try String(contentsOfFile: Self.path, encoding: .utf8)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 31)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }

    @Test func itIsValidWithAKeyAndASecretFromTheEnvironment() throws {
        let configuration = try Configuration.load(file: Self.path, environment: Self.environment)
        #expect(configuration.apps.map(\.key) == ["k"])
        // The folder of a package or the systemd unit may be missing on this machine.
        for warning in configuration.warnings() {
            #expect(warning.problem.contains("the folder /var/lib/fanfare does not exist"))
        }
        let found = faults(try String(contentsOfFile: Self.path, encoding: .utf8))
        #expect(found.count == 2, "\(found)")
        #expect(found.allSatisfy { $0.contains(" is missing: ") }, "\(found)")
    }

    @Test func itsSectionOfTLSIsValidInItsPlace() throws {
        let pair = try TemporaryCertificate()
        let lines = try String(contentsOfFile: Self.path, encoding: .utf8)
            .split(separator: "\n")
        let start = try #require(lines.firstIndex(of: "# tls:"))
        let end = try #require(lines[start...].firstIndex { !$0.hasPrefix("#") })
        let text = lines.enumerated()
            .map { (start..<end).contains($0) ? $1.dropFirst(2) : $1 }.joined(separator: "\n")
        let missing = faults(text, environment: Self.environment)
        #expect(missing.count == 2, "\(missing)")
        #expect(missing.allSatisfy { $0.contains("/etc/fanfare/tls/") }, "\(missing)")
        let configuration = try Configuration.load(
            yaml: text.replacing("/etc/fanfare/tls/fullchain.pem", with: pair.certificate.path)
                .replacing("/etc/fanfare/tls/privkey.pem", with: pair.key.path)
                .replacing("host: 127.0.0.1", with: "host: 0.0.0.0")
                .replacing("port: 6001", with: "port: none"),
            file: "f",
            environment: Self.environment
        )
        #expect(configuration.tlsPort == 443 && configuration.port == nil)
        #expect(configuration.certificates.count == 1)
    }
}

/// The examples of a file that are commented out below their keys.
private struct CommentedExamples {
    /// The keys above the examples.
    private(set) var keys: [Substring] = []
    private let lines: [Substring]
    private var ranges: [Range<Int>] = []

    init(_ text: String) throws {
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var index = 0
        while index + 1 < lines.count {
            let line = lines[index]
            let indent = line.prefix { $0 == " " }
            index += 1
            guard line.hasSuffix(":"), !line.dropFirst(indent.count).hasPrefix("#"),
                lines[index].hasPrefix(indent + "#   ")
            else { continue }
            let start = index
            while lines[index].hasPrefix(indent + "#   ") { index += 1 }
            keys.append(line.dropFirst(indent.count).dropLast())
            ranges.append(start..<index)
        }
        try #require(!keys.isEmpty)
    }

    /// The text with the example at a position, and the others commented out.
    func uncommented(at position: Int) -> String { text(with: [ranges[position]]) }

    /// The text with all examples.
    var all: String { text(with: ranges) }

    private func text(with ranges: [Range<Int>]) -> String {
        lines.enumerated()
            .map { index, line in
                guard ranges.contains(where: { $0.contains(index) }),
                    let comment = line.range(of: "# ")
                else { return String(line) }
                return line.replacingCharacters(in: comment, with: "")
            }
            .joined(separator: "\n")
    }
}
