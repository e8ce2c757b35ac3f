import LiveCollections
import Testing

@Suite("The refusal that a status means") struct TextRefusalTests {
    @Test(
        "A status that does not concern the batch is none: the batch is sent again",
        arguments: [200, 302, 401, 407, 408, 421, 425, 429, 500, 502, 503, 504]
    )
    func isNone(status: Int) {
        #expect(TextRefusal(status: status, reason: "no") == nil)
    }

    @Test("409 means a stale batch, 413 one that is too large")
    func hasARemedy() {
        #expect(TextRefusal(status: 409, reason: "old") == .stale(reason: "old"))
        #expect(TextRefusal(status: 413, reason: "long") == .tooLarge(reason: "long"))
    }

    @Test("Any other from 400 to 499 means an invalid batch", arguments: [400, 403, 404, 422, 499])
    func isFinal(status: Int) {
        #expect(TextRefusal(status: status, reason: "no") == .invalid(reason: "no"))
    }
}
