import Testing

@testable import Net

@Suite("Streams that leave many groups") struct StreamDetachingTests {
    /// A stream that is a member of all groups, and its peer.
    private func member(
        of groups: [StreamGroup],
        on reactor: Reactor
    ) throws -> (stream: Stream, delegate: Recorder, peer: RawPeer) {
        let delegate = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(delegate)
        for group in groups { group.join(stream) }
        return (stream, delegate, peer)
    }

    @Test("A detached stream gets the frames sent before, and no later ones")
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
        // It has left the groups that had frames for it.
        #expect(one.stream.groupCount == 40)
        one.stream.close(within: .seconds(1), peerIsDone: true)
        reactor.settle()
        #expect(one.delegate.isClosed && one.peer.hasEnded)
        for group in groups { group.send([250]) }
        reactor.settle()
        #expect(other.peer.read()?.count == 100)
        for group in groups { group.leave(one.stream) }
        one.delegate.onClose = nil
        #expect(one.stream.groupCount == 0 && groups.allSatisfy { $0.count == 1 })
    }

    @Test("A stream that is detached gets deferred frames too")
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

    @Test("A stream that has ended leaves its groups after `streamClosed`, unless it is detached")
    func ends() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let groups = (0..<100).map { _ in reactor.makeGroup() }
        let one = try member(of: groups, on: reactor)
        let other = try member(of: groups, on: reactor)
        one.delegate.onClose = {
            one.stream.detachFromGroups()
            for group in groups.prefix(50) { group.leave(one.stream) }
        }
        for stream in [one.stream, other.stream] { stream.abort() }
        reactor.settle()
        #expect(groups.map(\.count) == (0..<100).map { $0 < 50 ? 0 : 1 })
        for group in groups { group.send([1]) }
        reactor.settle()
        for group in groups { group.leave(one.stream) }
        one.delegate.onClose = nil
        #expect(one.stream.groupCount == 0 && groups.allSatisfy { $0.count == 0 })
    }
}
