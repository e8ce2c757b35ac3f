import Testing
import TestRandom

@testable import Net

/// Returns a frame of four bytes that contains its number.
private func frame(_ number: Int) -> [UInt8] {
    [
        UInt8(number >> 24 & 255), UInt8(number >> 16 & 255), UInt8(number >> 8 & 255),
        UInt8(number & 255),
    ]
}

/// Returns the numbers of the frames in `bytes`.
private func numbers(_ bytes: [UInt8]) -> [Int] {
    stride(from: 0, to: bytes.count - 3, by: 4).map { start in
        bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
    }
}

/// A member, and the peer of its connection.
private final class Member {
    let delegate = Recorder()
    let far = Recorder()
    let stream: Stream
    let farStream: Stream
    init(_ reactor: Reactor, limits: StreamLimits = .init()) throws {
        (stream, farStream) = try reactor.pair(delegate, far, limits: limits)
    }
    var received: [Int] { numbers(far.received) }
}

@Suite("Stream groups") struct StreamGroupTests {
    @Test func sendsEachMemberEachFrameInOrder() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        // More than the budget of 512, so that polls interrupt passes.
        var members: [Member] = []
        for _ in 0..<700 { members.append(try Member(reactor)) }
        for member in members { group.join(member.stream) }
        #expect(group.count == 700)
        for number in 0..<30 {
            group.send(frame(number))
            if number % 3 == 0 { reactor.turn(atMost: .zero) }
        }
        reactor.run { members.allSatisfy { $0.far.received.count == 120 } }
        #expect(members.allSatisfy { $0.received == Array(0..<30) })
    }

    @Test func theMarkOfAMemberIsThatOfTheLastFrameThatItGot() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        // More than the budget of 512, so that polls interrupt passes.
        var members: [Member] = []
        for _ in 0..<700 { members.append(try Member(reactor)) }
        for member in members { group.join(member.stream) }
        #expect(group.mark(of: members[0].stream) == 0)
        group.send(frame(1), mark: 1)
        #expect(group.mark(of: members[0].stream) == 0, "it waits")
        reactor.run { members.allSatisfy { group.mark(of: $0.stream) == 1 } }
        group.send(frame(2), mark: 2)
        group.send(frame(3), mark: 3)
        reactor.turn(atMost: .zero)
        group.send(frame(4), mark: 4)
        // One pass is under way, and a batch waits: the marks are those of frames ahead of what is written now.
        let marks = members.map { group.mark(of: $0.stream) }
        #expect(Set(marks) == [1, 3])
        for (member, mark) in zip(members, marks) { member.stream.write(frame(100 + Int(mark))) }
        // Members that leave move others to their places.
        for member in members.prefix(50) + members.suffix(50) { group.leave(member.stream) }
        #expect(members[50..<650].map { group.mark(of: $0.stream) } == Array(marks[50..<650]))
        let late = try Member(reactor)
        group.join(late.stream)
        #expect(group.mark(of: late.stream) == 3)
        reactor.run { members[50..<650].allSatisfy { $0.received.count == 5 } }
        for (member, mark) in zip(members, marks).dropFirst(50).dropLast(50) {
            let ahead = member.received.prefix { $0 < 100 }
            #expect(ahead.last == Int(mark))
        }
        #expect(group.mark(of: late.stream) == 4)
        #expect(group.mark(of: members[0].stream) == 0, "it is no member")
    }

    @Test func framesRightAfterALongPassWaitForMore() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        var peers: [RawPeer] = []
        for _ in 0..<600 {
            let (stream, peer) = try reactor.streamAndPeer(Recorder())
            group.join(stream)
            peers.append(peer)
        }
        func send(_ numbers: Int...) {
            for number in numbers { group.send(frame(number)) }
            reactor.flush()
        }
        send(0, 1)
        reactor.turn(atMost: .zero)
        for peer in peers { #expect(peer.read() == frame(0) + frame(1)) }
        send(2)
        #expect(peers[0].read() == [] && peers[599].read() == [])
        // As many as before, so they do not wait.
        send(3)
        reactor.turn(atMost: .zero)
        for peer in peers { #expect(peer.read() == frame(2) + frame(3)) }
        // The delay is limited.
        send(4)
        #expect(peers[0].read() == [] && peers[599].read() == [])
        reactor.run { peers[0].read() == frame(4) }
    }

    @Test func sendsTheFramesOfATurnTogether() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        let (member, far) = (Recorder(), Recorder())
        let (stream, _) = try reactor.pair(member, far)
        var pieces = 0
        far.onBytes = { _, bytes in
            pieces += 1
            return bytes.count
        }
        group.join(stream)
        for number in 0..<10 { group.send(frame(number)) }
        reactor.run { far.received.count == 40 }
        #expect(pieces == 1)
    }

    @Test func excludesAStreamFromAFrame() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        let (one, other) = (try Member(reactor), try Member(reactor))
        let outsider = try Member(reactor)
        for member in [one, other] { group.join(member.stream) }
        group.send(frame(0))
        group.send(frame(1), except: one.stream)
        group.send(frame(2), except: other.stream)
        group.send(frame(3), except: outsider.stream)
        group.send(frame(4), except: one.stream)
        reactor.settle()
        group.send(frame(5), except: one.stream)
        reactor.settle()
        group.send(frame(6))
        reactor.settle()
        #expect(one.received == [0, 2, 3, 6])
        #expect(other.received == [0, 1, 3, 4, 5, 6])
        #expect(one.stream.obstacles.isEmpty && one.stream.exclusionCount == 0)
    }

    @Test func startsAndEndsAtTheExactFrame() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        let (old, new) = (try Member(reactor), try Member(reactor))
        group.join(old.stream)
        group.send(frame(0))
        group.join(new.stream)
        group.send(frame(1))
        group.leave(old.stream)
        group.leave(old.stream)
        group.send(frame(2))
        old.stream.write(frame(99))
        group.leave(new.stream)
        reactor.settle()
        // Bytes written after leaving come after frames sent before.
        #expect(old.received == [0, 1, 99])
        #expect(new.received == [1, 2])
        #expect(group.count == 0 && old.stream.groupCount == 0)
    }

    @Test func sendsFramesOfSeveralGroupsTogether() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let groups = (0..<10).map { _ in reactor.makeGroup() }
        let member = try Member(reactor)
        var pieces = 0
        member.far.onBytes = { _, bytes in
            pieces += 1
            return bytes.count
        }
        for group in groups { group.join(member.stream) }
        #expect(member.stream.groupCount == 10)
        for (number, group) in groups.enumerated() { group.send(frame(number)) }
        reactor.settle()
        #expect(member.received == Array(0..<10))
        #expect(pieces == 1)
        for group in groups.dropFirst() { group.leave(member.stream) }
        #expect(member.stream.obstacles.isEmpty)
        groups[0].send(frame(10))
        reactor.settle()
        #expect(member.received.last == 10)
    }

    @Test func doesNotSendEarlierFramesToANewMember() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        group.send(frame(0))
        let member = try Member(reactor)
        group.join(member.stream)
        reactor.settle()
        #expect(member.received.isEmpty)
        // The last member leaves while a batch waits, and joins again.
        group.send(frame(1))
        group.leave(member.stream)
        group.join(member.stream)
        group.send(frame(2))
        reactor.settle()
        #expect(member.received == [1, 2])
    }

    @Test func toleratesMembersThatEnd() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        var members: [Member] = []
        for _ in 0..<30 { members.append(try Member(reactor)) }
        for member in members { group.join(member.stream) }
        group.send(frame(0))
        for index in stride(from: 0, to: 30, by: 3) { members[index].stream.abort() }
        // These ends are noticed only by a send.
        for index in stride(from: 1, to: 30, by: 3) {
            members[index].stream.pauseReading()
            members[index].farStream.abort()
        }
        reactor.settle()
        group.send(frame(1))
        reactor.settle()
        #expect(group.count == 10)
        for index in stride(from: 2, to: 30, by: 3) { #expect(members[index].received == [0, 1]) }
        #expect(members.filter { $0.delegate.isClosed }.count == 20)
    }

    @Test func notifiesOfAMemberThatDoesNotRead() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let group = reactor.makeGroup()
        let limits = StreamLimits(queuedBytesMax: 200_000)
        let (slow, quick) = (
            try Member(reactor, limits: limits), try Member(reactor, limits: limits)
        )
        slow.farStream.pauseReading()
        slow.delegate.onOverflow = { $0.close(within: .milliseconds(10)) }
        for member in [slow, quick] { group.join(member.stream) }
        let shared = pattern(64 << 10)
        var sent = 0
        reactor.run {
            if !slow.delegate.isClosed {
                group.send(shared)
                sent += 1
            }
            return slow.delegate.isClosed
        }
        #expect(slow.delegate.overflowCount == 1 && slow.delegate.error == .closeTimedOut)
        reactor.run { quick.far.received.count == sent * shared.count }
        #expect(quick.delegate.overflowCount == 0 && group.count == 1)
    }

    /// Each member receives every frame sent while it was a member that did not exclude it.
    ///
    /// Turns happen in between, so that members join and leave during waiting batches, during
    /// passes, and during both.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func agreesWithASimpleModel(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let groups = [reactor.makeGroup(), reactor.makeGroup()]
        var members: [Member] = []
        for _ in 0..<60 { members.append(try Member(reactor)) }
        var isMember = members.map { _ in [false, false] }
        var expected: [[Set<Int>]] = members.map { _ in [[], []] }
        for number in 0..<3_000 {
            let index = Int(random.next(below: UInt64(members.count)))
            let which = Int(random.next(below: 4)) == 0 ? 1 : 0
            let group = groups[which]
            switch random.next(below: 8) {
            case 0..<3:
                let stream = members[index].stream
                if isMember[index][which] { group.leave(stream) } else { group.join(stream) }
                isMember[index][which].toggle()
            case 3..<6:
                let isExcluding = random.next(below: 2) == 0
                group.send(frame(number), except: isExcluding ? members[index].stream : nil)
                for other in members.indices where isMember[other][which] {
                    if !isExcluding || other != index { expected[other][which].insert(number) }
                }
            case 6:
                // A part of a pass at a time.
                var budget = FanOutBudget(memberCount: Int(1 + random.next(below: 40)))
                _ = group.runPass(&budget)
            default:
                if random.next(below: 4) == 0 { reactor.turn(atMost: .zero) }
            }
        }
        // A pass of seconds, as here, is followed by a delay.
        let awaited = expected.map { $0[0].union($0[1]).count }
        reactor.run { zip(members, awaited).allSatisfy { $0.received.count >= $1 } }
        reactor.settle()
        for (index, member) in members.enumerated() {
            let received = member.received
            for which in 0..<2 {
                // In order within each group, and once each.
                let own = received.filter { expected[index][which].contains($0) }
                #expect(own == own.sorted())
            }
            #expect(received.sorted() == expected[index][0].union(expected[index][1]).sorted())
        }
    }

    @Test func encryptsForEachMember() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let server = try TLSContext.server([Certificates.localhost])
        let client = try TLSContext.client(trust: .insecure)
        let group = reactor.makeGroup()
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let delegate = Recorder()
        delegate.onOpen = { group.join($0) }
        let listener = try reactor.listen(on: address, tls: server) { _, _ in delegate }
        var peers: [Recorder] = []
        for _ in 0..<20 {
            let peer = Recorder()
            _ = try reactor.connect(
                to: listener.address,
                tls: (client, "localhost"),
                timeout: .seconds(10),
                delegate: peer
            )
            peers.append(peer)
        }
        reactor.run { group.count == 20 }
        for number in 0..<200 {
            group.send(frame(number) + pattern(996))
            if number % 7 == 0 { reactor.turn(atMost: .zero) }
        }
        let expected = (0..<200).flatMap { frame($0) + pattern(996) }
        reactor.run { peers.allSatisfy { $0.received.count == expected.count } }
        #expect(peers.allSatisfy { $0.received.elementsEqual(expected) })
    }
}
