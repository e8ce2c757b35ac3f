import HTTPClient
import Testing

@testable import FanfareBench

@Suite("URL of a benchmark's server") struct ServerURLTests {
    @Test(arguments: [
        ("ws://127.0.0.1:6001", ["ws", "127.0.0.1", "6001", "", "127.0.0.1:6001"]),
        ("WS://localhost/", ["ws", "localhost", "80", "", "localhost"]),
        ("wss://push.example/ws/", ["wss", "push.example", "443", "/ws", "push.example"]),
        ("https://push.example:80", ["wss", "push.example", "80", "", "push.example:80"]),
        ("http://[::1]:8080/a/b", ["ws", "::1", "8080", "/a/b", "[::1]:8080"]),
        ("ws://[::1]", ["ws", "::1", "80", "", "[::1]"]),
    ])
    func reads(_ text: String, _ parts: [String]) throws {
        let url = try #require(ServerURL(webSocketURL: text))
        let scheme = url.isSecure ? "wss" : "ws"
        #expect([scheme, url.host, "\(url.port)", url.pathPrefix, url.hostField] == parts)
    }

    @Test func writesItsURL() {
        #expect(ServerURL(webSocketURL: "https://h:443/ws/")?.webSocketURL == "wss://h/ws")
        #expect(ServerURL(webSocketURL: "ws://[::1]:6001")?.webSocketURL == "ws://[::1]:6001")
    }

    @Test(arguments: [
        "", "127.0.0.1:6001", "ftp://h", "ws://", "ws://:80", "ws://h:", "ws://h:0", "ws://h:65536",
        "ws://h:x", "ws://[::1", "ws://[::1]x", "ws://h/?a", "ws://u@h", "ws://h /", "ws:// h",
    ])
    func refuses(_ url: String) {
        #expect(ServerURL(webSocketURL: url) == nil)
    }
}
