import Broker
import HTTP1
import Net
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Shard

@Suite("Addresses of clients") struct ClientAddressTests {
    private func address(_ ip: String) throws -> ClientAddress {
        let address = try #require(SocketAddress(ip: ip, port: 1))
        return try #require(ClientAddress(address))
    }

    @Test func fourBytesCountAndTheNetworkOfSixteen() throws {
        #expect(try address("192.0.2.1") != address("192.0.2.2"))
        #expect(try address("::ffff:192.0.2.1") == address("192.0.2.1"))
        #expect(try address("2001:db8:1:2::1") == address("2001:db8:1:2:ffff::9"))
        #expect(try address("2001:db8:1:2::1") != address("2001:db8:1:3::1"))
        #expect(try address("0.0.0.0") != address("::"))
        #expect(ClientAddress(.unix(path: "/run/x")) == nil)
    }

    @Test(
        "The last address that is not a trusted proxy is the client's",
        arguments: [
            // The peer, the field, and the client.
            ("192.0.2.9", ["192.0.2.1"], "192.0.2.9"), ("10.0.0.1", ["192.0.2.1"], "192.0.2.1"),
            ("10.0.0.1", ["192.0.2.7, 192.0.2.1"], "192.0.2.1"),
            ("10.0.0.1", ["192.0.2.7", "192.0.2.1 , 10.1.2.3"], "192.0.2.1"),
            ("::1", ["2001:db8::5"], "2001:db8::5"), ("::1", ["[2001:db8::5]:80"], "2001:db8::5"),
            ("10.0.0.1", ["192.0.2.1:1234"], "192.0.2.1"), ("10.0.0.1", [], nil),
            ("10.0.0.1", ["unknown"], "unreadable"),
            ("10.0.0.1", ["192.0.2.1, nonsense"], "unreadable"),
            ("10.0.0.1", ["unknown, 10.0.0.2"], "unreadable"),
            ("10.0.0.1", ["10.0.0.2"], nil), ("10.0.0.1", [""], "unreadable"),
            ("10.0.0.1", [" , "], "unreadable"), ("10.0.0.1", ["192.0.2.1, ,"], "192.0.2.1"),
            ("10.0.0.1", [#""192.0.2.1""#], "192.0.2.1"),
            ("10.0.0.1", [#""[2001:db8::5]:4711""#], "2001:db8::5"),
            ("10.0.0.1", ["::ffff:192.0.2.1, ::ffff:10.9.9.9"], "192.0.2.1"),
        ] as [(String, [String], String?)]
    )
    func proxies(peer: String, fields: [String], client: String?) throws {
        let proxies = TrustedProxies(["10.0.0.0/8", "::1"])
        let lines = fields.map { "X-Forwarded-For: \($0)\r\n" }.joined()
        let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\n\(lines)\r\n".utf8)
        var parser = RequestParser(limits: HTTPLimits())
        var index = 0
        guard case .head(let head) = try parser.advance(over: bytes.span, from: &index) else {
            Issue.record("no head")
            return
        }
        let found = proxies.client(of: SocketAddress(ip: peer, port: 1), head)
        #expect(try found == client.map { $0 == "unreadable" ? .unreadable : try address($0) })
    }
}

@Suite("The limiter per address") struct PerAddressLimiterTests {
    private func address(_ number: Int) throws -> ClientAddress {
        let ip = "10.\(number >> 16).\(number >> 8 & 255).\(number & 255)"
        let address = try #require(SocketAddress(ip: ip, port: 1))
        return try #require(ClientAddress(address))
    }

    @Test func forgetsAddressesWithoutConnections() throws {
        let limiter = PerAddressLimiter(connectionsMax: 2, arrivalRate: nil)
        let one = try address(1)
        #expect(limiter.admit(one, at: 0) == nil)
        #expect(limiter.admit(one, at: 0) == nil)
        #expect(limiter.admit(one, at: 0) == .connectionsPerAddress)
        limiter.release(one)
        limiter.release(one)
        #expect(limiter.count == 0)
    }

    @Test("Only addresses with connections or a used rate are kept")
    func isBounded() throws {
        let limiter = PerAddressLimiter(connectionsMax: .max, arrivalRate: Rate(perSecond: 1))
        for number in 0..<10_000 {
            let now = Int64(number) * 10_000_000
            #expect(limiter.admit(try address(number), at: now) == nil)
            limiter.release(try address(number))
        }
        // A hundred addresses per second.
        #expect(limiter.count <= 1_025)
    }
}
