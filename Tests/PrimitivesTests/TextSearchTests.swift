import Testing

@testable import Primitives

@Suite("Searches in texts, by bytes") struct TextSearchTests {
    @Test(
        arguments: [
            ("", "", true), ("a", "", true), ("", "a", false), ("abc", "abc", true),
            ("aab", "ab", true), ("ab", "abc", false), ("caféx", "é", true),
            ("cafe\u{301}", "e", true), ("cafe\u{301}", "é", false),
        ]
    )
    func contains(text: String, part: String, isThere: Bool) {
        #expect(text.contains(bytesOf: part) == isThere)
    }

    @Test(
        arguments: [
            ("", "a", ""), ("aaa", "a", "bbb"), ("aaa", "aa", "ba"), ("xaxax", "a", "xbxbx"),
            ("a\u{301}", "a", "b\u{301}"), ("none", "", "none"),
        ]
    )
    func replaces(text: String, part: String, expected: String) {
        let result = text.replacing(bytesOf: part, with: "b")
        #expect(result.utf8.elementsEqual(expected.utf8))
    }
}
