import Foundation
import Testing

/// What is behind `canImport` of Apple's frameworks, type-checked against the stubs in `Tests/AppleStubs`.
///
/// It finds calls that no such framework has, closures that escape, isolation and imports; not what the frameworks do.
@Suite("Apple's branches, against stubs", .serialized, .timeLimit(.minutes(10)))
struct AppleStubsTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Where this program lies, and with it the modules that it was built of.
    private static let products = URL(filePath: CommandLine.arguments[0])
        .deletingLastPathComponent()

    /// A module is checked with those of its dependencies' that Apple's platforms have.
    @Test func compile() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "fanfare-stubs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for stub in ["Darwin", "CryptoKit", "UIKit", "AppKit", "Security", "Network"] {
            let file = "Tests/AppleStubs/\(stub).swift"
            #expect(try Self.faults(in: [file], of: stub, folder, Self.stubSettings) == "")
        }
        for module in [
            "Primitives", "Digests", "HTTP1", "PusherProtocol", "HTTPClient", "FanfareAPI",
            "FanfareClient", "LiveTables",
        ] {
            let files = try FileManager.default
                .subpathsOfDirectory(atPath: Self.root.appending(path: "Sources/\(module)").path)
                .filter { $0.hasSuffix(".swift") }.sorted().map { "Sources/\(module)/\($0)" }
            #expect(try Self.faults(in: files, of: module, folder, Self.settings) == "")
        }
    }

    @Test("A call that the framework has not is found")
    func findsWhatIsWrong() throws {
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

    /// Compiles a module as far as its diagnostics go, and leaves it in the folder for the next ones.
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
                // Into a file of the folder: the compiler replaces what it writes to, and root may replace a device.
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
        // Foundation keeps for ever what it meant to read an empty file into.
        let isEmpty = try log.resourceValues(forKeys: [.fileSizeKey]).fileSize == 0
        let text = isEmpty ? "" : try String(contentsOf: log, encoding: .utf8)
        let errors = text.split(separator: "\n").filter { $0.contains("error: ") }
        if compiler.terminationStatus != 0, errors.isEmpty { return text }
        return errors.joined(separator: "\n")
    }
}
