import PusherProtocol
import Testing

@testable import Broker

@Suite("The last messages of a stream") struct MessageRingTests {
    private let limits = SharedRule(RecoveryRule { $0.messagesMax = 20_000 }, of: 0).ring

    // An array of exclusions is counted and moved at each eviction: 2 × 10^9 elements.
    @Test("Evictions do not depend on the exclusions", .timeLimit(.minutes(1)))
    func evictions() {
        var ring = MessageRing(before: 1)
        let message = Envelope(text: [0])
        for serial in 1...120_000 {
            let except = SocketID(UInt64(serial % 3), 1)
            _ = ring.append(message, serial: UInt64(serial), except: except, at: 0, limits)
        }
        #expect(ring.count == 20_000 && ring.firstSerial == 100_001)
        #expect(ring.details(of: 100_001)?.except == SocketID(100_001 % 3, 1))
        #expect(ring.details(of: 120_000)?.except == SocketID(0, 1))
        let last = ring.messages(from: 119_998, for: [SocketID(1, 1)])
        #expect(last == [.leftOut(119_998), .envelope(message), .envelope(message)])
    }
}
