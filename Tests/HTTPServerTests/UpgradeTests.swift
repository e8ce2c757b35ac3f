import HTTP1
import HTTPServer
import Testing

@Suite("Upgrades, RFC 9110 §7.8", .timeLimit(.minutes(1))) struct UpgradeTests {
    static let switching = "HTTP/1.1 101 Shouting\r\n\r\nHELLO;"

    private static func upgrade(_ path: String) -> String {
        get(path, "Connection: Upgrade", "Upgrade: shouting")
    }

    @Test func passesOnTheStreamAndItsUnreadBytes() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send(get("/a") + Self.upgrade("/upgrade") + "get / http/1.1\r\n\r\n")
            #expect(try peer.response().text == "GET /a")
            let expected = Self.switching + "GET / HTTP/1.1\r\n\r\n"
            #expect(try peer.receive(count: expected.utf8.count) == Array(expected.utf8))
            try peer.send("more")
            #expect(try peer.receive(count: 4) == Array("MORE".utf8))
            // The HTTP connection has ended.
            let other = try Peer(port: port)
            try other.send(get("/connections"))
            #expect(try other.response().text == "1")
        }
    }

    @Test func greetsAfterEarlierAnswers() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send(get("/a") + Self.upgrade("/upgrade-greeting") + "x")
            #expect(try peer.response().text == "GET /a")
            let expected = "HTTP/1.1 101 Shouting\r\n\r\nWelcome, HELLO;X"
            #expect(try peer.receive(count: expected.utf8.count) == Array(expected.utf8))
        }
    }

    static let refusal = Array("HTTP/1.1 101 Shouting\r\n\r\nGo away.".utf8)

    @Test("Draining streams are aborted for new connections, oldest first")
    func refusedClientsGiveWay() async throws {
        try await withServer(connectionsMax: 4) { port in
            var refused: [Peer] = []
            for _ in 0..<200 {
                let peer = try Peer(port: port)
                try peer.send(Self.upgrade("/upgrade-refused"))
                #expect(try peer.receive(count: Self.refusal.count) == Self.refusal)
                refused.append(peer)
            }
            let peer = try Peer(port: port)
            try peer.send(get("/connections"))
            #expect(1...4 ~= Int(try peer.response().text) ?? 0)
            for (number, peer) in refused.enumerated() where number < 197 {
                #expect(try peer.receiveToEnd().isEmpty)
            }
            // A closed stream no longer counts.
            refused = []
            try waitUntil("1", peer, "/connections")
        }
    }

    @Test("Bytes of a refused client are dropped") func dropsWhatARefusedClientSends()
        async throws
    {
        try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send(Self.upgrade("/upgrade-refused") + get("/never"))
            #expect(try peer.receive(count: Self.refusal.count) == Self.refusal)
            try peer.send([UInt8](repeating: 0, count: 1 << 20))
            #expect(try peer.receiveToEnd().isEmpty)
            try waitUntil("2", other, "/connections")
            peer.endSending()
            try waitUntil("1", other, "/connections")
        }
    }

    @Test func upgradesAtEverySplit() async throws {
        try await withServer { port in
            let bytes = Array((get("/a") + Self.upgrade("/upgrade") + "x").utf8)
            for cut in bytes.indices {
                let peer = try Peer(port: port)
                try peer.send(Array(bytes[..<cut]))
                try peer.send(Array(bytes[cut...]))
                #expect(try peer.response().text == "GET /a")
                let expected = Self.switching + "X"
                #expect(try peer.receive(count: expected.utf8.count) == Array(expected.utf8))
            }
        }
    }

    @Test func waitsForEarlierAnswersAndForTheDecision() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send(get("/later?1") + Self.upgrade("/upgrade-later") + get("/a"))
            try waitUntil("2", other, "/waiting")
            try other.send(get("/release"))
            #expect(try peer.response().text == "later 1")
            let expected = Self.switching + get("/a").uppercased()
            #expect(try peer.receive(count: expected.utf8.count) == Array(expected.utf8))
        }
    }

    @Test func staysOpenWhenTheUpgradeIsDenied() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send(Self.upgrade("/no-upgrade-later") + get("/a"))
            try waitUntil("1", other, "/waiting")
            try other.send(get("/release"))
            #expect(try peer.response().status == 426)
            #expect(try peer.response().text == "GET /a")
            // Denied at once.
            try peer.send(Self.upgrade("/b") + get("/c"))
            #expect(try peer.texts(2) == ["GET /b", "GET /c"])
        }
    }

    @Test func upgradesAfterLaterAnswers() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send(get("/later?1") + Self.upgrade("/upgrade") + get("/a"))
            try waitUntil("1", other, "/waiting")
            try other.send(get("/release"))
            #expect(try peer.response().text == "later 1")
            let expected = Self.switching + get("/a").uppercased()
            #expect(try peer.receive(count: expected.utf8.count) == Array(expected.utf8))
        }
    }
}
