import Foundation
import Testing

/// Checks that `docs/proof/protocol.md` names a test for each rule, and `docs/proof/security.md` for each defence.
@Suite("The rules in docs/proof/protocol.md and docs/proof/security.md") struct ProtocolTests {
    @Test(
        "Each rule names tests, and all of them exist",
        arguments: [("docs/proof/protocol.md", 100), ("docs/proof/security.md", 40)]
    )
    func nameTheirTests(page: String, leastCount: Int) throws {
        let tests = try Self.tests.get()
        let rules = Self.rules(in: try Self.text(of: page))
        #expect(rules.count > leastCount)
        for rule in rules {
            if rule.tests.isEmpty { Issue.record("no test is named for: \(rule.text)") }
            for test in rule.tests where !tests.contains(test) {
                Issue.record("there is no \(test), which is named for: \(rule.text)")
            }
        }
    }

    @Test func testsAreFoundByTheirNames() {
        let swift = """
            @Suite("First") struct FirstTests {
                @Test func one() {}
                private func noTest() {}
                @Test(
                    "A sentence",
                    arguments: [1, 2]
                )
                func two(n: Int) {
                    func inside() {}
                }
            }

            @Suite("Second")
            struct SecondTests {
                struct Row {}
                @Test("Third") func three() async throws {}
            }
            """
        #expect(
            Self.tests(inSwift: swift) == ["FirstTests.one", "FirstTests.two", "SecondTests.three"]
        )
        let python = "def helper():\n    pass\n\n\ndef test_one(broker):\n    pass\n"
        #expect(Self.tests(inPython: python, module: "test_x") == ["test_x.test_one"])
    }

    @Test func rulesAreTheRowsOfTables() {
        let page = """
            # A page with `NoTests.of` a table

            | Rule | Fanfare | Shown by |
            |---|---|---|
            | a `\\|` b | yes | `ATests.one`, `test_a.test_b` |
            | c | — | nothing |

            | Other | Table |
            |---|---|
            | d | e |
            """
        let rules = Self.rules(in: page)
        #expect(rules.map(\.tests) == [["ATests.one", "test_a.test_b"], []])
        #expect(rules.map(\.text) == ["a `¦` b", "c"])
    }

    // MARK: - The page

    private struct Rule {
        var text: String
        var tests: [String]
    }

    /// The rows of the tables whose last column is "Shown by".
    private static func rules(in page: String) -> [Rule] {
        var rules: [Rule] = []
        var isTableOfRules = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("|") else {
                isTableOfRules = false
                continue
            }
            let cells = line.replacing("\\|", with: "¦").split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard let last = cells.last, let first = cells.first else { continue }
            if last == "Shown by" {
                isTableOfRules = true
            } else if isTableOfRules, !last.hasPrefix("---") {
                let tests = last.matches(of: /`(\w+\.\w+)`/).map { String($0.1) }
                rules.append(Rule(text: first, tests: tests))
            }
        }
        return rules
    }

    // MARK: - The tests

    /// All tests: the suite or module, a dot, and the function.
    private static let tests = Result { try findTests() }

    private static func findTests() throws -> Set<String> {
        let folder = ProgramsTests.root.appending(path: "Tests")
        var tests: Set<String> = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            if path.hasSuffix(".swift") {
                tests.formUnion(Self.tests(inSwift: try text(of: "Tests/" + path)))
            } else if path.hasSuffix(".py") {
                let module = String(path.split(separator: "/").last?.dropLast(3) ?? "")
                tests.formUnion(
                    Self.tests(inPython: try text(of: "Tests/" + path), module: module)
                )
            }
        }
        return tests
    }

    /// The tests of a file: functions after `@Test`, in the type that begins a line.
    private static func tests(inSwift text: String) -> Set<String> {
        var tests: Set<String> = []
        var suite = ""
        var isTest = false
        for line in text.split(separator: "\n") {
            // An expression takes long in a build to debug, so most lines are not searched.
            if let first = line.utf8.first, "s@)".utf8.contains(first),
                let match = line.firstMatch(of: /^(?:@Suite.* |\) )?struct (\w+)/)
            {
                suite = String(match.1)
            }
            if line.utf8.drop(while: { $0 == UInt8(ascii: " ") }).starts(with: "@Test".utf8) {
                isTest = true
            }
            if isTest, let match = line.firstMatch(of: /\bfunc (\w+)/) {
                tests.insert("\(suite).\(match.1)")
                isTest = false
            }
        }
        return tests
    }

    private static func tests(inPython text: String, module: String) -> Set<String> {
        Set(text.matches(of: /(?:^|\n)def (test_\w+)/).map { "\(module).\($0.1)" })
    }

    private static func text(of file: String) throws -> String {
        try String(contentsOf: ProgramsTests.root.appending(path: file), encoding: .utf8)
    }
}
