import Foundation
import Testing

/// Checks how the broker searches texts: what a peer may have sent is searched by bytes.
///
/// Swift's operations on `String` go by characters, and take a time quadratic in the combining marks of one.
@Suite("Texts of peers are searched by bytes") struct PeerTextTests {
    /// The modules that read what peers send.
    private static let modules = [
        "Archive", "Broker", "BrokerAPI", "Cluster", "Console", "FanfareServer", "Gateway", "HTTP1",
        "HTTPServer", "Net", "Observability", "Primitives", "PusherProtocol", "RESP", "Redis",
        "ServerLog", "Shard", "WebSocket", "Webhooks",
    ]

    /// Files whose texts are the operator's, the program's or of a checked form, and why.
    private static let exceptions = [
        "Archive/BootID.swift": "a file of the kernel",
        "Archive/Spool.swift": "a path of the operator's",
        "Broker/Apps/AppUsage.swift": "written by a node of the cluster",
        "Broker/Apps/RecoverySettings.swift": "a channel name, which is ASCII",
        "Broker/History/JoinedStream.swift": "a stream ID, which is ASCII",
        "Cluster/Operation/StoreAssessment.swift": "the settings of Redis",
        "Console/ConsoleLimits.swift": "the names of limits",
        "Console/ConsoleRequest.swift": "a page of the program",
        "Console/ConsoleRouter.swift": "a path and an authority, which are ASCII",
        "Observability/Metrics/PrometheusRegistry.swift": "the labels of metrics",
        "Net/Sockets/AddressRange.swift": "the operator's",
        "Net/TLS/DevelopmentCertificate.swift": "the operator's",
        "Redis/Address/RedisURL.swift": "the operator's",
        "Redis/Cluster/PartitionKeys.swift": "the operator's prefix of keys",
        "Redis/Connection/RedisError.swift": "at most 500 bytes",
        "Redis/Connection/RedisServer.swift": "the INFO of Redis",
        "Redis/RedisCluster/Redirection.swift": "at most 500 bytes",
        "Shard/ServerSettings.swift": "files of the kernel",
        "Webhooks/WebhookQueueSchema.swift": "channel names, which are ASCII",
    ]

    /// Operations that search by characters, as they are written.
    private static let searches = [
        #"\.(?:hasPrefix|hasSuffix|replacing|replacingOccurrences|trimmingCharacters)\((?!bytesOf)"#,
        #"\.split\((?:whereSeparator|separator: ")"#,
        #"\.(?:firstRange|ranges)\(of: "#,
        #"\.(?:contains|firstIndex|lastIndex)\((?:of: |with: )?"[^"]*"\)"#,
        #"\.(?:contains|drop|filter|prefix|firstIndex|lastIndex) ?[({] ?\$0 [!=]= ""#,
    ]

    /// The lines that search by characters, except comments.
    ///
    /// Foundation's expressions are compiled; a `Regex` takes a minute for all modules in a build to debug.
    private static func findings(in swift: String) throws -> [String] {
        let pattern = "^(?! *//).*(?:" + searches.joined(separator: "|") + ").*$"
        let lines = try NSRegularExpression(pattern: pattern, options: .anchorsMatchLines)
        return lines.matches(in: swift, range: NSRange(swift.startIndex..., in: swift))
            .compactMap { Range($0.range, in: swift).map { String(swift[$0]) } }
    }

    @Test(arguments: modules) func goByBytes(module: String) throws {
        let sources = ProgramsTests.root.appending(path: "Sources")
        let files = FileManager.default.enumerator(atPath: sources.appending(path: module).path)
        var count = 0
        while let file = files?.nextObject() as? String {
            guard file.hasSuffix(".swift") else { continue }
            count += 1
            let path = "\(module)/\(file)"
            if Self.exceptions.keys.contains(where: { path.hasPrefix($0) }) { continue }
            let swift = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
            let found = try Self.findings(in: swift)
            #expect(found == [], "\(path): use utf8, or Primitives/TextSearch")
        }
        #expect(count > 0)
    }

    @Test("Each exception is one")
    func exceptionsAreNeeded() throws {
        let sources = ProgramsTests.root.appending(path: "Sources")
        for file in Self.exceptions.keys where file.hasSuffix(".swift") {
            let swift = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
            #expect(try !Self.findings(in: swift).isEmpty, "\(file) searches nothing any more")
        }
    }

    @Test(
        "A search by characters is found",
        arguments: [
            (#"if name.hasPrefix("a") {}"#, true), (#"name.utf8.starts(with: "a".utf8)"#, false),
            (#"text.split(separator: ",")"#, true),
            (#"text.utf8.split(separator: UInt8(ascii: ","))"#, false),
            (#"text.replacing("a", with: "b")"#, true),
            (#"t.replacing(bytesOf: "a", with: "")"#, false),
            (#"text.contains("a")"#, true), (#"text.contains { $0 == " " }"#, true),
            (#"text.firstIndex(of: ":")"#, true), (#"// text.contains("a")"#, false),
        ]
    )
    func isFound(swift: String, isSearch: Bool) throws {
        #expect(try Self.findings(in: swift).isEmpty != isSearch)
    }
}
