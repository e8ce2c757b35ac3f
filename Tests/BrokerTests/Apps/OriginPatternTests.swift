import Broker
import Testing

@Suite("Allowed origins, RFC 6454 §7.1") struct OriginPatternTests {
    private func admits(_ pattern: String, _ origin: String) -> Bool? {
        let bytes = Array(origin.utf8)
        return OriginPattern(pattern)?.admits(bytes.span)
    }

    @Test(arguments: [
        ("https://example.com", "https://example.com"),
        ("https://example.com", "HTTPS://Example.COM"),
        ("HTTPS://Example.COM", "https://example.com"),
        ("https://example.com:443", "https://example.com"),
        ("http://example.com:80", "http://example.com"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("https://[::1]:8443", "https://[::1]:8443"),
        ("capacitor://localhost", "capacitor://localhost"),
        ("https://*.example.com", "https://a.example.com"),
        ("https://*.example.com", "https://a.b-c.example.com"),
        ("https://*.example.com:8443", "https://a.example.com:8443"),
    ])
    func admitted(pattern: String, origin: String) {
        #expect(admits(pattern, origin) == true)
    }

    @Test(arguments: [
        ("https://example.com", "http://example.com"),
        ("https://example.com", "https://example.com:8443"),
        ("https://example.com", "https://example.co"),
        ("https://example.com", "https://example.com.evil.test"),
        ("https://example.com", "https://evilexample.com"),
        ("https://example.com", "https://a.example.com"), ("https://example.com", "null"),
        ("https://example.com", ""), ("http://example.com:8080", "http://example.com"),
        ("https://*.example.com", "https://example.com"),
        ("https://*.example.com", "https://.example.com"),
        ("https://*.example.com", "https://evilexample.com"),
        ("https://*.example.com", "https://a.example.com:8443"),
        ("https://*.example.com", "https://evil.test/.example.com"),
        ("https://*.example.com", "https://evil.test:1@a.example.com"),
        ("https://*.example.com", "https://evil.test?.example.com"),
        ("https://*.example.com", "http://a.example.com"),
    ])
    func refused(pattern: String, origin: String) {
        #expect(admits(pattern, origin) == false)
    }

    @Test(arguments: [
        "", "example.com", "https://", "https:///", "https://example.com/", "https://a/b",
        "https://*", "https://*.", "https://*example.com", "https://a.*.com", "*://example.com",
        "https://example.com:", "https://example.com:0", "https://example.com:65536",
        "https://example.com:+80", "https://user@example.com", "://a", "1http://a",
        "https://[::1", "https://[]", "https://a b",
    ])
    func noPattern(text: String) {
        #expect(OriginPattern(text) == nil)
    }
}
