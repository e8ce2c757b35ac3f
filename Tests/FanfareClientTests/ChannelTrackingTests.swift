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

    // MARK: Events

    @Test(
        "An event behind the position is delivered, a known one dropped, a hole reported",
        arguments: [
            (42, ChannelTracking.Verdict.next(ChannelPosition(stream: "s1", serial: 42)), 42),
            (41, .known, 41), (40, .known, 41), (0, .known, 41), (43, .hole(missing: 1), 41),
            (100, .hole(missing: 58), 41),
        ] as [(UInt64, ChannelTracking.Verdict, UInt64)]
    )
    func receives(serial: UInt64, verdict: ChannelTracking.Verdict, position: UInt64) throws {
        var tracking = try tracking()
        #expect(tracking.receive(serial) == verdict)
        #expect(tracking.position == ChannelPosition(stream: "s1", serial: position))
    }

    @Test("Without a position, every number is delivered") func receivesWithoutPosition() {
        var tracking = ChannelTracking()
        for serial in [7, 3, 100] as [UInt64] { #expect(tracking.receive(serial) == .next(nil)) }
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

    // MARK: Acknowledgements

    /// What an acknowledgement says.
    struct Acknowledgement: Sendable, CustomTestStringConvertible {
        let data: String
        /// What it means to a client at 41 of the stream s1, and to one without a position.
        let known: Continuity
        let new: Continuity
        let position: ChannelPosition?

        var testDescription: String { data }

        init(
            _ data: String,
            known: Continuity,
            new: Continuity = .began,
            at position: (String, UInt64)?
        ) {
            self.data = data
            self.known = known
            self.new = new
            self.position = position.map { ChannelPosition(stream: $0.0, serial: $0.1) }
        }
    }

    static let acknowledgements = [
        Acknowledgement(
            #"{"position":{"stream":"s1","serial":44}}"#,
            known: .gap(Gap(.unknownStream)),
            at: ("s1", 44)
        ),
        Acknowledgement(
            #"{"position":{"stream":"s1","serial":41},"recovered":true,"replay":3}"#,
            known: .resumed(replayed: 3),
            at: ("s1", 41)
        ),
        Acknowledgement(
            #"{"position":{"stream":"s1","serial":41},"recovered":true,"replay":0}"#,
            known: .resumed(replayed: 0),
            at: ("s1", 41)
        ),
        Acknowledgement(
            #"{"position":{"stream":"s1","serial":300},"recovered":false,"gap":{"reason":"truncated","missed":259}}"#,
            known: .gap(Gap(.truncated, missed: 259)),
            at: ("s1", 300)
        ),
        Acknowledgement(
            #"{"position":{"stream":"s2","serial":0},"recovered":false,"gap":{"reason":"unknown_stream"}}"#,
            known: .gap(Gap(.unknownStream)),
            at: ("s2", 0)
        ),
        Acknowledgement(
            #"{"position":{"stream":"s1","serial":9000},"recovered":false,"gap":{"reason":"too_much","missed":8959}}"#,
            known: .gap(Gap(.tooMuch, missed: 8_959)),
            at: ("s1", 9_000)
        ),
        Acknowledgement(
            #"{"position":{"stream":"s1","serial":40},"recovered":false,"gap":{"reason":"ahead"}}"#,
            known: .gap(Gap(.ahead)),
            at: ("s1", 40)
        ),
        Acknowledgement(
            #"{"position":{"stream":"s1","serial":50},"recovered":false,"gap":{"reason":"not_kept"}}"#,
            known: .gap(Gap(.notKept)),
            at: ("s1", 50)
        ),
        Acknowledgement(
            #"{"position":{"stream":"s1","serial":50},"recovered":false,"gap":{"reason":"of_a_later_version"}}"#,
            known: .gap(Gap(Gap.Reason(rawValue: "of_a_later_version"))),
            at: ("s1", 50)
        ),
        // Another broker.
        Acknowledgement("{}", known: .unknown, new: .unknown, at: nil),
        Acknowledgement(#"{"presence":{"count":0}}"#, known: .unknown, new: .unknown, at: nil),
        // A malformed position is none.
        Acknowledgement(
            #"{"position":{"stream":"s 1","serial":50}}"#,
            known: .unknown,
            new: .unknown,
            at: nil
        ),
        Acknowledgement(
            #"{"position":{"stream":"s1","serial":-1}}"#,
            known: .unknown,
            new: .unknown,
            at: nil
        ),
    ]

    @Test("An acknowledgement replaces stream and serial together", arguments: acknowledgements)
    func acknowledges(_ row: Acknowledgement) throws {
        let start = SubscriptionStart(acknowledgement: row.data)
        var known = try tracking()
        #expect(known.acknowledged(start, on: SocketID(2, 1)) == row.known)
        #expect(known.position == row.position)
        var new = ChannelTracking()
        #expect(new.acknowledged(start, on: SocketID(2, 1)) == row.new)
        #expect(new.position == row.position)
    }

    @Test("During a live subscription it replaces the stream; one that says nothing new is ignored")
    func acknowledgesLive() throws {
        var tracking = try tracking()
        #expect(tracking.acknowledged(nil, on: SocketID(1, 1), isLive: true) == nil)
        let late = SubscriptionStart(try Self.wire(40), .recovered(replay: 1))
        #expect(tracking.acknowledged(late, on: SocketID(1, 1), isLive: true) == nil)
        #expect(tracking.position?.serial == 41)
        let other = SubscriptionStart(
            try Self.wire(0, "s2"),
            .gap(RecoveryGap(.unknownStream))
        )
        #expect(
            tracking.acknowledged(other, on: SocketID(1, 1), isLive: true)
                == .gap(Gap(.unknownStream))
        )
        #expect(tracking.receive(1) == .next(ChannelPosition(stream: "s2", serial: 1)))
        let same = SubscriptionStart(try Self.wire(1, "s3"), .recovered(replay: 0))
        #expect(
            tracking.acknowledged(same, on: SocketID(1, 1), isLive: true) == .resumed(replayed: 0)
        )
        #expect(tracking.receive(2) == .next(ChannelPosition(stream: "s3", serial: 2)))
    }

    // MARK: Requests

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

    @Test("A replay that is cut goes on with the connection before, whose own events it leaves out")
    func formerConnections() throws {
        var tracking = try tracking()
        for (connection, received) in [(2, 42), (3, 43), (4, 44)] as [(UInt64, UInt64)] {
            let missed = 44 - Int(received) + 1
            let start = SubscriptionStart(
                try Self.wire(received - 1),
                .recovered(replay: missed)
            )
            _ = tracking.acknowledged(start, on: SocketID(connection, 1))
            #expect(tracking.takeReplayEnd() == nil)
            _ = tracking.receive(received)
            let end = tracking.takeReplayEnd()
            #expect(end == (received == 44 ? ChannelTracking.ReplayEnd(recovered: 1) : nil))
            let former = received == 44 ? SocketID(4, 1) : SocketID(1, 1)
            #expect(tracking.request.formerSocketID == former)
        }
    }

    @Test("A cached event that did not arrive is asked for again")
    func openings() throws {
        var tracking = ChannelTracking()
        var start = SubscriptionStart(try Self.wire(41), .began)
        start.hasOpening = true
        _ = tracking.acknowledged(start, on: SocketID(1, 1))
        #expect(tracking.request.wantsOpening)
        tracking.receivedEventWithoutNumber()
        #expect(!tracking.request.wantsOpening)
    }
}
