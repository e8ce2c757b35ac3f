import Testing

@testable import Net

/// The delegate of a relayed stream: lets `lengthMax` bytes of each socket pass, and then up to the next line end.
private final class Relay: StreamDelegate {
    var lengthLeft: Int
    var isInLine = false
    var filledCount = 0
    var waitingCount = 0
    var overflowCount = 0
    var closedCount = 0
    var error: StreamError?
    var budget: MemoryBudget?
    var onEnd: ((Stream) -> Void)?

    init(lengthMax: Int = .max) { lengthLeft = lengthMax }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { bytes.count }

    func stream(_ stream: Stream, portionOf bytes: UnsafeRawBufferPointer) -> Int {
        guard lengthLeft > 0 || isInLine else { return 0 }
        guard bytes.count >= lengthLeft else { return bytes.count }
        let end = bytes[max(0, lengthLeft - 1)...].firstIndex(of: UInt8(ascii: "\n"))
        return end.map { $0 + 1 } ?? bytes.count
    }

    func stream(_ stream: Stream, sent bytes: UnsafeRawBufferPointer) {
        if lengthLeft != .max { lengthLeft = max(0, lengthLeft - bytes.count) }
        if let last = bytes.last { isInLine = last != UInt8(ascii: "\n") }
    }

    func stream(_ stream: Stream, relayed event: RelayEvent) {
        switch event {
        case .filled: filledCount += 1
        case .waiting: waitingCount += 1
        }
    }

    func streamReachedEnd(_ stream: Stream) {
        if let onEnd { onEnd(stream) } else { stream.close(within: .seconds(5)) }
    }
    func streamOverflowed(_ stream: Stream) { overflowCount += 1 }
    func memoryBudget(of stream: Stream) -> MemoryBudget? { budget }
    func streamClosed(_ stream: Stream, error: StreamError?) {
        closedCount += 1
        self.error = error
    }
}

private func lines(_ numbers: ClosedRange<Int>) -> [UInt8] {
    numbers.flatMap { Array("\($0)\n".utf8) }
}

@Suite("Streams that outlive their sockets") struct StreamRelayTests {
    let reactor: Reactor

    init() throws { reactor = try Reactor.forTest() }

    private func text(_ recorder: Recorder) -> String {
        String(decoding: recorder.received, as: UTF8.self)
    }

    @Test func aParkedStreamQueuesAndContinuesOnTheNextSocket() throws {
        defer { reactor.shutDown() }
        let relay = Relay()
        let stream = try reactor.makeRelayedStream(delegate: relay)
        #expect(stream.isParked && stream.isOpen)
        stream.write(lines(1...2))
        reactor.settle()
        #expect(relay.waitingCount == 1 && stream.queuedByteCount == 4)
        for round in 0..<3 {
            let (near, far) = (Recorder(), Recorder())
            let socket = try reactor.pair(near, far)
            socket.left.write(Array("head\n".utf8))
            reactor.settle()
            try stream.takeSocket(of: socket.left)
            #expect(!stream.isParked)
            stream.write(lines(3...3))
            reactor.run { far.received.count >= (round == 0 ? 11 : 7) }
            #expect(text(far) == (round == 0 ? "head\n1\n2\n3\n" : "head\n3\n"))
            #expect(near.isClosed && near.error == nil && !far.isClosed)
            let rest = Recorder()
            let other = try stream.giveSocket(to: rest)
            #expect(stream.isParked && other.isOpen)
            other.write(Array("bye".utf8))
            reactor.run { text(far).hasSuffix("bye") }
            other.abort()
            reactor.run { far.isClosed }
        }
        #expect(relay.closedCount == 0)
    }

    @Test("A group's frames reach a relayed stream in order", arguments: [false, true])
    func groups(isParkedFirst: Bool) throws {
        defer { reactor.shutDown() }
        let relay = Relay()
        let stream = try reactor.makeRelayedStream(delegate: relay)
        let far = Recorder()
        let near = try reactor.pair(Recorder(), far).left
        if !isParkedFirst { try stream.takeSocket(of: near) }
        let groups = (0..<2).map { _ in reactor.makeGroup() }
        for group in groups { group.join(stream) }
        for number in 1...9 {
            groups[number % 2].send(lines(number...number))
            reactor.turn(atMost: .zero)
        }
        if isParkedFirst { try stream.takeSocket(of: near) }
        reactor.run { far.received.count == 18 }
        #expect(far.received == lines(1...9))
        for group in groups { group.leave(stream) }
    }

