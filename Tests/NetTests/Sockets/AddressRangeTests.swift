import Testing

@testable import Net

@Suite("Ranges of addresses, RFC 4632") struct AddressRangeTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.2", false),
        ("127.0.0.0/8", "127.255.0.1", true), ("127.0.0.0/8", "128.0.0.1", false),
        ("10.1.2.3/12", "10.15.0.0", true), ("10.1.2.3/12", "10.16.0.0", false),
        ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false),
        ("fd00::/8", "fd12:3456::1", true), ("fd00::/8", "fe80::1", false),
        ("::ffff:10.0.0.0/104", "10.1.2.3", true), ("::ffff:10.0.0.0/104", "11.0.0.1", false),
        ("::ffff:192.0.2.1", "192.0.2.1", true), ("10.0.0.0/8", "::ffff:10.1.2.3", true),
        ("::1", "::1", true), ("::/0", "2001:db8::1", true),
    ])
    func contains(range: String, ip: String, isIn: Bool) throws {
        let range = try #require(AddressRange(range))
        #expect(try range.contains(#require(SocketAddress(ip: ip, port: 7))) == isIn)
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "::1/129",
        "localhost", "10.0.0.0/0x8", "10.0.0", "[::1]", "10.0.0.0/1000",
    ])
    func refuses(text: String) { #expect(AddressRange(text) == nil) }

    @Test func noRangeContainsAUnixSocket() throws {
        let all = try #require(AddressRange("0.0.0.0/0"))
        #expect(!all.contains(.unix(path: "/run/x")))
    }
}
