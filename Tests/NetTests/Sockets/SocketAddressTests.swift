import Testing

@testable import Net

@Suite("Socket addresses") struct SocketAddressTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1:80", true), ("127.255.0.3", "127.255.0.3:80", true),
        ("0.0.0.0", "0.0.0.0:80", false), ("10.0.0.1", "10.0.0.1:80", false),
        ("::1", "[::1]:80", true), ("[::1]", "[::1]:80", true), ("::", "[::]:80", false),
        ("2001:DB8::0:1", "[2001:db8::1]:80", false),
        ("::ffff:127.0.0.1", "[::ffff:127.0.0.1]:80", true),
    ])
    func readsAndWritesAddresses(ip: String, text: String, isLoopback: Bool) throws {
        let address = try #require(SocketAddress(ip: ip, port: 80))
        #expect(address.description == text)
        #expect(address.isLoopback == isLoopback)
        #expect(address.port == 80 && !address.isUnix)
    }

    @Test(arguments: [
        "", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "[1.2.3.4]", "::1\0", ":::",
    ])
    func refusesWhatIsNoAddress(ip: String) {
        #expect(SocketAddress(ip: ip, port: 80) == nil)
    }

    @Test func resolvesLocalhostAndNumbers() throws {
        let found = try SocketAddress.resolve(host: "localhost", port: 81)
        #expect(!found.isEmpty && found.allSatisfy { $0.isLoopback && $0.port == 81 })
        #expect(try SocketAddress.resolve(host: "[::1]", port: 1).first?.description == "[::1]:1")
    }

    @Test func namesTheHostThatCannotBeResolved() {
        // RFC 6761 §6.4: such a name never exists.
        #expect {
            try SocketAddress.resolve(host: "no.such.host.invalid", port: 1)
        } throws: {
            ($0 as? ResolveError)?.host == "no.such.host.invalid"
        }
    }
}
