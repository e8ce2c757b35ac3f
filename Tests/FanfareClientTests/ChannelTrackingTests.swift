import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("The position of a session in a channel's stream") struct ChannelTrackingTests {
    private typealias WirePosition = PusherProtocol.ChannelPosition

    private static func wire(_ serial: UInt64, _ stream: String = "s1") throws -> WirePosition {
        WirePosition(stream: try #require(StreamID(stream)), serial: serial)
    }

    /// A position at 41, received on the connection 1.1.
    private func tracking() throws -> ChannelTracking {
        var tracking = ChannelTracking()
        let start = SubscriptionStart(try Self.wire(41), .began)
        _ = tracking.acknowledged(start, on: SocketID(1, 1))
        _ = tracking.takeReplayEnd()
        return tracking
    }

    @Test("Every schedule of cuts and repeats delivers each number once, in order")
    func receivesOnce() throws {
        for cut in 0..<20 {
            var tracking = try tracking()
            var received: [UInt64] = []
            func take(_ serials: ClosedRange<UInt64>) {
                for serial in serials {
                    if case .next = tracking.receive(serial) { received.append(serial) }
                }
            }
            if cut > 0 { take(42...(41 + UInt64(cut))) }
            let last = try #require(tracking.position).serial
            let start = SubscriptionStart(try Self.wire(last), .recovered(replay: 61 - Int(last)))
            _ = tracking.acknowledged(start, on: SocketID(2, 1))
            // The broker repeats more than it must.
            take(42...62)
            #expect(received == Array(42...62))
        }
    }

    @Test("A request has the position with the connection that it was received on")
    func requests() throws {
        #expect(ChannelTracking().request == PositionRequest())
        #expect(
            ChannelTracking(rewind: .count(5)).request == PositionRequest(rewind: .count(5))
        )
        #expect(
            ChannelTracking(rewind: .seconds(60)).request == PositionRequest(rewind: .seconds(60))
        )
        let stored = ChannelPosition(stream: "s1", serial: 7)
        // The rewind is for a client without a position.
        #expect(
            ChannelTracking(from: stored, rewind: .count(5)).request
                == PositionRequest(try Self.wire(7))
        )
        #expect(
            try tracking().request
                == PositionRequest(try Self.wire(41), formerSocketID: SocketID(1, 1))
        )
    }

    @Test(
        "A position that no broker has given is not sent, and is a gap",
        arguments: [
            ChannelPosition(stream: "", serial: 1), ChannelPosition(stream: "ä", serial: 1),
            ChannelPosition(stream: "s1", serial: 1 << 53),
            ChannelPosition(stream: "s1", serial: .max),
        ]
    )
    func invalid(_ position: ChannelPosition) throws {
        var tracking = ChannelTracking(from: position)
        #expect(tracking.request == PositionRequest())
        let start = SubscriptionStart(try Self.wire(3), .began)
        #expect(tracking.acknowledged(start, on: nil) == .gap(Gap(.unknownStream)))
    }
}
