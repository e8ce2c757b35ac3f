import Foundation
import Testing

/// Checks that the walks in `ARCHITECTURE.md` and `docs/internals` are those that the code takes.
@Suite("The walks in ARCHITECTURE.md and docs/internals") struct ArchitectureTests {
    /// A stop of a walk: a file below `Sources`, and a function of it.
    struct Stop: CustomTestStringConvertible {
        /// The heading that the walk stands below.
        let walk: String
        let file: String
        let function: String
        var testDescription: String { "\(file): \(function)" }
    }

    private static let stops: [Stop] = {
        let internals = (try? ProgramsTests.files("docs/internals", ending: ".md")) ?? []
        return (["ARCHITECTURE.md"] + internals).flatMap { page in
            readStops(in: (try? ProgramsTests.text(of: page)) ?? "")
        }
    }()

    private static func readStops(in page: String) -> [Stop] {
        page.components(separatedBy: "\n## ").flatMap { section in
            section.matches(of: /(?m)^\d+\. `([A-Za-z0-9\/]+\.swift)`: `([^`]+)`/).map {
                Stop(
                    walk: String(section.prefix { $0 != "\n" }),
                    file: String($0.1),
                    function: String($0.2)
                )
            }
        }
    }

    @Test(
        "A walk is short: its files, and the shard's of them",
        arguments: [
            ("A trigger on one node", 10...20, 8), ("A subscription", 8...12, 6),
            ("An event in the client", 5...8, 0),
        ]
    )
    func isShort(walk: String, fileCounts: ClosedRange<Int>, shardFilesMax: Int) {
        let files = Set(Self.stops.filter { $0.walk == walk }.map(\.file))
        #expect(fileCounts ~= files.count)
        #expect(files.count { $0.hasPrefix("Shard/") } <= shardFilesMax)
    }

    @Test(arguments: stops)
    func exists(_ stop: Stop) throws {
        let swift = try ProgramsTests.text(of: "Sources/\(stop.file)")
        #expect(declares(swift, stop.function), "\(stop.file) has no \(stop.function)")
    }

    @Test(
        "A function is found by its name and labels",
        arguments: [
            ("func a() {}", "a()", true), ("func ab() {}", "a()", false),
            ("func a(_ b: Int, c: Int = 1) {}", "a(_:c:)", true),
            ("func a(\n    b c: [Int],\n    d: Int\n) {}", "a(b:d:)", true),
            ("func a(b: Int) {}", "a(c:)", false), ("init(_ a: Int) {}", "init(_:)", true),
            ("func a(\n    b: Int", "a(", true), ("func b() { a() }", "a()", false),
        ]
    )
    func isFound(swift: String, function: String, isThere: Bool) {
        #expect(declares(swift, function) == isThere)
    }

    /// Whether a source declares a function: its name and labels, or its name alone if `function` ends with a parenthesis.
    private func declares(_ swift: String, _ function: String) -> Bool {
        let name = function.prefix { $0 != "(" }
        let keyword = name == "init" ? "" : "func "
        let rest = function.dropFirst(name.count + 1)
        var pattern = "(?<![A-Za-z])\(keyword)\(name)\\("
        if rest.hasSuffix(")") {
            let labels = rest.dropLast().split(separator: ":")
            for (index, label) in labels.enumerated() {
                pattern += index == 0 ? "\\s*" : "[^{]*?,\\s*"
                pattern += "\(label)[ :]"
            }
            if labels.isEmpty { pattern += "\\)" }
        }
        return swift.range(of: pattern, options: .regularExpression) != nil
    }
}
