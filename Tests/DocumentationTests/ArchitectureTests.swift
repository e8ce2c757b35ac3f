import Foundation
import Testing

/// Checks that the paths of an event in `ARCHITECTURE.md` are those that the code takes.
@Suite("The paths of an event in ARCHITECTURE.md") struct ArchitectureTests {
    /// A stop of the path: a file below `Sources`, and a function of it.
    struct Stop: CustomTestStringConvertible {
        let file: String
        let function: String
        var testDescription: String { "\(file): \(function)" }
    }

    private static var root: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    private static let stops: [Stop] = {
        let page =
            (try? String(contentsOf: root.appending(path: "ARCHITECTURE.md"), encoding: .utf8))
            ?? ""
        return page.matches(of: /(?m)^\d+\. `([A-Za-z0-9\/]+\.swift)`: `([^`]+)`/).map {
            Stop(file: String($0.1), function: String($0.2))
        }
    }()

    @Test("Through the broker, at most eight files of its own")
    func isShortInTheBroker() {
        let files = Set(Self.stops.map(\.file)).filter { !$0.hasPrefix("FanfareClient/") }
        #expect(10...20 ~= files.count)
        #expect(files.count { $0.hasPrefix("FanfareServer/Shard/") } <= 8)
    }

    @Test("Through the client, at most eight files")
    func isShortInTheClient() {
        let files = Set(Self.stops.map(\.file)).filter { $0.hasPrefix("FanfareClient/") }
        #expect(5...8 ~= files.count)
    }

    @Test(arguments: stops)
    func exists(_ stop: Stop) throws {
        let file = Self.root.appending(path: "Sources").appending(path: stop.file)
        let swift = try String(contentsOf: file, encoding: .utf8)
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
