import Testing

@testable import Net

@Suite("Streams that leave many groups") struct StreamDetachingTests {
    /// A stream that is a member of all groups, and its peer.
    private func member(
        of groups: [StreamGroup],
        on reactor: Reactor
    ) throws -> (stream: Stream, owner: Recorder, peer: RawPeer) {
        let owner = Recorder()
        let (stream, peer) = try reactor.lonely(owner)
        for group in groups { group.join(stream) }
        return (stream, owner, peer)
    }

    @Test("One that is detached has what was sent before, and nothing more, until it leaves")
    func detaches() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let groups = (0..<100).map { _ in reactor.makeGroup() }
        let one = try member(of: groups, on: reactor)
        let other = try member(of: groups, on: reactor)
        for (number, group) in groups.prefix(60).enumerated() { group.send([UInt8(number)]) }
        one.stream.detachFromGroups()
        one.stream.write([200])
        for (number, group) in groups.enumerated() { group.send([100 + UInt8(number)]) }
        reactor.settle()
        #expect(one.peer.read() == Array(0..<60) + [200])
        #expect(other.peer.read()?.sorted() == Array(0..<60) + Array(100..<200))
        // It is through with those that had frames for it.
        #expect(one.stream.groupCount == 40)
        one.stream.close(within: .seconds(1), peerIsDone: true)
        reactor.settle()
        #expect(one.owner.isClosed && one.peer.hasEnded)
        for group in groups { group.send([250]) }
        reactor.settle()
        #expect(other.peer.read()?.count == 100)
        for group in groups { group.leave(one.stream) }
        one.owner.onClose = nil
        #expect(one.stream.groupCount == 0 && groups.allSatisfy { $0.count == 1 })
    }

    @Test("Frames that a group holds back go to one that is detached, too")
    func heldBack() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let groups = (0..<50).map { _ in reactor.makeGroup() }
        let one = try member(of: groups, on: reactor)
        for group in groups { group.send([1], delayMax: 1_000) }
        reactor.settle()
        #expect(one.peer.read() == Array(repeating: 1, count: 50))
        for group in groups { group.send([2], delayMax: 1_000) }
        reactor.settle()
        #expect(one.peer.read() == [])
        one.stream.detachFromGroups()
        one.stream.write([3])
        reactor.settle()
        #expect(one.peer.read() == Array(repeating: 2, count: 50) + [3])
    }

    @Test("One that ends is a member until its owner was told, and no longer unless it is detached")
    func ends() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let groups = (0..<100).map { _ in reactor.makeGroup() }
        let one = try member(of: groups, on: reactor)
        let other = try member(of: groups, on: reactor)
        one.owner.onClose = {
            one.stream.detachFromGroups()
            for group in groups.prefix(50) { group.leave(one.stream) }
        }
        for stream in [one.stream, other.stream] { stream.abort() }
        reactor.settle()
        #expect(groups.map(\.count) == (0..<100).map { $0 < 50 ? 0 : 1 })
        for group in groups { group.send([1]) }
        reactor.settle()
        for group in groups { group.leave(one.stream) }
        one.owner.onClose = nil
        #expect(one.stream.groupCount == 0 && groups.allSatisfy { $0.count == 0 })
    }
}
