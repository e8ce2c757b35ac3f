import FanfareAPI
import Testing

@Suite("Addresses of brokers") struct BrokerAddressTests {
    @Test(arguments: [
        ("http://localhost", false, "localhost", 80, ""),
        ("https://push.example.com", true, "push.example.com", 443, ""),
        ("http://127.0.0.1:6001/", false, "127.0.0.1", 6001, ""),
        ("HTTPS://a:8443/push/here/", true, "a", 8443, "/push/here"),
        ("http://[::1]:6001", false, "::1", 6001, ""),
        ("http://[fe80::1]/x", false, "fe80::1", 80, "/x"),
    ])
    func reads(url: String, isSecure: Bool, host: String, port: UInt16, prefix: String) throws {
        let address = try BrokerAddress(url)
        #expect(address.isSecure == isSecure)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.pathPrefix == prefix)
    }

    @Test(arguments: [
        "", "localhost", "localhost:6001", "ws://localhost", "http://", "http:///x", "http://:80",
        "http://a:", "http://a:0", "http://a:65536", "http://a:x", "http://u:p@a", "http://a b",
        "http://[::1", "http://[::1]x", "http://a?b=c", "http://a/b?c", "http://a/b#c",
        "http://a\r\nX: y", "http://ż", "http://[]",
    ])
    func refuses(url: String) {
        #expect(throws: FanfareAPIError.invalidURL(url)) { try BrokerAddress(url) }
    }
}
