import Primitives
import Testing

@testable import PusherProtocol

@Suite("Sessions over HTTP: paths and lines") struct HTTPSessionTests {
    @Test(arguments: [
        ("/pusher/app/key/1/abcdefgh/xhr_streaming", "", "1/abcdefgh", "/pusher"),
        ("/app/key/999/a0b1c2v9/xhr_send", "", "999/a0b1c2v9", ""),
        ("/ws/pusher/r/T/app/key/42/00000000/xhr", "/ws", "42/00000000", "/ws/pusher"),
        ("/ws/app/key/r/T/0/abcdefgh/xhr", "/ws", "0/abcdefgh", "/ws"),
    ])
    func readsPaths(path: String, prefix: String, session: String, connectionPrefix: String) throws
    {
        let bytes = Array(path.utf8)
        let read = HTTPSessionURL(path: bytes.span, pathPrefix: prefix)
        let url = try #require(read)
        #expect(String(decoding: bytes[url.session], as: UTF8.self) == session)
        #expect(url.connectionPrefix(after: prefix) == connectionPrefix)
        let target = bytes.span.extracting(0..<url.connectionEnd)
        let key = try ConnectionURL.withKey(inTarget: target, pathPrefix: connectionPrefix) {
            $0.string()
        }
        #expect(key == "key")
    }

    @Test(arguments: [
        "/apps/1/events", "/app/key", "/pusher/app/key/1/abcdefgh/eventsource",
        "/pusher/app/key/1000/abcdefgh/xhr", "/pusher/app/key//abcdefgh/xhr",
        "/pusher/app/key/1/abcdefg/xhr", "/pusher/app/key/1/abcdefgh9/xhr",
        "/pusher/app/key/1/abc%20fg/xhr", "/pusher/app/key/1/abcdefgh/xhr/", "xhr", "",
    ])
    func refusesOtherPaths(path: String) {
        let bytes = Array(path.utf8)
        let url = HTTPSessionURL(path: bytes.span)
        #expect(url == nil)
    }

    @Test(arguments: [
        (#"{"event":"e"}"#, #"a["{\"event\":\"e\"}"]"#),
        (#"{"data":"\"\\"}"#, #"a["{\"data\":\"\\\"\\\\\"}"]"#),
        ("ü€😀\u{2028}", #"a["\u00fc\u20ac\ud83d\ude00\u2028"]"#),
        ("\u{7f}\t", "a[\"\u{7f}\\t\"]"),
    ])
    func writesLinesInASCII(message: String, line: String) {
        var bytes: [UInt8] = []
        let message = Array(message.utf8)
        SessionLines.append(message.span, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == line + "\n")
        #expect(bytes.allSatisfy { $0 < 0x80 })
    }

    @Test func writesTheLastLine() {
        var bytes: [UInt8] = []
        SessionLines.appendClose(code: 4001, reason: "No \"app\"", to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "c[4001,\"No \\\"app\\\"\"]\n")
        #expect(SessionLines.prelude.count == 2_049)
    }

    @Test(arguments: [
        ("[]", []), (#"["{\"event\":\"e\"}"]"#, [#"{"event":"e"}"#]),
        (#" ["a","\u00fc"] "#, ["a", "ü"]),
    ])
    func readsMessages(content: String, messages: [String]) {
        let bytes = Array(content.utf8)
        let read = SessionLines.messages(in: bytes.span, countMax: 2)
        #expect(read?.map { String(decoding: $0, as: UTF8.self) } == messages)
    }

    @Test(arguments: [
        "", "{}", "[1]", #"["a",null]"#, #"["a","b","c"]"#, #"["a""#, "[[]]", #"["a"] x"#, "\u{0}",
    ])
    func refusesOtherContent(content: String) {
        let bytes = Array(content.utf8)
        let read = SessionLines.messages(in: bytes.span, countMax: 2)
        #expect(read == nil)
    }
}
