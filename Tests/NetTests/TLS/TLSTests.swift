import COpenSSL
import Testing

@testable import Net

/// The certificates, made once because key generation is slow.
enum Certificates {
    static let localhost = made(["localhost", "127.0.0.1", "::1"])
    static let example = made(["*.example.com", "example.com"])
    static let api = made(["api.example.com"])

    private static func made(_ hosts: [String]) -> TLSCertificate {
        do {
            let (certificate, key) = try DevelopmentCertificate.make(hosts: hosts, days: 1)
            return TLSCertificate(certificatePEM: certificate, keyPEM: key)
        } catch {
            preconditionFailure("no certificate: \(error)")
        }
    }
}

/// A server and a client on one reactor.
struct SecurePair {
    let reactor: Reactor
    let server = Recorder.echo()
    let client = Recorder()
    let listener: Listener
    let accepted = Accepted()

    final class Accepted {
        var streams: [Stream] = []
    }

    init(
        _ context: TLSContext,
        reactor: Reactor,
        limits: StreamLimits = .init()
    ) throws {
        self.reactor = reactor
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        listener = try reactor.listen(on: address, tls: context, streamLimits: limits) {
            [accepted, server] stream, _ in
            accepted.streams.append(stream)
            return server
        }
    }

    func connect(_ context: TLSContext, name: String = "localhost") throws -> Stream {
        try reactor.connect(
            to: listener.address,
            tls: (context, name),
            timeout: .seconds(10),
            delegate: client
        )
    }
}

@Suite("TLS over real sockets") struct TLSTests {
    private func trusting(_ certificate: TLSCertificate = Certificates.localhost) throws
        -> TLSContext
    {
        try TLSContext.client(trust: .pem(certificate.certificatePEM))
    }

