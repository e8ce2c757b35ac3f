import PusherProtocol
import Testing

@Suite("The form of idempotency keys") struct IdempotencyKeyTests {
    private static let longest = String(repeating: "k", count: 128)
    /// One character of 129 code points.
    private static let marked = "x" + String(repeating: "\u{301}", count: 128)

    @Test(
        "At most 128 code points, and so 512 bytes",
        arguments: [
            ("", false), ("k", true), (longest, true), (longest + "k", false),
            (String(repeating: "\u{1F600}", count: 128), true),
            (String(repeating: "\u{1F600}", count: 129), false), (marked, false),
        ]
    )
    func length(text: String, isValid: Bool) {
        #expect((IdempotencyKey(text) != nil) == isValid)
    }

    @Test("Compared by bytes: equivalent characters differ")
    func equality() throws {
        let composed = try #require(IdempotencyKey("\u{E9}"))
        let decomposed = try #require(IdempotencyKey("e\u{301}"))
        #expect(composed != decomposed)
        #expect(composed == IdempotencyKey("\u{E9}"))
        #expect(Set([composed, decomposed]).count == 2)
    }
}