    @Test("No byte is written after the line that passes the length", arguments: 1...12, [1, 4])
    func fills(lengthMax: Int, batch: Int) throws {
        defer { reactor.shutDown() }
        let relay = Relay(lengthMax: lengthMax)
        let stream = try reactor.makeRelayedStream(delegate: relay)
        var received: [UInt8] = []
        var number = 0
        // Each line has two bytes.
        let lineCount = (lengthMax + 1) / 2
        for _ in 0..<5 {
            let far = Recorder()
            try stream.takeSocket(of: reactor.pair(Recorder(), far).left)
            let filledCount = relay.filledCount
            while relay.filledCount == filledCount {
                for _ in 0..<batch {
                    stream.write(Array("\(number % 10)\n".utf8))
                    number += 1
                }
                reactor.turn(atMost: .zero)
            }
            reactor.settle()
            #expect(far.received.count == 2 * lineCount)
            received += far.received
            let old = try stream.giveSocket(to: Recorder())
            relay.lengthLeft = lengthMax
            old.abort()
        }
        received += stream.takeOutput()
        #expect(received == (0..<number).flatMap { Array("\($0 % 10)\n".utf8) })
    }

    @Test("A line longer than a TLS record and than the kernel's buffer stays whole")
    func longLines() throws {
        defer { reactor.shutDown() }
        let relay = Relay(lengthMax: 10)
        let stream = try reactor.makeRelayedStream(delegate: relay)
        let far = Recorder()
        try stream.takeSocket(of: reactor.pair(Recorder(), far).left)
        let line = [UInt8](repeating: UInt8(ascii: "a"), count: 3 << 20) + lines(1...1)
        stream.write(line + lines(2...2))
        reactor.run { relay.filledCount > 0 }
        reactor.settle()
        #expect(far.received == line)
        _ = try stream.giveSocket(to: Recorder())
        #expect(stream.takeOutput() == lines(2...2))
    }

    @Test func outputIsTakenWithoutASocket() throws {
        defer { reactor.shutDown() }
        let relay = Relay()
        let stream = try reactor.makeRelayedStream(delegate: relay)
        let group = reactor.makeGroup()
        group.join(stream)
        for number in 1...3 { group.send(lines(number...number)) }
        stream.write(lines(0...0))
        reactor.settle()
        #expect(relay.waitingCount == 1)
        #expect(stream.takeOutput() == lines(0...3))
        #expect(stream.takeOutput() == [])
        group.send(lines(4...4))
        reactor.settle()
        #expect(relay.waitingCount == 2)
        stream.write(lines(5...5))
        stream.close(within: .seconds(5))
        reactor.settle()
        #expect(stream.takeOutput() == lines(4...5))
        reactor.settle()
        #expect(relay.closedCount == 1 && relay.error == nil && stream.isClosed)
    }

    @Test func aParkedStreamOverflowsAndIsCharged() throws {
        defer { reactor.shutDown() }
        let relay = Relay()
        let budget = MemoryBudget(byteCountMax: 1 << 20)
        relay.budget = budget
        let limits = StreamLimits(queuedBytesMax: 1_000)
        let stream = try reactor.makeRelayedStream(limits: limits, delegate: relay)
        stream.write([UInt8](repeating: 10, count: 900))
        reactor.settle()
        #expect(budget.byteCount >= 900 && relay.overflowCount == 0)
        #expect(stream.takeOutput().count == 900)
        #expect(budget.byteCount == 0)
        stream.write([UInt8](repeating: 10, count: 1_100))
        reactor.settle()
        #expect(relay.overflowCount == 1 && relay.closedCount == 1)
        #expect(budget.byteCount == 0)
    }

    @Test func theEndOfASocketIsReported() throws {
        defer { reactor.shutDown() }
        let relay = Relay()
        let stream = try reactor.makeRelayedStream(delegate: relay)
        let (near, peer) = try reactor.streamAndPeer(Recorder())
        try stream.takeSocket(of: near)
        var endCount = 0
        relay.onEnd = { _ in endCount += 1 }
        peer.close()
        reactor.run { endCount == 1 }
        _ = try stream.giveSocket(to: Recorder())
        let far = Recorder()
        try stream.takeSocket(of: reactor.pair(Recorder(), far).left)
        stream.write(lines(7...7))
        reactor.run { far.received == lines(7...7) }
        #expect(relay.closedCount == 0)
    }

    @Test func aSocketMovesWithItsEncryption() throws {
        defer { reactor.shutDown() }
        let pair = try SecurePair(TLSContext.server([Certificates.localhost]), reactor: reactor)
        let trusting = try TLSContext.client(trust: .pem(Certificates.localhost.certificatePEM))
        let client = try pair.connect(trusting)
        reactor.run { pair.client.isOpened && pair.accepted.streams.first?.isOpen == true }
        let relay = Relay()
        let stream = try reactor.makeRelayedStream(delegate: relay)
        stream.write(lines(1...9))
        try stream.takeSocket(of: #require(pair.accepted.streams.first))
        #expect(stream.isSecure)
        reactor.run { pair.client.received == lines(1...9) }
        let rest = Recorder.echo()
        let other = try stream.giveSocket(to: rest)
        #expect(other.isSecure && stream.isSecure)
        client.write(lines(3...3))
        reactor.run { pair.client.received == lines(1...9) + lines(3...3) }
        other.close(within: .seconds(5))
        reactor.run { pair.client.isClosed }
        #expect(relay.closedCount == 0)
    }
}
