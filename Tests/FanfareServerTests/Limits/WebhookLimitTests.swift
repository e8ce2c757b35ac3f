import BrokerConfiguration
import Glibc
import PusherProtocol
import Testing
import Webhooks

@testable import Broker
@testable import FanfareServer

@Suite("Limits of webhooks") struct WebhookLimitTests {
    /// An endpoint that accepts connections and does not answer.
    private final class SilentEndpoint {
        let descriptor: Int32
        let port: UInt16

        init() throws {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0
                        && getsockname(descriptor, $0, &length) == 0
                }
            }
            self.descriptor = descriptor
            port = UInt16(bigEndian: address.sin_port)
            try #require(isBound)
        }

        deinit { _ = close(descriptor) }
    }

    @Test(
        "Of requests in flight, of queued webhooks, and of their size",
        arguments: [
            (1, 10_000, 64 << 20, Limit.webhooksInFlight), (8, 2, 64 << 20, .webhooksQueued),
            (1, 10_000, 300, .webhookBytesQueued),
        ]
    )
    func ofAnEndpoint(inFlight: Int, queued: Int, bytes: Int, limit: Limit) async throws {
        let endpoint = try SilentEndpoint()
        try await TestBroker.run {
            $0.webhooks.inFlightMax = inFlight
            $0.webhooks.queuedMax = queued
            $0.webhooks.queuedBytesMax = bytes
            var webhook = WebhookConfiguration(url: "http://127.0.0.1:\(endpoint.port)/")
            webhook.events = [.channelOccupied]
            $0.apps[0].webhooks = [webhook]
        } _: { broker in
            let (client, _) = try await broker.connected()
            for number in 0..<20 { try await client.subscribe(to: "channel-\(number)") }
            try await eventually { await broker.hits(limit) > 0 }
        }
    }
}
