import Foundation
import Testing

/// The tests run without Apple's SDKs, so they check the sources as text: code compiled on Apple platforms may only use
/// imports and APIs available there.
@Suite("Sources for Apple platforms") struct ApplePlatformsTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The modules of the client products there; Package.swift excludes the others.
    private static let modules = [
        "FanfareClient", "FanfareEncryption", "PusherSwift", "FanfareAPI", "FanfareTesting",
        "FanfareOutbox", "FanfareStorage", "LiveRows",
        "LiveCollections", "LiveQueries", "LiveTables", "HTTPClient", "Broker", "PusherProtocol",
        "Digests", "HTTP1", "Primitives",
    ]

    private static let imports: Set<String> = [
        "Foundation", "Dispatch", "Logging", "CryptoKit", "Security", "Network",
        "Darwin", "UIKit", "AppKit", "GRDB", "Digests", "PusherProtocol", "HTTP1",
        "HTTPClient", "Broker", "FanfareClient", "FanfareAPI", "LiveRows", "LiveCollections",
        "FanfareOutbox", "FanfareEncryption", "Primitives",
    ]

    /// APIs that need later versions than Package.swift requires.
    ///
    /// AppleStubsTests asks the compiler; this finds some of them in the modules that it cannot compile.
    private static let tooNew = [
        ".utf8.span", "UTF8Span", "InlineArray", "OutputSpan", "String(validating:", "#available",
        "signals.next(isolation", "iterator.next(isolation",
    ]

    @Test(arguments: modules) func importsAndUsesWhatIsThere(module: String) throws {
        let folder = Self.root.appending(path: "Sources/\(module)").path
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".swift") }
        #expect(!files.isEmpty)
        for file in files {
            let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
            for line in Self.compiledLines(of: text) {
                let words = line.split(whereSeparator: { $0 == " " || $0 == "." })
                if let index = words.firstIndex(of: "import"), index < 3, words.count > index + 1 {
                    #expect(Self.imports.contains(String(words[index + 1])), "\(module)/\(file)")
                }
                for name in Self.tooNew {
                    #expect(!line.contains(name), "\(module)/\(file): \(line)")
                }
            }
        }
    }

    @Test func areReadByTheirConditions() {
        let text = """
            import A // b
            #if os(Linux)
                import B
                #if DEBUG
                    import C
                #endif
            #elseif canImport(Darwin) && !os(watchOS)
                import D
            #else
                import E
            #endif
            #if canImport(Darwin) || DEBUG
                import F
            #endif
            """
        #expect(Self.compiledLines(of: text) == ["import A", "import D", "import F"])
    }

    /// Returns the lines compiled on Apple platforms in a release build, without comments.
    private static func compiledLines(of text: String) -> [String] {
        var lines: [String] = []
        // Whether the current branch is compiled, and whether any branch of its conditional was.
        var branches: [(isCompiled: Bool, wasCompiled: Bool)] = []
        for line in text.split(separator: "\n") {
            let line = line.prefix(upTo: line.firstRange(of: "//")?.lowerBound ?? line.endIndex)
                .trimmingCharacters(in: .whitespaces)
            let words = line.split(separator: " ", maxSplits: 1)
            switch words.first {
            case "#if":
                let holds = holds(words[1])
                branches.append((holds, holds))
            case "#elseif", "#else":
                guard let branch = branches.popLast() else { continue }
                let holds = !branch.wasCompiled && (words.count == 1 || holds(words[1]))
                branches.append((holds, branch.wasCompiled || holds))
            case "#endif": _ = branches.popLast()
            default:
                if !line.isEmpty, branches.allSatisfy(\.isCompiled) { lines.append(line) }
            }
        }
        return lines
    }

    private static func holds(_ condition: Substring) -> Bool {
        condition.split(separator: "||").contains { terms in
            terms.split(separator: "&&").allSatisfy { term in
                let term = term.trimmingCharacters(in: .whitespaces)
                let isNegated = term.hasPrefix("!")
                return isThere(isNegated ? String(term.dropFirst()) : term) != isNegated
            }
        }
    }

    private static func isThere(_ term: String) -> Bool {
        guard term.hasPrefix("canImport(") else {
            return term.hasPrefix("swift(") || term == "os(iOS)"
        }
        return imports.contains(String(term.dropFirst("canImport(".count).dropLast()))
    }
}
