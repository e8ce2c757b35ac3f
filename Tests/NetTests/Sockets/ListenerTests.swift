import Glibc
import Testing

@testable import Net

@Suite("Listeners") struct ListenerTests {
    private let loopback = SocketAddress(ip: "127.0.0.1", port: 0)

    @Test func sharesAPortAmongLoops() throws {
        let (one, other) = (try Reactor.forTest(), try Reactor.forTest())
        defer {
            one.shutDown()
            other.shutDown()
        }
        let first = try one.listen(on: #require(loopback), reusePort: true) { _, _ in Recorder() }
        let second = try other.listen(on: first.address, reusePort: true) { _, _ in Recorder() }
        #expect(first.address == second.address)
        var peers: [RawPeer] = []
        for _ in 0..<64 { peers.append(try RawPeer(to: first.address)) }
        one.run {
            other.turn(atMost: .zero)
            return first.acceptedCount + second.acceptedCount == 64
        }
        #expect(first.acceptedCount > 0 && second.acceptedCount > 0)
    }

    @Test func refusesAPortInUse() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let first = try reactor.listen(on: #require(loopback)) { _, _ in Recorder() }
        #expect(throws: SystemError(call: "bind", code: EADDRINUSE)) {
            try reactor.listen(on: first.address) { _, _ in Recorder() }
        }
    }

    @Test("[::] is every network, IPv4 included") func acceptsBothFamilies() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        var accepted: [Stream] = []
        var addresses: [SocketAddress?] = []
        let listener = try reactor.listen(on: #require(SocketAddress(ip: "::", port: 0))) {
            accepted.append($0)
            addresses.append($1)
            return Recorder()
        }
        let port = try #require(listener.address.port)
        for ip in ["127.0.0.1", "::1"] {
            let count = accepted.count
            let peer = try RawPeer(to: #require(SocketAddress(ip: ip, port: port)))
            reactor.run { accepted.count == count + 1 }
            #expect(accepted.last?.remoteAddress()?.ip == ip)
            #expect(addresses.last == accepted.last?.remoteAddress())
            withExtendedLifetime(peer) {}
        }
    }

