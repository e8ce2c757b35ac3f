import Foundation
import Testing

/// Type-checks the code behind `canImport` of Apple's frameworks against the stubs in `Tests/AppleStubs`.
///
/// It finds missing APIs and errors of escaping closures, isolation and imports; it does not test behaviour.
@Suite("Code for Apple platforms, against stubs", .serialized, .timeLimit(.minutes(10)))
struct AppleStubsTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder of this program and of the modules it was built from.
    private static let products = URL(filePath: CommandLine.arguments[0])
        .deletingLastPathComponent()

    /// Checks the modules of clients with their dependencies: that they compile, and with `PROVE_PLATFORMS` that they use
    /// nothing that is newer than the platforms of `Package.swift`, which takes a minute more.
    ///
    /// The declarations' versions are those that the toolchain's own modules have for Apple platforms: the standard
    /// library, concurrency, `Synchronization`, `Observation` and Foundation. Apple's frameworks are not among them, nor
    /// is what the runtime needs for a feature of the language.
    @Test func compile() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "fanfare-stubs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let provesVersions = ProcessInfo.processInfo.environment["PROVE_PLATFORMS"] != nil
        let newer = provesVersions ? try Self.newerDeclarations(folder) : [:]
        for stub in [
            "Darwin", "CryptoKit", "UIKit", "AppKit", "Security", "Network", "Combine", "SwiftUI",
        ] {
            let file = "Tests/AppleStubs/\(stub).swift"
            let faults = try Self.faults(in: [file], of: stub, folder, Self.stubSettings)
            #expect(faults == "")
        }
        for module in [
            "Primitives", "Digests", "HTTP1", "PusherProtocol", "HTTPClient", "FanfareOutbox",
            "FanfareAPI", "FanfareClient", "FanfareEncryption", "PusherSwift", "LiveRows",
            "LiveCollections", "LiveTables", "FanfareUI", "Broker", "FanfareTesting",
        ] {
            let files = try FileManager.default
                .subpathsOfDirectory(atPath: Self.root.appending(path: "Sources/\(module)").path)
                .filter { $0.hasSuffix(".swift") }.sorted().map { "Sources/\(module)/\($0)" }
            let faults = try Self.faults(in: files, of: module, folder, Self.settings)
            #expect(faults == "")
            guard provesVersions else { continue }
            // FanfareUI uses Observation where the system has it, and the compiler checks that there.
            let newer = newer.filter { module != "FanfareUI" || $0.value > 17 }
            for (file, names) in try Self.references(of: files, of: module, folder) {
                for name in names {
                    if let version = newer[String(name)] {
                        Issue.record("\(file): iOS \(version) has \(name)")
                    }
                }
            }
        }
        let sample = folder.appending(path: "Sample.swift")
        try Data(Self.sample().utf8).write(to: sample)
        let faults = try Self.faults(in: [sample.path], of: "Sample", folder, Self.stubSettings)
        #expect(faults == "")
    }

    /// The SwiftUI app of the article about FanfareUI.
    private static func sample() throws -> String {
        let article = root.appending(path: "Sources/FanfareUI/FanfareUI.docc/FanfareUI.md")
        let parts = try String(contentsOf: article, encoding: .utf8).split(separator: "```swift\n")
        return try #require(parts.dropFirst().first?.split(separator: "```\n").first).description
    }

    @Test("A call that is missing from the framework is found")
    func reportsErrors() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "fanfare-stubs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "Wrong.swift")
        let text = """
            import AppKit
            @MainActor func f(_ table: NSTableView, _ g: () -> Void) { table.reload() }
            """
        try Data(text.utf8).write(to: file)
        _ = try Self.faults(
            in: ["Tests/AppleStubs/AppKit.swift"],
            of: "AppKit",
            folder,
            Self.stubSettings
        )
        let faults = try Self.faults(in: [file.path], of: "Wrong", folder, Self.settings)
        #expect(faults.contains("has no member 'reload'"), "\(faults)")
    }

    private static let stubSettings = [
        "-swift-version", "6", "-enable-upcoming-feature", "InternalImportsByDefault",
    ]

    /// As in `Package.swift`.
    private static let settings = [
        "-swift-version", "6", "-warnings-as-errors",
        "-enable-upcoming-feature", "ExistentialAny",
        "-enable-upcoming-feature", "InternalImportsByDefault",
        "-enable-upcoming-feature", "MemberImportVisibility",
        "-enable-experimental-feature", "Lifetimes",
    ]

    /// Compiles a module up to its diagnostics, and writes it to the folder for later modules.
    ///
    /// - Returns: The compiler's errors; empty for none.
    private static func faults(
        in files: [String],
        of module: String,
        _ folder: URL,
        _ settings: [String]
    ) throws -> String {
        let arguments =
            [
                // Not to /dev/null: the compiler replaces its output file, and as root would replace the device.
                "-emit-sil", "-o", folder.appending(path: "\(module).sil").path, "-wmo",
                "-emit-module", "-emit-module-path",
                folder.appending(path: "\(module).swiftmodule").path,
            ] + settings
        let (log, status) = try compile(files, module, folder, arguments)
        // Foundation leaks its buffer when it reads an empty file.
        let isEmpty = try log.resourceValues(forKeys: [.fileSizeKey]).fileSize == 0
        let text = isEmpty ? "" : try String(contentsOf: log, encoding: .utf8)
        let errors = text.split(separator: "\n").filter { $0.contains("error: ") }
        if status != 0, errors.isEmpty { return text }
        return errors.joined(separator: "\n")
    }

    /// The declarations that the files of a module refer to, by the compiler's names for them.
    ///
    /// Files that are for Linux alone are compiled here, and left out.
    private static func references(
        of files: [String],
        of module: String,
        _ folder: URL
    ) throws -> [String: Set<Substring>] {
        let arguments = ["-dump-ast", "-dump-ast-format", "json"] + settings
        let (tree, _) = try compile(files, module, folder, arguments)
        // By grep and awk: the tree of a module has up to 20 MB, which a debug build splits in minutes.
        let script = #"""
            grep -aoE '"_kind":"source_file","filename":"[^"]+|"decl_usr":"[^"]+' "$1" |
                awk -F '"' '/source_file/ { file = $NF; next } !seen[file, $NF]++ { print file, $NF }'
            """#
        let names = folder.appending(path: "\(module).names")
        #expect(try run("sh", ["-c", script, "sh", tree.path], printingTo: names) == 0)
        var references: [String: Set<Substring>] = [:]
        for line in try String(contentsOf: names, encoding: .utf8).split(separator: "\n") {
            let words = line.split(separator: " ")
            references[String(words[0]), default: []].insert(words[1])
        }
        references = try references.filter { file, _ in
            guard files.contains(file) else { return false }
            let source = try String(contentsOf: root.appending(path: file), encoding: .utf8)
            return !source.hasPrefix("#if os(Linux)")
        }
        #expect(!references.isEmpty, "\(module)")
        return references
    }

    private struct Symbols: Decodable {
        struct Symbol: Decodable {
            struct Identifier: Decodable { let precise: String }
            struct Version: Decodable { let major: Int }
            struct Availability: Decodable {
                let domain: String?
                let introduced: Version?
            }
            let identifier: Identifier
            let availability: [Availability]?
        }
        let symbols: [Symbol]
    }

    /// The toolchain's declarations that need a later iOS than `Package.swift`, with its version.
    private static func newerDeclarations(_ folder: URL) throws -> [String: Int] {
        let package = try String(
            contentsOf: root.appending(path: "Package.swift"),
            encoding: .utf8
        )
        let floor = try #require(
            package.firstMatch(of: #/\.iOS\(\.v(\d+)\)/#).flatMap { Int($0.1) }
        )
        let symbols = folder.appending(path: "symbols")
        try FileManager.default.createDirectory(at: symbols, withIntermediateDirectories: true)
        var newer: [String: Int] = [:]
        for module in [
            "Swift", "_Concurrency", "_StringProcessing", "Synchronization", "Observation",
            "FoundationEssentials", "Foundation",
        ] {
            let status = try run(
                "swift-symbolgraph-extract",
                [
                    "-module-name", module, "-target", target, "-skip-synthesized-members",
                    "-output-dir", symbols.path,
                ],
                printingTo: folder.appending(path: "symbols.log")
            )
            #expect(status == 0, "\(module)")
        }
        for file in try FileManager.default.contentsOfDirectory(atPath: symbols.path) {
            let data = try Data(contentsOf: symbols.appending(path: file))
            for symbol in try JSONDecoder().decode(Symbols.self, from: data).symbols {
                let version = symbol.availability?.first { $0.domain == "iOS" }?.introduced?.major
                if let version, version > floor { newer[symbol.identifier.precise] = version }
            }
        }
        // These are from iOS 18 on, and for earlier versions the compiler chooses others in their place: the operator of an
        // extension, and `next()` in a loop (SE-0421).
        newer["s:s17FixedWidthIntegerP2amoiyxx_xtFZ"] = nil
        newer = newer.filter { !$0.key.contains("4next9isolation") }
        #expect(newer.count > 500)
        return newer
    }

    #if arch(arm64)
        private static let target = "aarch64-unknown-linux-gnu"
    #else
        private static let target = "x86_64-unknown-linux-gnu"
    #endif

    /// Runs the compiler on a module's files.
    ///
    /// - Returns: The file of what it printed, and its status.
    private static func compile(
        _ files: [String],
        _ module: String,
        _ folder: URL,
        _ arguments: [String]
    ) throws -> (log: URL, status: Int32) {
        let places = ["COpenSSL", "CLinux", "CZlib"].map { root.appending(path: "Sources/\($0)") }
        let log = folder.appending(path: "\(module).log")
        let status = try run(
            "swiftc",
            [
                "-parse-as-library", "-module-name", module,
                "-package-name", root.lastPathComponent.lowercased(),
            ] + arguments
                + ([folder, products.appending(path: "Modules")] + places).flatMap {
                    ["-I", $0.path]
                }
                + files,
            printingTo: log
        )
        return (log, status)
    }

    /// Runs a program in the project's folder, and returns its status.
    private static func run(
        _ program: String,
        _ arguments: [String],
        printingTo log: URL
    ) throws -> Int32 {
        try Data().write(to: log)
        let output = try FileHandle(forWritingTo: log)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.currentDirectoryURL = root
        process.arguments = [program] + arguments
        process.standardOutput = output
        process.standardError = output
        try process.run()
        process.waitUntilExit()
        try output.close()
        return process.terminationStatus
    }
}
