import Foundation
import Testing

/// Compares the public declarations of each client product with `Tests/DocumentationTests/Interfaces`, so that none
/// changes unnoticed.
///
/// After a change that is meant, run the test with `WRITE_INTERFACES=1` and review the difference.
@Suite("Public interfaces", .timeLimit(.minutes(5))) struct InterfaceTests {
    private static let root = ProgramsTests.root
    private static let folder = root.appending(path: "Tests/DocumentationTests/Interfaces")

    /// The folder of this program and of the modules it was built from.
    private static let products = URL(filePath: CommandLine.arguments[0])
        .deletingLastPathComponent()

    /// The products for apps and backends.
    private static let modules = [
        "FanfareAPI", "FanfareClient", "FanfareEncryption", "FanfareOutbox", "FanfareStorage",
        "FanfareTesting", "FanfareUI",
        "LiveCollections", "LiveQueries", "LiveRows", "LiveTables", "PusherSwift",
    ]

    @Test(arguments: modules) func isAsListed(module: String) throws {
        let declarations = try Self.declarations(of: module)
        #expect(!declarations.isEmpty)
        let file = Self.folder.appending(path: "\(module).txt")
        let text =
            "\(declarations.count) public declarations\n\n"
            + declarations.map { $0 + "\n" }.joined()
        if ProcessInfo.processInfo.environment["WRITE_INTERFACES"] == "1" {
            try Data(text.utf8).write(to: file)
        }
        let listed = try String(contentsOf: file, encoding: .utf8)
        guard text != listed else { return }
        let old = Set(listed.split(separator: "\n").dropFirst().map(String.init))
        let new = Set(declarations)
        let differences =
            old.subtracting(new).sorted().map { "- \($0)" }
            + new.subtracting(old).sorted().map { "+ \($0)" }
        Issue.record(
            """
            The interface of \(module) differs from \(module).txt:
            \(differences.joined(separator: "\n"))
            """
        )
    }

    /// A public symbol of a module.
    struct Symbol: Decodable {
        struct Fragment: Decodable { let spelling: String }

        let pathComponents: [String]
        let declarationFragments: [Fragment]

        /// The symbol as links name it, such as `Channel/bind(_:perform:)`.
        var path: String { pathComponents.joined(separator: "/") }

        /// The declaration, in one line.
        var declaration: String {
            declarationFragments.map(\.spelling).joined()
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
    }

    private struct SymbolGraph: Decodable {
        let symbols: [Symbol]
    }

    /// The public declarations of a module, each in one line, sorted.
    static func declarations(of module: String) throws -> [String] {
        try symbols(of: module).map { symbol in
            let place = symbol.pathComponents.dropLast().joined(separator: ".")
            return place.isEmpty ? symbol.declaration : "\(place): \(symbol.declaration)"
        }
        .sorted()
    }

    /// The public symbols of a module.
    static func symbols(of module: String) throws -> [Symbol] {
        let output = FileManager.default.temporaryDirectory
            .appending(path: "fanfare-interface-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: output) }
        let extractor = Process()
        extractor.executableURL = URL(filePath: "/usr/bin/env")
        let folders =
            [products.appending(path: "Modules")]
            + ["CLinux", "COpenSSL", "CSQLite", "CZlib"].map {
                root.appending(path: "Sources/\($0)")
            }
            + [
                // Beside the folder of the build's configuration and, where there is one, of its platform.
                products.deletingLastPathComponent(),
                products.deletingLastPathComponent().deletingLastPathComponent(),
            ].map { $0.appending(path: "checkouts/GRDB.swift/Sources/GRDBSQLite") }
        extractor.arguments =
            [
                "swift-symbolgraph-extract", "-module-name", module, "-target", target,
                "-minimum-access-level", "public", "-skip-synthesized-members",
                "-output-dir", output.path,
            ] + folders.flatMap { ["-I", $0.path] }
        let errors = Pipe()
        extractor.standardOutput = FileHandle.nullDevice
        extractor.standardError = errors
        try extractor.run()
        let log = try errors.fileHandleForReading.readToEnd() ?? Data()
        extractor.waitUntilExit()
        guard extractor.terminationStatus == 0 else {
            Issue.record("\(module): \(String(decoding: log, as: UTF8.self))")
            return []
        }
        // The module's own graph, and those of its extensions of other modules.
        return try FileManager.default.contentsOfDirectory(atPath: output.path)
            .filter { $0.hasSuffix(".symbols.json") }
            .flatMap { file in
                let data = try Data(contentsOf: output.appending(path: file))
                return try JSONDecoder().decode(SymbolGraph.self, from: data).symbols
            }
    }

    #if arch(arm64)
        private static let target = "aarch64-unknown-linux-gnu"
    #else
        private static let target = "x86_64-unknown-linux-gnu"
    #endif
}
