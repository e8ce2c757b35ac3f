import Foundation
import Testing

/// Each file in `Programs` is a program of the documentation, its statements inside a function, so that it is compiled; the tests
/// compare it with the documentation.
@Suite("Programs in the documentation") struct ProgramsTests {
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func areThoseCompiledHere() throws {
        var programs: [String: String] = [:]
        for file in try Self.files("Tests/DocumentationTests/Programs", ending: ".swift") {
            programs[Self.program(in: try Self.text(of: file))] = file
        }
        #expect(!programs.isEmpty)
        var shown: Set<String> = []
        let pages = try Self.files("docs", ending: ".md") + Self.files("Sources", ending: ".md")
        for file in ["README.md"] + pages {
            for program in Self.programs(in: try Self.text(of: file)) {
                // Those for Apple platforms are type-checked by AppleStubsTests.
                guard !program.contains("import SwiftUI") else { continue }
                shown.insert(program)
                if programs[program] == nil {
                    Issue.record("\(file) shows a program that is not compiled:\n\(program)")
                }
            }
        }
        for (program, file) in programs where !shown.contains(program) {
            Issue.record("\(file) is not part of the documentation")
        }
    }

    @Test("The app's test in the documentation passes", .timeLimit(.minutes(3)))
    func includesATestThatPasses() async throws { try await fanfareTestingArticle() }

    @Test func areReadOutOfTheirFunctions() {
        let file =
            "import A\n\nstruct B {}\n\n@MainActor\nfunc f() async {\n    if a {\n        b()\n    }\n}\n"
        #expect(Self.program(in: file) == "import A\n\nstruct B {}\n\nif a {\n    b()\n}")
        let page = "text\n```swift\na\n\nb\n```\n```sh\nc\n```\n```swift\nd\n```\n"
        #expect(Self.programs(in: page) == ["a\n\nb", "d"])
    }

    /// The imports of a file, its declarations before the first function, and the body of that function.
    private static func program(in file: String) -> String {
        let lines = lines(of: file)
        let starts = ["func ", "@MainActor func "]
        let function =
            lines.firstIndex { line in starts.contains { line.hasPrefix($0) } } ?? lines.endIndex
        let declarations = lines[..<function].filter { $0 != "@MainActor" }
        let body = lines[function...].dropFirst().prefix { $0 != "}" }
        let moved = body.map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }
        return (declarations + moved).joined(separator: "\n")
    }

    /// The Swift blocks of a Markdown page.
    private static func programs(in page: String) -> [String] {
        var programs: [String] = []
        var rest = lines(of: page)[...]
        while let start = rest.firstIndex(of: "```swift") {
            let program = rest[(start + 1)...].prefix { $0 != "```" }
            programs.append(program.joined(separator: "\n"))
            rest = rest[program.endIndex...]
        }
        return programs
    }

    private static func lines(of text: String) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    static func files(_ folder: String, ending: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { $0.hasSuffix(ending) }.sorted().map { "\(folder)/\($0)" }
    }

    static func text(of file: String) throws -> String {
        try String(contentsOf: root.appending(path: file), encoding: .utf8)
    }
}
