import PusherProtocol
import Testing

private let random = "123e4567-e89b-12d3-a456-426614174000"

@Suite("Session tokens") struct SessionTokenTests {
    private func token(_ target: String, prefix: String = "") throws(SessionTokenError)
        -> SessionToken?
    {
        let bytes = Array(target.utf8)
        return try ConnectionURL.sessionToken(inTarget: bytes.span, pathPrefix: prefix)
    }

    @Test(
        "They are in front of the app or behind its key",
        arguments: [
            ("/r/midc1z40-\(random)/app/KEY", ""), ("/app/KEY/r/midc1z40-\(random)", ""),
            ("/r/midc1z40-\(random)/app/KEY?protocol=7&client=js", ""),
            ("/app/KEY/r/midc1z40-\(random)?protocol=7", ""),
            ("/ws/r/midc1z40-\(random)/app/KEY", "/ws"),
            ("/ws/app/KEY/r/midc1z40-\(random)", "/ws"),
        ]
    )
    func places(target: String, prefix: String) throws {
        let token = try #require(try token(target, prefix: prefix))
        #expect(token.createdAt == 1_764_000_000_000)
        #expect(try ConnectionURLTests.read(target, prefix: prefix).key == "KEY")
    }

    @Test(
        "Time and random part have limits",
        arguments: [
            ("0-abcdefghijklmnop", 0), ("z-ABCDEFGHIJKLMNO_", 35), ("10-0123456789-ABCD-", 36),
            ("zzzzzzzzzzz-" + String(repeating: "x", count: 64), 131_621_703_842_267_135),
        ]
    )
    func valid(text: String, createdAt: Int64) throws {
        #expect(try SessionToken(text).createdAt == createdAt)
    }

    @Test(
        "Malformed ones are an error that does not repeat them",
        arguments: [
            ("", SessionTokenError.time), ("-abcdefghijklmnop", .time),
            ("A-abcdefghijklmnop", .time), ("1.5-abcdefghijklmnop", .time),
            ("midc1z40", .time), ("zzzzzzzzzzzz-abcdefghijklmnop", .time),
            ("midc1z40-", .length(0)), ("midc1z40-abcdefghijklmno", .length(15)),
            ("midc1z40-" + String(repeating: "x", count: 65), .length(65)),
            ("midc1z40-abcdefghijklmno%20", .character), ("midc1z40-abcdefghijklmnoü", .character),
        ]
    )
    func malformed(text: String, error: SessionTokenError) {
        #expect(throws: error) { try SessionToken(text) }
        #expect(text.count < 10 || !error.description.contains(text))
    }

    @Test(
        "Other paths are those of no app",
        arguments: [
            "/r/midc1z40-\(random)", "/r/midc1z40-\(random)/app/", "/app/KEY/r", "/app/KEY/r/x/y",
            "/r/x/app/KEY/r/y", "/r/x/y/app/KEY", "/app/KEY/x/midc1z40-\(random)",
        ]
    )
    func paths(target: String) {
        #expect(throws: PusherCode.pathNotFound) { try ConnectionURLTests.read(target) }
        #expect(throws: Never.self) { try token(target) == nil }
    }

    @Test(
        "A client may say that it was never connected",
        arguments: ["/r/midc1z40-\(random).new/app/KEY", "/app/KEY/r/midc1z40-\(random).new?a=b"]
    )
    func unused(target: String) throws {
        let (unused, used) = (
            try #require(try token(target)), try SessionToken("midc1z40-\(random)")
        )
        #expect(unused.isUnused && !used.isUnused)
        // Both name one session.
        #expect(unused.key(inApp: "1") == used.key(inApp: "1"))
        #expect(unused.createdAt == used.createdAt)
        for text in [
            ".new", "midc1z40.new", "midc1z40-\(random).new.new", "midc1z40-\(random).old",
        ] {
            #expect(throws: SessionTokenError.self) { try SessionToken(text) }
        }
    }

    @Test("Without one there is none")
    func none() throws {
        #expect(try token("/app/KEY?protocol=7") == nil)
    }

    @Test("An app and a token make a key, and the text of a token is not printed")
    func keys() throws {
        let (token, other) = (try SessionToken("a-\(random)"), try SessionToken("b-\(random)"))
        #expect(token.key(inApp: "1") == (try SessionToken("a-\(random)").key(inApp: "1")))
        #expect(token.key(inApp: "1") != token.key(inApp: "2"))
        #expect(token.key(inApp: "1") != other.key(inApp: "1"))
        #expect(!"\(token)".contains("123e"))
    }
}
