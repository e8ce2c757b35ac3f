import TestRandom
import Testing

@testable import Net

@Suite("Deferred frames") struct FrameDeferralTests {
    private static let start = MonotonicTime(nanoseconds: 5_000_000_000)

    private func after(_ milliseconds: Int) -> MonotonicTime {
        Self.start.advanced(by: .milliseconds(milliseconds))
    }

    @Test func theFirstFrameDoesNotWait() {
        var deferral = FrameDeferral()
        deferral.add(delayMax: 40)
        #expect(deferral.remainingDelay(at: Self.start) == nil)
    }

    @Test("The following frames wait for the delay since the last send")
    func others() {
        var deferral = FrameDeferral()
        deferral.add(delayMax: 40)
        deferral.end(at: Self.start)
        deferral.add(delayMax: 40)
        #expect(deferral.remainingDelay(at: after(5)) == .milliseconds(35))
        deferral.add(delayMax: 40)
        #expect(deferral.remainingDelay(at: after(39)) == .milliseconds(1))
        #expect(deferral.remainingDelay(at: after(40)) == nil)
        // The shortest delay counts.
        deferral.add(delayMax: 10)
        #expect(deferral.remainingDelay(at: after(5)) == .milliseconds(5))
    }

    @Test func anUrgentFrameEndsTheDelay() {
        var deferral = FrameDeferral()
        deferral.add(delayMax: 40)
        deferral.end(at: Self.start)
        deferral.add(delayMax: 40)
        deferral.add(delayMax: 0)
        #expect(deferral.isUrgent && deferral.remainingDelay(at: after(5)) == nil)
        deferral.end(at: after(5))
        deferral.add(delayMax: 40)
        #expect(!deferral.isUrgent && deferral.remainingDelay(at: after(6)) == .milliseconds(39))
    }

    @Test("Urgent frames do not start a delay")
    func ordinaryFrames() {
        var deferral = FrameDeferral()
        deferral.add(delayMax: 0)
        deferral.end(at: Self.start)
        deferral.add(delayMax: 40)
        #expect(deferral.remainingDelay(at: after(1)) == nil)
    }

    // MARK: - In groups

    @Test("A group defers frames until an urgent frame is sent")
    func groups() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        let (stream, peer) = try reactor.streamAndPeer(Recorder())
        group.join(stream)
        func send(_ number: UInt8, delayMax: UInt16) {
            group.send([number], delayMax: delayMax)
            reactor.turn(atMost: .zero)
        }
        send(1, delayMax: 60_000)
        #expect(peer.read() == [1])
        send(2, delayMax: 60_000)
        send(3, delayMax: 60_000)
        #expect(peer.read() == [])
        // A new member gets the frames sent from then on; a leaving one those sent before.
        let (late, latePeer) = try reactor.streamAndPeer(Recorder())
        group.join(late)
        let (brief, briefPeer) = try reactor.streamAndPeer(Recorder())
        group.join(brief)
        send(4, delayMax: 60_000)
        group.leave(brief)
        reactor.settle()
        #expect(briefPeer.read() == [4] && peer.read() == [] && latePeer.read() == [])
        send(5, delayMax: 0)
        #expect(peer.read() == [2, 3, 4, 5] && latePeer.read() == [4, 5])
        send(6, delayMax: 0)
        #expect(peer.read() == [6] && latePeer.read() == [6])
        send(7, delayMax: 60_000)
        #expect(peer.read() == [])
    }

    @Test("Deferred frames are sent after the delay if no other frame comes")
    func timers() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        let (stream, peer) = try reactor.streamAndPeer(Recorder())
        group.join(stream)
        for number in 1...3 as ClosedRange<UInt8> {
            group.send([number], delayMax: 30)
            reactor.turn(atMost: .zero)
        }
        #expect(peer.read() == [1])
        let start = MonotonicTime.current
        var received: [UInt8] = []
        reactor.run {
            received += peer.read() ?? []
            return received == [2, 3]
        }
        #expect(start.duration(to: .current) >= .milliseconds(20))
        #expect(reactor.timerCount == 0 && reactor.delayedGroups.isEmpty)
    }

    @Test(
        "Each member gets each frame once and in order while members join and leave",
        arguments: [1, 2, 3] as [UInt64]
    )
    func order(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        var members = try (0..<40).map { _ in try reactor.streamAndPeer(Recorder()) }
        var isMember = members.map { _ in false }
        var expected: [[UInt8]] = members.map { _ in [] }
        var received = expected
        for step in 0..<2_000 {
            let index = Int(random.next(below: 40))
            switch random.next(below: 8) {
            case 0..<2:
                if isMember[index] {
                    group.leave(members[index].stream)
                } else {
                    group.join(members[index].stream)
                }
                isMember[index].toggle()
            case 2..<6:
                let number = UInt8(truncatingIfNeeded: step)
                group.send([number], delayMax: random.next(below: 5) == 0 ? 0 : 2)
                for other in members.indices where isMember[other] {
                    expected[other].append(number)
                }
            default: reactor.turn(atMost: .milliseconds(Int(random.next(below: 3))))
            }
        }
        reactor.run {
            for index in members.indices { received[index] += members[index].peer.read() ?? [] }
            return zip(received, expected).allSatisfy { $0.count >= $1.count }
        }
        #expect(received == expected)
        members = []
    }
}