    @Test(arguments: [(TLS1_2_VERSION, "TLSv1.2"), (TLS1_3_VERSION, "TLSv1.3")])
    func echoesUnderBothVersions(version: Int32, name: String) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let context = try trusting()
        context.limitVersions(version...version)
        let stream = try pair.connect(context)
        // Written before the handshake, so it waits.
        stream.write(Array("hello".utf8))
        reactor.run { pair.client.received.count == 5 }
        #expect(pair.client.received == Array("hello".utf8))
        let facts = try #require(stream.negotiatedTLS)
        #expect(facts.version == name)
        #expect(facts.applicationProtocol == "http/1.1")
        #expect(!facts.isResumed)
        #expect(stream.isSecure)
        #expect(pair.accepted.streams[0].negotiatedTLS?.serverName == "localhost")
        // close_notify in both directions: each side sees an end without an error.
        stream.close(within: .seconds(5))
        reactor.run { pair.client.isClosed && pair.server.isClosed }
        #expect(pair.client.error == nil && pair.server.error == nil)
        #expect(pair.server.endCount == 1)
    }

    /// The server is served without an event for the client's bytes, as after a write that became
    /// possible just before: one recv then reads the Finished message and the bytes after it.
    @Test func deliversBytesReadTogetherWithTheEndOfTheHandshake() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let stream = try pair.connect(trusting())
        stream.write(Array("hello".utf8))
        reactor.run { pair.client.openedCount == 1 && stream.queuedByteCount == 0 }
        let accepted = pair.accepted.streams[0]
        #expect(accepted.phase == .handshaking)
        accepted.flags.remove(.readable)
        accepted.serve()
        #expect(accepted.phase == .open)
        reactor.run { pair.client.received.count == 5 }
        #expect(pair.client.received == Array("hello".utf8))
    }

    @Test func prefersTheCheaperCipher() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        for (version, cipher) in [
            (TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256"),
            (TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256"),
        ] {
            let context = try trusting()
            context.limitVersions(version...version)
            let stream = try pair.connect(context)
            reactor.run { stream.isOpen }
            #expect(stream.negotiatedTLS?.cipher == cipher)
        }
    }

    @Test func carriesALargeTransfer() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let stream = try pair.connect(trusting())
        let bytes = pattern(3 << 20)
        var (start, size) = (0, 1)
        while start < bytes.count {
            let end = min(start + size, bytes.count)
            stream.write(Array(bytes[start..<end]))
            start = end
            size = size * 3 % 50_021
        }
        reactor.run { pair.client.received.count >= bytes.count }
        #expect(pair.client.received.elementsEqual(bytes))
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func resumesASession(version: Int32) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let server = try TLSContext.server([Certificates.localhost])
        let context = try trusting()
        context.limitVersions(version...version)
        for attempt in 0..<3 {
            let pair = try SecurePair(server, reactor: reactor)
            let stream = try pair.connect(context)
            stream.write([1])
            reactor.run { pair.client.received.count == 1 }
            #expect(stream.negotiatedTLS?.isResumed == (attempt > 0))
            #expect(pair.accepted.streams[0].negotiatedTLS?.isResumed == (attempt > 0))
            stream.close(within: .seconds(5))
            reactor.run { pair.client.isClosed && pair.server.isClosed }
            pair.listener.close()
        }
    }

    @Test(
        "A listener with a new certificate: old streams go on, new ones get it, old tickets do no harm",
        arguments: [TLS1_2_VERSION, TLS1_3_VERSION]
    )
    func presentsAnotherCertificate(version: Int32) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let context = try trusting()
        context.limitVersions(version...version)
        let old = try pair.connect(context)
        old.write([1])
        reactor.run { pair.client.received == [1] }
        // A connection whose handshake has begun keeps its context.
        let shaking = try pair.connect(context)
        reactor.run { pair.accepted.streams.count == 2 }

        // A second key for the same names, which the client also trusts.
        let (certificate, key) = try DevelopmentCertificate.make(hosts: ["localhost"], days: 1)
        let renewed = TLSCertificate(certificatePEM: certificate, keyPEM: key)
        pair.listener.updateTLS(try .server([renewed]))
        shaking.write([2])
        reactor.run { pair.client.received == [1, 2] }
        old.write([3])
        reactor.run { pair.client.received == [1, 2, 3] }
        #expect(old.isOpen && shaking.isOpen)

        // The session of the old certificate is offered but not resumed: the full handshake uses the new one.
        let outsider = try pair.connect(context)
        reactor.run { !outsider.isOpen && pair.client.isClosed }
        guard case .tls(.untrusted) = pair.client.error else {
            Issue.record("\(String(describing: pair.client.error))")
            return
        }
        let informed = try trusting(renewed)
        informed.limitVersions(version...version)
        for isResumed in [false, true] {
            let stream = try pair.connect(informed)
            let count = pair.client.received.count
            stream.write([4])
            reactor.run { pair.client.received.count == count + 1 }
            #expect(stream.negotiatedTLS?.isResumed == isResumed)
        }
    }

    @Test(
        "A session from before a new certificate leads to a whole handshake, not to a fault",
        arguments: [TLS1_2_VERSION, TLS1_3_VERSION]
    )
    func resumesNothingAcrossCertificates(version: Int32) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let context = try TLSContext.client(
            trust: .pem(Certificates.localhost.certificatePEM + Certificates.example.certificatePEM)
        )
        context.limitVersions(version...version)
        var facts: [Bool?] = []
        for round in 0..<4 {
            if round == 2 { pair.listener.updateTLS(try .server([Certificates.localhost])) }
            let stream = try pair.connect(context)
            stream.write([UInt8(round)])
            reactor.run { pair.client.received.count == round + 1 || pair.client.isClosed }
            facts.append(stream.negotiatedTLS?.isResumed)
        }
        #expect(facts == [false, true, false, true])
        #expect(pair.client.error == nil && pair.server.error == nil)
    }

    @Test(arguments: [
        ("api.example.com", Certificates.api), ("www.example.com", Certificates.example),
        ("example.com", Certificates.example), ("localhost", Certificates.localhost),
    ])
    func choosesTheCertificateByName(name: String, expected: TLSCertificate) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(
            .server([Certificates.localhost, Certificates.example, Certificates.api]),
            reactor: reactor
        )
        // The client trusts only the expected certificate, which proves that it was the one presented.
        let stream = try pair.connect(trusting(expected), name: name)
        stream.write([1])
        reactor.run { pair.client.received.count == 1 || pair.client.isClosed }
        #expect(pair.client.error == nil)
        #expect(pair.client.received == [1])
        #expect(stream.negotiatedTLS?.applicationProtocol == "http/1.1")
    }

    @Test func givesAnUnknownNameTheFirstCertificate() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(
            .server([Certificates.localhost, Certificates.api]),
            reactor: reactor
        )
        // For an IP address the client sends no server name.
        let stream = try pair.connect(trusting(), name: "127.0.0.1")
        stream.write([1])
        reactor.run { pair.client.received.count == 1 || pair.client.isClosed }
        #expect(pair.client.received == [1])
        #expect(pair.accepted.streams[0].negotiatedTLS?.serverName == nil)
    }

    @Test(arguments: ["other.example", "a.b.example.com", "127.0.0.2"])
    func refusesAnotherHostsCertificate(name: String) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.example]), reactor: reactor)
        _ = try pair.connect(trusting(Certificates.example), name: name)
        reactor.run { pair.client.isClosed && pair.server.isClosed }
        guard case .tls(.untrusted) = pair.client.error else {
            Issue.record("\(String(describing: pair.client.error))")
            return
        }
        #expect(pair.client.openedCount == 0)
    }

    @Test func refusesAnUntrustedCertificateUnlessInsecure() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        _ = try pair.connect(TLSContext.client())
        reactor.run { pair.client.isClosed && pair.server.isClosed }
        guard case .tls(.untrusted) = pair.client.error else {
            Issue.record("\(String(describing: pair.client.error))")
            return
        }
        // The client's alert reached the server before the connection ended.
        guard case .tls(.refused(let reason)) = pair.server.error else {
            Issue.record("\(String(describing: pair.server.error))")
            return
        }
        #expect(reason.contains("unknown ca"))
        let other = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let stream = try other.connect(TLSContext.client(trust: .insecure), name: "wrong.name")
        stream.write([7])
        reactor.run { other.client.received == [7] }
    }

    @Test func refusesGarbageInsteadOfAClientHello() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let peer = try RawPeer(to: pair.listener.address)
        peer.write(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        reactor.run { pair.server.isClosed }
        #expect(pair.server.error == .tls(.plaintext))
        #expect(pair.server.openedCount == 0)
    }

    @Test func endsAHandshakeThatTakesTooLong() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(
            .server([Certificates.localhost]),
            reactor: reactor,
            limits: StreamLimits(handshakeTimeout: .milliseconds(30))
        )
        let peer = try RawPeer(to: pair.listener.address)
        peer.write([0x16, 3, 1])
        reactor.run { pair.server.isClosed }
        #expect(pair.server.error == .handshakeTimedOut)
        #expect(peer.hasEnded)
    }

    /// The first bytes of a client's handshake.
    private func clientHello(_ reactor: Reactor) throws -> [UInt8] {
        let (server, client) = (Recorder(), Recorder())
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let listener = try reactor.listen(on: address) { _, _ in server }
        let stream = try reactor.connect(
            to: listener.address,
            tls: (TLSContext.client(trust: .insecure), "localhost"),
            timeout: .seconds(10),
            delegate: client
        )
        reactor.run { server.received.count > 100 }
        listener.close()
        stream.abort()
        reactor.settle()
        return server.received
    }

    @Test("A server allocates no session before a client's first record is complete")
    func beginsWithAWholeRecord() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let hello = try clientHello(reactor)
        #expect(hello.count == 5 + (Int(hello[3]) << 8 | Int(hello[4])))
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        for cut in [0, 1, 4, 5, 6, hello.count / 2, hello.count - 1, hello.count] {
            let peer = try RawPeer(to: pair.listener.address)
            peer.write(Array(hello[..<cut]))
            let count = pair.accepted.streams.count
            reactor.run { pair.accepted.streams.count == count + 1 }
            reactor.settle()
            let session = try #require(pair.accepted.streams.last?.tls)
            #expect(session.hasBegun == (cut == hello.count), "cut at \(cut)")
            peer.write(Array(hello[cut...]))
            var answer: [UInt8] = []
            reactor.run {
                answer += peer.read() ?? []
                return answer.count > 5
            }
            // A ServerHello.
            #expect(answer[0] == 22 && answer[5] == 2)
        }
    }

    @Test(
        "What is no record of a handshake is refused at once",
        arguments: [[0x15], [0x80, 0x2E], [22, 3, 1, 0x40, 1], [22, 3, 1, 0, 0]]
    )
    func refusesOtherFirstBytes(bytes: [UInt8]) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let peer = try RawPeer(to: pair.listener.address)
        peer.write(bytes)
        reactor.run {
            pair.accepted.streams.first?.tls?.hasBegun == true || pair.server.isClosed
        }
        #expect(pair.server.openedCount == 0)
    }

    @Test("Silent peers time out without disturbing other connections")
    func dropsManySilentPeers() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let timeout = Duration.milliseconds(300)
        let pair = try SecurePair(
            .server([Certificates.localhost]),
            reactor: reactor,
            limits: StreamLimits(handshakeTimeout: timeout)
        )
        let start = MonotonicTime.current
        var peers: [RawPeer] = []
        for number in 0..<100 {
            let peer = try RawPeer(to: pair.listener.address)
            // Nothing, or the beginning of a ClientHello.
            if number % 2 == 0 { peer.write([0x16, 3, 1, 2, 0, 1]) }
            peers.append(peer)
        }
        let stream = try pair.connect(trusting())
        stream.write([1])
        reactor.run { pair.client.received == [1] }
        #expect(pair.server.openedCount == 1)
        reactor.run { pair.server.closedCount == 100 }
        #expect(start.duration(to: .current) >= timeout)
        #expect(pair.server.error == .handshakeTimedOut)
        for peer in peers { #expect(peer.hasEnded) }
        // Only the silent peers timed out.
        stream.write([2])
        reactor.run { pair.client.received == [1, 2] }
        #expect(reactor.streamCount == 2)
    }

    @Test func manyHandshakesAreSpreadOverTurns() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        for _ in 0..<40 { _ = try pair.connect(trusting()) }
        var most = 0
        reactor.run {
            let before = pair.server.openedCount
            reactor.turn(atMost: .milliseconds(10))
            most = max(most, pair.server.openedCount - before)
            return pair.server.openedCount == 40 && pair.client.openedCount == 40
        }
        #expect((1...8).contains(most))
    }

    @Test func noticesAPeerThatLeavesInTheHandshake() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let peer = try RawPeer(to: pair.listener.address)
        peer.write([0x16, 3, 1])
        peer.close()
        reactor.run { pair.server.isClosed }
        #expect(pair.server.error == .tls(.endedInHandshake))
    }

    @Test func takesAnEndWithoutCloseNotifyForAnEnd() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let pair = try SecurePair(.server([Certificates.localhost]), reactor: reactor)
        let stream = try pair.connect(trusting())
        stream.write([1])
        reactor.run { pair.client.received.count == 1 }
        stream.abort()
        reactor.run { pair.server.isClosed }
        #expect(pair.server.endCount == 1)
        #expect(pair.server.error == nil)
    }

    @Test func retriesARefusedWriteWithTheSameBytes() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let context = try TLSContext.server([Certificates.localhost])
        let pair = try SecurePair(context, reactor: reactor)
        let stream = try pair.connect(trusting())
        stream.write([1])
        reactor.run { pair.client.received.count == 1 }
        stream.pauseReading()
        let sender = pair.accepted.streams[0]
        let frame = pattern(40_000)
        // Until the kernel refuses bytes, and then some more.
        reactor.run {
            sender.write(frame)
            return sender.flags.contains(.blocked)
        }
        for _ in 0..<10 { sender.write(frame) }
        let queued = sender.queuedByteCount
        sender.discardQueue()
        #expect(sender.queuedByteCount < queued)
        sender.write(Array("last words".utf8))
        stream.resumeReading()
        reactor.run { pair.client.received.suffix(10) == Array("last words".utf8) }
        // Whole frames, then the last message: no frame is truncated.
        #expect((pair.client.received.count - 11) % frame.count == 0)
        #expect(pair.client.error == nil)
    }

    @Test func explainsWrongCertificatesAndKeys() throws {
        let good = Certificates.localhost
        let bad = Array("no PEM here".utf8)
        #expect(throws: TLSError.noCertificates) { try TLSContext.server([TLSCertificate]()) }
        #expect {
            try TLSContext.server([TLSCertificate(certificatePEM: bad, keyPEM: good.keyPEM)])
        } throws: {
            if case TLSError.noCertificate = $0 { true } else { false }
        }
        #expect {
            try TLSContext.server([TLSCertificate(certificatePEM: good.certificatePEM, keyPEM: bad)]
            )
        } throws: {
            if case TLSError.noKey = $0 { true } else { false }
        }
        #expect {
            try TLSContext.server([
                TLSCertificate(
                    certificatePEM: good.certificatePEM,
                    keyPEM: Certificates.api.keyPEM
                )
            ])
        } throws: {
            if case TLSError.keyMismatch = $0 { true } else { false }
        }
        #expect {
            try TLSContext.server([CertificateFiles(certificate: "/no/such", key: "/no/such")])
        } throws: {
            if case TLSError.unreadable("/no/such", _) = $0 { true } else { false }
        }
    }

    @Test(arguments: ["", "a,b", "a b", "https://localhost"])
    func makesNoCertificateForABadHost(host: String) {
        #expect(throws: TLSError.badHost(host)) { try DevelopmentCertificate.make(hosts: [host]) }
    }
}
