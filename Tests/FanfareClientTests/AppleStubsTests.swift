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

    /// Checks a module with its dependencies for Apple platforms.
    @Test func compile() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "fanfare-stubs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for stub in ["Darwin", "CryptoKit", "UIKit", "AppKit", "Security", "Network", "SwiftUI"] {
            let file = "Tests/AppleStubs/\(stub).swift"
            let faults = try Self.faults(in: [file], of: stub, folder, Self.stubSettings)
            #expect(faults == "")
        }
        for module in [
            "Primitives", "Digests", "HTTP1", "PusherProtocol", "HTTPClient", "FanfareOutbox",
            "FanfareAPI", "FanfareClient", "FanfareEncryption", "PusherSwift", "LiveTables",
            "FanfareUI",
        ] {
            let files = try FileManager.default
                .subpathsOfDirectory(atPath: Self.root.appending(path: "Sources/\(module)").path)
                .filter { $0.hasSuffix(".swift") }.sorted().map { "Sources/\(module)/\($0)" }
            let faults = try Self.faults(in: files, of: module, folder, Self.settings)
            #expect(faults == "")
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
        let compiler = Process()
        compiler.executableURL = URL(filePath: "/usr/bin/env")
        compiler.currentDirectoryURL = root
        let places = ["Sources/COpenSSL", "Sources/CLinux", "Sources/CZlib"].map {
            root.appending(path: $0)
        }
        compiler.arguments =
            [
                // Not to /dev/null: the compiler replaces its output file, and as root would replace the device.
                "swiftc", "-emit-sil", "-o", folder.appending(path: "\(module).sil").path,
                "-wmo", "-parse-as-library",
                "-module-name", module, "-package-name", root.lastPathComponent.lowercased(),
                "-emit-module", "-emit-module-path",
                folder.appending(path: "\(module).swiftmodule").path,
            ] + settings
            + ([folder, products.appending(path: "Modules")] + places).flatMap { ["-I", $0.path] }
            + files
        let log = folder.appending(path: "\(module).log")
        try Data().write(to: log)
        let output = try FileHandle(forWritingTo: log)
        compiler.standardOutput = FileHandle.nullDevice
        compiler.standardError = output
        try compiler.run()
        compiler.waitUntilExit()
        try output.close()
        // Foundation leaks its buffer when it reads an empty file.
        let isEmpty = try log.resourceValues(forKeys: [.fileSizeKey]).fileSize == 0
        let text = isEmpty ? "" : try String(contentsOf: log, encoding: .utf8)
        let errors = text.split(separator: "\n").filter { $0.contains("error: ") }
        if compiler.terminationStatus != 0, errors.isEmpty { return text }
        return errors.joined(separator: "\n")
    }
}
