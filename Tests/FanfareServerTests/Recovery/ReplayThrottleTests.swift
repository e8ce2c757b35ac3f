import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Shard

/// A throttle, as a class, because `#expect` takes no mutating calls.
private final class Gate {
    var throttle = ReplayThrottle()

    func holds(_ number: UInt64, _ channel: String = "a", request: UInt32 = 1) throws -> Bool {
        let request = ReplayThrottle.Request(
            address: ChannelAddress(app: AppID("1"), name: try ChannelName(channel)),
            member: nil,
            position: PositionRequest(),
            subscription: SubscriptionRequest(
                shard: 0,
                socketID: SocketID(number, 1),
                number: request
            )
        )
        return throttle.queueIfFull(request)
    }

    /// The connections whose requests may be sent.
    func next() -> [UInt64] {
        var numbers: [UInt64] = []
        while let request = throttle.next() { numbers.append(request.subscription.socketID.first) }
        return numbers
    }

    func write(_ byteCount: Int, to number: UInt64, at now: Int64 = 0) {
        throttle.wrote(byteCount, to: SocketID(number, 1), at: now)
        throttle.turnEnded(at: now) { _ in false }
    }

    func withdraw(_ number: UInt64) throws -> Bool {
        throttle.withdraw(SocketID(number, 1), from: try ChannelName("a"))
    }
}

@Suite("The throttle of replays") struct ReplayThrottleTests {
    @Test("Requests wait in their order while too many replays are unsent")
    func order() throws {
        let gate = Gate()
        gate.write(ReplayThrottle.unsentBytesMax + 1, to: 1)
        for number in UInt64(2)...4 { #expect(try gate.holds(number)) }
        #expect(gate.next() == [] && !gate.throttle.isReady)
        #expect(try gate.withdraw(3))
        #expect(try !gate.withdraw(3) && !gate.withdraw(1))
        gate.throttle.sent(SocketID(1, 1))
        #expect(gate.throttle.isReady)
        // Who comes later does not overtake.
        #expect(try gate.holds(5))
        #expect(gate.next() == [2, 4, 5])
        #expect(gate.throttle.waitingCount == 0 && gate.throttle.pendingCount == 3)
        for number in [UInt64(2), 4, 5] {
            gate.throttle.answered(SocketID(number, 1), on: try ChannelName("a"))
        }
        #expect(gate.throttle.isEmpty)
    }

    @Test("A request that was withdrawn and made again waits at the end")
    func again() throws {
        let gate = Gate()
        gate.write(ReplayThrottle.unsentBytesMax + 1, to: 1)
        #expect(try gate.holds(2) && gate.holds(3))
        #expect(try gate.withdraw(2) && gate.holds(2, request: 2))
        gate.throttle.sent(SocketID(1, 1))
        #expect(gate.next() == [3, 2])
    }

    @Test("Requests without answer count as replays of a certain size")
    func pending() throws {
        let gate = Gate()
        let count = UInt64(ReplayThrottle.unsentBytesMax / ReplayThrottle.expectedBytes) + 1
        for number in 1...count { #expect(try !gate.holds(number)) }
        #expect(try gate.holds(count + 1))
        gate.throttle.answered(SocketID(1, 1), on: try ChannelName("a"))
        #expect(gate.next() == [count + 1])
    }

    @Test("A replay that is sent within its turn does not count")
    func sent() throws {
        let gate = Gate()
        gate.throttle.wrote(ReplayThrottle.unsentBytesMax * 2, to: SocketID(1, 1), at: 0)
        gate.throttle.turnEnded(at: 0) { _ in true }
        #expect(gate.throttle.isEmpty)
        #expect(try !gate.holds(2))
    }

    @Test("The replays of a connection count for five seconds at most, later ones again")
    func slowReaders() throws {
        let gate = Gate()
        gate.write(1, to: 1)
        gate.write(ReplayThrottle.unsentBytesMax, to: 2, at: 10)
        gate.write(1, to: 1, at: 20)
        #expect(try gate.holds(3))
        gate.throttle.turnEnded(at: 4_999) { _ in false }
        #expect(!gate.throttle.isReady && gate.throttle.unsentCount == 2)
        gate.throttle.turnEnded(at: 5_000) { _ in false }
        #expect(gate.throttle.isReady && gate.throttle.unsentCount == 1)
        gate.write(1, to: 1, at: 5_001)
        #expect(!gate.throttle.isReady && gate.next() == [])
        gate.throttle.turnEnded(at: 5_010) { _ in false }
        #expect(gate.next() == [3] && gate.throttle.unsentCount == 1)
        gate.throttle.turnEnded(at: 10_001) { _ in false }
        #expect(gate.throttle.unsentCount == 0)
        // Who has read all of it in between begins anew.
        gate.write(1, to: 1, at: 20_000)
        gate.throttle.sent(SocketID(1, 1))
        gate.write(ReplayThrottle.unsentBytesMax + 1, to: 1, at: 24_000)
        gate.throttle.turnEnded(at: 25_000) { _ in false }
        #expect(gate.throttle.unsentCount == 1)
    }

    @Test(
        "Behind readers that do not read a client waits, until they are gone or five seconds passed",
        arguments: [true, false]
    )
    func waits(readersLeave: Bool) async throws {
        var rule = RecoveryRuleConfiguration()
        rule.settings.keep = .always
        rule.opening = .replay
        try await TestBroker.run {
            $0.apps[0].recoveryRules = [rule]
            $0.apps[0].recovery.standard.bytesMax = 16 << 20
        } _: { broker in
            let data = String(repeating: "x", count: 10_000)
            for _ in 0..<400 { _ = try await broker.trigger("e", data, on: "a") }
            _ = try await broker.trigger("e", "1", on: "b")
            var slow: [WebSocketWire] = []
            for _ in 0..<5 { slow.append(try await broker.subscribed(to: "a").0) }
            let (client, socketID) = try await broker.connected()
            try client.send(subscribeMessage(to: "b", socketID: socketID))
            try await eventually {
                await broker.metric("fanfare_recovery_resumes_waiting") == 1
            }
            // What gets no replay does not wait, and neither does what is live.
            try await client.expectNothing()
            if readersLeave { for reader in slow { reader.wire.reset() } }
            let answer = try await client.nextText()
            #expect(answer.contains("subscription_succeeded"))
            #expect(try await client.nextText().contains(#""data":"1","serial":1"#))
        }
    }
}
