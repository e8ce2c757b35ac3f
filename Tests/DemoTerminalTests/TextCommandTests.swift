import LiveCollections
import Testing

@testable import demo_terminal

@Suite("Commands of the text")
struct TextCommandTests {
    private func result(_ typed: String, on text: String) throws -> String? {
        guard let splice = try TextCommand(typed).edit(of: text) else { return nil }
        var units = Array(text.utf16)
        units.replaceSubrange(splice.range, with: splice.replacement.utf16)
        return String(decoding: units, as: UTF16.self)
    }

    @Test(
        "Lines are added, changed and deleted",
        arguments: [
            ("append three", "one\ntwo", "one\ntwo\nthree"),
            ("append one", "", "one"),
            ("insert 2 and a half", "one\ntwo", "one\nand a half\ntwo"),
            ("change 1 👋", "one\ntwo", "👋\ntwo"),
            ("change 2", "one\ntwo", "one\n"),
            ("delete 1", "👋\ntwo", "two"),
            ("delete 2", "one\ntwo", "one"),
            ("delete 1", "one", ""),
        ]
    )
    func edits(typed: String, text: String, expected: String) throws {
        #expect(try result(typed, on: text) == expected)
    }

    @Test("quit has no edit") func quits() throws {
        #expect(try result("quit", on: "one") == nil)
    }

    @Test(
        "A mistake is answered with how to do it",
        arguments: ["", "jump", "delete", "delete x", "delete 0", "delete 3", "change 9 x"]
    )
    func mistakes(typed: String) {
        #expect(throws: TextCommand.Mistake.self) { try result(typed, on: "one\ntwo") }
    }
}