    @Test func oneNetworkOfEachFamilyListensOnOnePort() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let all6 = try #require(SocketAddress(ip: "::1", port: 0))
        // Another test may use the port that the kernel chose for IPv6 on IPv4, so try several.
        let isOneForBoth = try (0..<20).contains { _ in
            let listener = try reactor.listen(on: all6) { _, _ in Recorder() }
            let port = try #require(listener.address.port)
            let all4 = try #require(SocketAddress(ip: "0.0.0.0", port: port))
            do {
                try reactor.listen(on: all4) { _, _ in Recorder() }
                return true
            } catch let error as SystemError where error.code == EADDRINUSE {
                return false
            }
        }
        #expect(isOneForBoth)
    }

    @Test func sendsSmallWritesAtOnce() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        var accepted: [Stream] = []
        let listener = try reactor.listen(on: #require(loopback)) { stream, _ in
            accepted.append(stream)
            return Recorder()
        }
        let peer = try RawPeer(to: listener.address)
        reactor.run { accepted.count == 1 }
        var (value, length) = (Int32(0), socklen_t(4))
        getsockopt(accepted[0].fd, Int32(IPPROTO_TCP), Int32(TCP_NODELAY), &value, &length)
        #expect(value != 0)
        #expect(accepted[0].remoteAddress()?.ip == "127.0.0.1")
        #expect(accepted[0].localAddress() == listener.address)
        _ = peer
    }

    @Test func unreadBytesWaitInTheQueueAndNotInTheKernel() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        var accepted: [Stream] = []
        let listener = try reactor.listen(on: #require(loopback)) { stream, _ in
            accepted.append(stream)
            return Recorder()
        }
        let peer = try RawPeer(to: listener.address)
        reactor.run { accepted.count == 1 }
        let block = pattern(64 << 10)
        for _ in 0..<32 { accepted[0].write(block) }
        reactor.settle()
        // Of 2 MiB the kernel accepts the peer's window and 128 KiB; without a bound it accepts all.
        #expect(accepted[0].queuedByteCount > 3 << 19)
        // Once the peer reads, it gets everything in order.
        var received: [UInt8] = []
        reactor.run {
            received += peer.read() ?? []
            return received.count == 2 << 20
        }
        #expect(
            stride(from: 0, to: received.count, by: block.count).allSatisfy { start in
                received[start..<start + block.count].elementsEqual(block)
            }
        )
    }

    @Test func theLastBytesWaitInTheKernelForAPeerThatDoesNotRead() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        var accepted: [Stream] = []
        let listener = try reactor.listen(on: #require(loopback)) { stream, _ in
            accepted.append(stream)
            return delegate
        }
        let peer = try RawPeer(to: listener.address)
        reactor.run { accepted.count == 1 }
        let block = pattern(64 << 10)
        for _ in 0..<32 { accepted[0].write(block) }
        reactor.settle()
        accepted[0].discardQueue()
        accepted[0].write(Array("last words".utf8))
        accepted[0].close(within: .milliseconds(50))
        reactor.run { delegate.isClosed }
        #expect(delegate.error == .closeTimedOut)
        // The stream is closed; its peer reads only now.
        var received: [UInt8] = []
        reactor.run {
            guard let bytes = peer.read() else { return true }
            received += bytes
            return false
        }
        #expect(received.count < 2 << 20)
        #expect(received.suffix(10).elementsEqual("last words".utf8))
        #expect((received.count - 10).isMultiple(of: block.count))
    }

    @Test func acceptsManyConnectionsInBursts() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        let listener = try reactor.listen(on: #require(loopback)) { _, _ in delegate }
        var peers: [RawPeer] = []
        for _ in 0..<200 { peers.append(try RawPeer(to: listener.address)) }
        reactor.poll(atMost: .seconds(5))
        reactor.flush()
        #expect(listener.acceptedCount == 64)
        reactor.run { listener.acceptedCount == 200 }
        #expect(delegate.openedCount == 200)
        peers = []
        reactor.run { reactor.streamCount == 0 }
        #expect(delegate.closedCount == 200)
    }

    @Test func leavesConnectionsInTheBacklogWithoutCapacity() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        var hasCapacity = false
        let delegate = Recorder()
        let listener = try reactor.listen(on: #require(loopback), hasCapacity: { hasCapacity }) {
            _,
            _ in
            delegate
        }
        var peers: [RawPeer] = []
        for _ in 0..<20 { peers.append(try RawPeer(to: listener.address)) }
        for _ in 0..<5 { reactor.turn(atMost: .milliseconds(20)) }
        #expect(listener.acceptedCount == 0)
        // Nothing else wakes it.
        hasCapacity = true
        reactor.run { listener.acceptedCount == 20 }
        #expect(peers.allSatisfy { $0.read() != nil })
    }

    @Test func stopsListening() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let listener = try reactor.listen(on: #require(loopback)) { _, _ in Recorder() }
        listener.close()
        listener.close()
        #expect(listener.isClosed)
        #expect(throws: SystemError(call: "connect", code: ECONNREFUSED)) {
            try RawPeer(to: listener.address)
        }
    }

    @Test func continuesAfterDescriptorsHaveRunOut() async {
        // In a separate process, because of the limit.
        await #expect(processExitsWith: .success) {
            let reactor = try Reactor.forTest()
            defer { reactor.shutDown() }
            let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
            let delegate = Recorder()
            let listener = try reactor.listen(on: address) { _, _ in delegate }
            var peers: [RawPeer] = []
            for _ in 0..<40 { peers.append(try RawPeer(to: listener.address)) }
            // About ten more: other threads of the process have descriptors too.
            let next = try FileDescriptor(dup(0), from: "dup").raw
            var limit = rlimit(rlim_cur: rlim_t(next + 10), rlim_max: 4_096)
            try SystemError.check(setrlimit(__rlimit_resource_t(7), &limit), "setrlimit")
            reactor.run { listener.acceptedCount + listener.refusedCount == 40 }
            let accepted = listener.acceptedCount
            #expect((1...20).contains(accepted))
            // The refused connections were closed.
            reactor.run { peers.filter { $0.read() == nil }.count == 40 - accepted }
            // Without work the loop waits; it does not spin.
            var turns = 0
            let end = MonotonicTime.current.advanced(by: .milliseconds(200))
            while MonotonicTime.current < end {
                reactor.poll(atMost: .milliseconds(50))
                reactor.flush()
                turns += 1
            }
            #expect(turns < 20)
            // When descriptors are free again, the next connection is accepted.
            peers = []
            reactor.run { reactor.streamCount == 0 }
            let late = try RawPeer(to: listener.address)
            reactor.run { listener.acceptedCount == accepted + 1 }
            late.write([1])
            reactor.run { !delegate.received.isEmpty }
        }
    }

    // MARK: Unix-domain sockets

    private func temporaryPath() -> String {
        "/tmp/fanfare-net-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
    }

    @Test func listensOnAUnixSocketAndRemovesItsFile() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let path = temporaryPath()
        let listener = try reactor.listen(on: .unix(path: path)) { _, _ in Recorder.echo() }
        #expect(listener.address == .unix(path: path))
        let client = Recorder()
        let stream = try reactor.connect(
            to: listener.address,
            timeout: .seconds(5),
            delegate: client
        )
        stream.write([1, 2, 3])
        reactor.run { client.received == [1, 2, 3] }
        // The path is in use.
        #expect(throws: SystemError(call: "bind", code: EADDRINUSE)) {
            try reactor.listen(on: .unix(path: path)) { _, _ in Recorder() }
        }
        listener.close()
        #expect(access(path, F_OK) != 0)
    }

    @Test func replacesAStaleSocketFileAndNothingElse() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let path = temporaryPath()
        defer { unlink(path) }
        // A listener that did not remove its file.
        do { _ = try Socket.listen(on: .unix(path: path), backlog: 1, reusePort: false) }
        #expect(access(path, F_OK) == 0)
        let listener = try reactor.listen(on: .unix(path: path)) { _, _ in Recorder() }
        // Another listener's file at the path is not removed.
        unlink(path)
        let file = open(path, O_CREAT | O_WRONLY, 0o600)
        _ = close(file)
        listener.close()
        #expect(access(path, F_OK) == 0)
        #expect(throws: SystemError(call: "bind", code: EADDRINUSE)) {
            try reactor.listen(on: .unix(path: path)) { _, _ in Recorder() }
        }
        #expect(access(path, F_OK) == 0)
    }

    @Test(arguments: ["", String(repeating: "x", count: 108), "a\0b"])
    func refusesABadPath(path: String) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        #expect(throws: SystemError.self) {
            try reactor.listen(on: .unix(path: path)) { _, _ in Recorder() }
        }
    }
}
