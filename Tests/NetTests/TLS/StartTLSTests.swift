import Testing

@testable import Net

/// A proxy that opens a tunnel to a TLS server on request.
private final class Relay {
    let listener: Listener
    /// Whether it sends nothing after that.
    var isDeaf = false
    private var keep: [Recorder] = []

    init(to target: SocketAddress, reactor: Reactor) throws {
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        var accept: (Stream) -> any StreamDelegate = { _ in Recorder() }
        listener = try reactor.listen(on: address) { stream, _ in accept(stream) }
        accept = { [unowned self] near in
            let (front, back) = (Recorder(), Recorder())
            keep += [front, back]
            let far = try? reactor.connect(to: target, timeout: .seconds(5), delegate: back)
            var isTunnel = false
            front.onBytes = { [unowned self] _, bytes in
                if isTunnel {
                    if !isDeaf { far?.write(bytes) }
                } else {
                    isTunnel = true
                    near.write(Array("ready".utf8))
                }
                return bytes.count
            }
            back.onBytes = { _, bytes in
                near.write(bytes)
                return bytes.count
            }
            return front
        }
    }
}

@Suite("TLS that begins on an open stream") struct StartTLSTests {
    private func trusting() throws -> TLSContext {
        try TLSContext.client(trust: .pem(Certificates.localhost.certificatePEM))
    }

    /// A client that requests a tunnel, and starts TLS when it is open.
    private func stream(
        by relay: Relay,
        _ reactor: Reactor,
        _ client: Recorder,
        _ context: TLSContext,
        name: String = "localhost",
        timeout: Duration = .seconds(10)
    ) throws -> Stream {
        client.onOpen = { stream in
            guard !stream.isSecure else { return }
            stream.write(Array("open".utf8))
        }
        client.onBytes = { stream, bytes in
            guard !stream.isSecure, bytes == Array("ready".utf8) else { return bytes.count }
            stream.startTLS(context, serverName: name, timeout: timeout)
            return bytes.count
        }
        return try reactor.connect(
            to: relay.listener.address,
            timeout: .seconds(10),
            delegate: client
        )
    }

    @Test func opensTheStreamOnceMore() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let relay = try Relay(to: pair.listener.address, reactor: reactor)
        let stream = try stream(by: relay, reactor, pair.client, trusting())
        reactor.run { pair.client.openedCount == 2 }
        #expect(stream.isOpen && stream.isSecure)
        #expect(stream.negotiatedTLS?.version == "TLSv1.3")
        let sent = pattern(300_000)
        stream.write(sent)
        reactor.run { pair.client.received.count == sent.count + 5 }
        #expect(pair.client.received == Array("ready".utf8) + sent)
        #expect(pair.accepted.streams[0].negotiatedTLS?.serverName == "localhost")
        // Already encrypted: a second call does nothing.
        stream.startTLS(try trusting(), serverName: "other", timeout: .seconds(1))
        stream.write([1])
        reactor.run { pair.client.received.count == sent.count + 6 }
        #expect(!pair.client.isClosed)
    }

    @Test func isRefusedToAnotherHost() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let relay = try Relay(to: pair.listener.address, reactor: reactor)
        _ = try stream(by: relay, reactor, pair.client, trusting(), name: "example.com")
        reactor.run { pair.client.isClosed }
        guard case .tls(.untrusted(let reason)) = pair.client.error else {
            Issue.record("\(String(describing: pair.client.error))")
            return
        }
        #expect(reason.contains("mismatch"))
        #expect(pair.client.openedCount == 1)
    }

    @Test func endsWhenThePeerAnswersInPlain() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let (client, server) = (Recorder(), Recorder.echo())
        let streams = try reactor.pair(client, server)
        reactor.run { streams.left.isOpen }
        // Its bytes are sent back unchanged.
        streams.left.startTLS(try trusting(), serverName: "localhost", timeout: .seconds(10))
        reactor.run { client.isClosed }
        guard case .tls = client.error else {
            Issue.record("\(String(describing: client.error))")
            return
        }
    }

    @Test func timesOutWhenThePeerSendsNothing() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let relay = try Relay(to: pair.listener.address, reactor: reactor)
        relay.isDeaf = true
        _ = try stream(
            by: relay,
            reactor,
            pair.client,
            trusting(),
            timeout: .milliseconds(50)
        )
        reactor.run { pair.client.isClosed }
        #expect(pair.client.error == .handshakeTimedOut)
    }

    @Test func isRefusedWhileSomethingWaitsToBeSent() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let client = Recorder()
        // The peer does not read, so a part of it stays in the queue.
        let (stream, peer) = try reactor.streamAndPeer(client)
        stream.write(pattern(8 << 20))
        reactor.settle()
        #expect(stream.queuedByteCount > 0)
        stream.startTLS(try trusting(), serverName: "localhost", timeout: .seconds(10))
        reactor.run { client.isClosed }
        guard case .tls(.refused) = client.error else {
            Issue.record("\(String(describing: client.error))")
            return
        }
        peer.close()
    }

    @Test func doesNothingForAStreamThatIsNotOpen() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let client = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(client)
        stream.abort()
        reactor.run { client.isClosed }
        stream.startTLS(try trusting(), serverName: "localhost", timeout: .seconds(10))
        reactor.settle()
        #expect(!stream.isSecure && client.closedCount == 1)
        peer.close()
    }
}

@Suite("Pinned keys") struct TLSPinsTests {
    /// Returns the result of a connection with these pins.
    private func error(
        _ trust: TLSTrust,
        _ pins: Set<[UInt8]>,
        name: String = "localhost"
    ) throws -> StreamError? {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let context = try TLSContext.client(trust: trust, pins: pins)
        // The second connection has a session to resume.
        for round in 1...2 {
            let stream = try pair.connect(context, name: name)
            stream.write([1])
            reactor.run { pair.client.isClosed || pair.client.received.count == round }
            if pair.client.isClosed { return pair.client.error }
        }
        return nil
    }

    /// Returns the server's keys as reported to a client that has pinned another.
    private func keys(_ trust: TLSTrust) throws -> [[UInt8]] {
        let none = [UInt8](repeating: 0, count: 32)
        guard
            case .tls(.unpinned(let keys)) = try error(trust, [none])
        else { return [] }
        return keys
    }

    private let trusted = TLSTrust.pem(Certificates.localhost.certificatePEM)

    @Test func areReportedWhenNoneIsPinned() throws {
        let keys = try keys(trusted)
        #expect(keys.count == 1 && keys[0].count == 32)
        #expect(try self.keys(.insecure) == keys)
    }

    @Test func acceptAServerWithOneOfThem() throws {
        let own = try #require(try keys(trusted).first)
        let spare = [UInt8](repeating: 7, count: 32)
        for trust in [trusted, .insecure] {
            #expect(try error(trust, [own, spare]) == nil)
            #expect(try error(trust, []) == nil)
        }
    }

    @Test("Pins do not replace the verification of the certificate")
    func takeNothingAway() throws {
        let own = try #require(try keys(trusted).first)
        for (trust, name) in [(TLSTrust.system, "localhost"), (trusted, "example.com")] {
            let error = try error(trust, [own], name: name)
            guard case .tls(.untrusted) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
    }
}
