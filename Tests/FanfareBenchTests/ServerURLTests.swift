import Testing

@testable import FanfareBench

@Suite("URL of a benchmark's server") struct ServerURLTests {
    struct Case: CustomTestStringConvertible {
        var url: String
        var isSecure = false
        var host: String
        var port: UInt16
        var prefix = ""
        var hostField: String
        var testDescription: String { url }
    }

    @Test(arguments: [
        Case(
            url: "ws://127.0.0.1:6001",
            host: "127.0.0.1",
            port: 6001,
            hostField: "127.0.0.1:6001"
        ),
        Case(url: "WS://localhost/", host: "localhost", port: 80, hostField: "localhost"),
        Case(
            url: "wss://push.example/ws/",
            isSecure: true,
            host: "push.example",
            port: 443,
            prefix: "/ws",
            hostField: "push.example"
        ),
        Case(
            url: "https://push.example:80",
            isSecure: true,
            host: "push.example",
            port: 80,
            hostField: "push.example:80"
        ),
        Case(
            url: "http://[::1]:8080/a/b",
            host: "::1",
            port: 8080,
            prefix: "/a/b",
            hostField: "[::1]:8080"
        ),
        Case(url: "ws://[::1]", host: "::1", port: 80, hostField: "[::1]"),
    ])
    func reads(_ given: Case) throws {
        let target = try #require(ServerURL(given.url))
        #expect(target.isSecure == given.isSecure)
        #expect(target.host == given.host)
        #expect(target.port == given.port)
        #expect(target.pathPrefix == given.prefix)
        #expect(target.hostField == given.hostField)
    }

    @Test func writesItsURL() {
        #expect(ServerURL("https://h:443/ws/")?.text == "wss://h/ws")
        #expect(ServerURL("ws://[::1]:6001")?.text == "ws://[::1]:6001")
    }

    @Test(arguments: [
        "", "127.0.0.1:6001", "ftp://h", "ws://", "ws://:80", "ws://h:", "ws://h:0", "ws://h:65536",
        "ws://h:x", "ws://[::1", "ws://[::1]x", "ws://h/?a", "ws://u@h", "ws://h /", "ws:// h",
    ])
    func refuses(_ url: String) {
        #expect(ServerURL(url) == nil)
    }
}
