import Testing

@testable import BrokerConfiguration

@Suite("YAML documents") struct YAMLDocumentTests {
    /// A document as text: quoted scalars in quotes, lines behind `@`.
    private func outline(_ node: YAMLNode) -> String {
        let text =
            switch node.value {
            case .scalar(let text, let isQuoted): isQuoted ? "\"\(text)\"" : text
            case .sequence(let items): "[" + items.map(outline).joined(separator: " ") + "]"
            case .mapping(let pairs):
                "{" + pairs.map { outline($0.key) + ":" + outline($0.value) }.joined(separator: " ")
                    + "}"
            }
        return "\(text)@\(node.line)"
    }

    @Test(arguments: [
        ("a", "a@1"),
        ("\"a\"", "\"a\"@1"),
        ("'a'", "\"a\"@1"),
        ("a: 1\nb: [x,\n  'y']\n", "{a@1:1@1 b@2:[x@2 \"y\"@3]@2}@1"),
        ("a: &name {b: 1}\nc: *name", "{a@1:{b@1:1@1}@1 c@2:{b@1:1@1}@1}@1"),
        ("- |\n  line\n- ~", "[\"line\n\"@1 ~@3]@1"),
        ("a:\nb: {}", "{a@1:@1 b@2:{}@2}@1"),
        ("--- a\n...\n", "a@1"),
        ("\u{FEFF}ż: ó", "{ż@1:ó@1}@1"),
        ("\"a\\0b\"", "\"a\0b\"@1"),
    ])
    func reads(text: String, expected: String) throws {
        let node = try #require(try YAMLDocument.read(text))
        #expect(outline(node) == expected)
    }

    @Test(arguments: ["", "\n\n", "# nothing"])
    func findsNothing(text: String) throws {
        #expect(try YAMLDocument.read(text) == nil)
    }

    @Test(arguments: [
        ("a: 1\na: 2\nb: 1\nb: 2", YAMLFault.repeatedKeys(["a", "b"], line: 1)),
        ("x: 1\n\"x\": 2", .repeatedKeys(["x"], line: 1)),
        ("? [a]\n: 1\n? {b: c}\n: 2", .repeatedKeysWithoutText),
        ("a: *b", .syntax("found undefined alias", line: 1, column: 4)),
        ("a\n---\nb", .syntax("a second document begins", line: 2, column: 1)),
        ("a: \u{1}", .unreadable("control characters are not allowed", offset: 3)),
    ])
    func refuses(text: String, fault: YAMLFault) {
        #expect(throws: fault) { try YAMLDocument.read(text) }
    }

    @Test("Values nested too deeply are refused", arguments: ["[", "{a: ", "- "])
    func depth(opening: String) {
        let error = #expect(throws: YAMLFault.self) {
            try YAMLDocument.read(String(repeating: opening, count: 100_000))
        }
        guard case .syntax(let problem, line: 1, column: _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(problem == "more than 64 values lie in each other")
    }
}
