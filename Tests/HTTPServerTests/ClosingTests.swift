import HTTP1
import Testing

@testable import HTTPServer

@Suite("The end of connections", .timeLimit(.minutes(1))) struct ClosingTests {
    @Test(
        "Persistence, RFC 9112 §9.3",
        arguments: [
            (get("/a", "Connection: close"), "close"),
            ("GET /a HTTP/1.0\r\n\r\n", "close"),
            (
                "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /a HTTP/1.0\r\n\r\n",
                "keep-alive"
            ),
        ]
    )
    func closesWhenTheClientWantsIt(request: String, connection: String) async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            // Requests after the last one are not answered.
            try peer.send(request + get("/never"))
            #expect(
                try peer.response()
                    == Answer(status: 200, text: "GET /a", connection: connection)
            )
            if connection == "keep-alive" { _ = try peer.response() }
            #expect(try peer.receiveToEnd().isEmpty)
        }
    }

    @Test func closesWhenTheAnswerSaysSo() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send(get("/later?1") + get("/last") + get("/never") + get("/release"))
            let other = try Peer(port: port)
            // "/never" and "/release" were read before the answer closed the connection.
            #expect(try peer.response().text == "later 1")
            #expect(try peer.response() == Answer(status: 200, text: "last", connection: "close"))
            #expect(try peer.receiveToEnd().isEmpty)
            try other.send(get("/waiting"))
            #expect(try other.response().text == "0")
        }
    }

    @Test func answersAClientThatHasEndedItsSide() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send(get("/a") + get("/later?1") + get("/later?2"))
            peer.endSending()
            #expect(try peer.response().text == "GET /a")
            try waitUntil("2", other, "/waiting")
            try other.send(get("/release"))
            #expect(try peer.response() == Answer(status: 200, text: "later 1"))
            #expect(
                try peer.response() == Answer(status: 200, text: "later 2", connection: "close")
            )
            #expect(try peer.receiveToEnd().isEmpty)
        }
    }

    @Test func closesWhenTheClientEndsInTheMiddle() async throws {
        try await withServer { port in
            for part in ["", "GET", get("/later").dropLast(2).description, post("/echo", "")] {
                let peer = try Peer(port: port)
                try peer.send(part)
                peer.endSending()
                if part.hasPrefix("POST") { _ = try peer.response() }
                #expect(try peer.receiveToEnd().isEmpty)
            }
        }
    }

    /// A request, and the status of its refusal.
    struct Refusal: CustomTestStringConvertible, Sendable {
        let request: String
        let status: Int

        init(_ request: String, _ status: Int) {
            self.request = request
            self.status = status
        }

        var testDescription: String { "\(status) \(request.prefix(60).debugDescription)" }
    }

    static let refusals: [Refusal] = [
        Refusal("GET / HTTP/1.1\r\n\r\n", 400),
        Refusal("\u{16}\u{3}\u{1}", 400),
        Refusal(post("/echo", "x", "Content-Length: 1"), 400),
        Refusal("POST / HTTP/1.0\r\n\r\n", 411),
        Refusal("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n", 413),
        Refusal("GET /" + String(repeating: "a", count: 9000), 414),
        Refusal(get("/", "Expect: miracles"), 417),
        Refusal(get("/", "X: " + String(repeating: "a", count: 17000)), 431),
        Refusal("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        Refusal("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 501),
        Refusal("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ]

    @Test(arguments: refusals) func answersARefusalAndCloses(_ refusal: Refusal) async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send(get("/good") + refusal.request)
            #expect(try peer.response().text == "GET /good")
            let answer = try peer.response()
            #expect(answer.status == refusal.status)
            #expect(answer.connection == "close")
            #expect(answer.text.hasSuffix("."))
            #expect(try peer.receiveToEnd().isEmpty)
        }
    }

    @Test func deliversARefusalToAClientThatContinuesSending() async throws {
        // Closing a descriptor with unread bytes would reset the connection.
        try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n")
            try peer.send([UInt8](repeating: 0x61, count: 2_000_000))
            #expect(try peer.response().status == 413)
            #expect(try peer.receiveToEnd().isEmpty)
        }
    }

    @Test func refusesAfterALaterAnswer() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send(get("/later?1") + "\n")
            try waitUntil("1", other, "/waiting")
            try other.send(get("/release"))
            #expect(try peer.response().text == "later 1")
            #expect(try peer.response().status == 400)
            #expect(try peer.receiveToEnd().isEmpty)
        }
    }

    // MARK: Time

    @Test func closesAnIdleConnectionSilently() async throws {
        let timeouts = HTTPTimeouts(idle: .milliseconds(50))
        try await withServer(timeouts: timeouts) { port in
            let silent = try Peer(port: port)
            #expect(try silent.receiveToEnd().isEmpty)
            let used = try Peer(port: port)
            try used.send(get("/a"))
            #expect(try used.response().text == "GET /a")
            #expect(try used.receiveToEnd().isEmpty)
        }
    }

    @Test("A request after the announced time is answered, and its answer says that it is the last")
    func answersInTheGrace() async throws {
        let timeouts = HTTPTimeouts(idle: .seconds(1), grace: .seconds(60))
        try await withServer(timeouts: timeouts) { port in
            let silent = try Peer(port: port)
            let used = try Peer(port: port)
            try used.send(get("/a"))
            let first = try used.response()
            #expect(first.keepAlive == "timeout=1")
            #expect(first.connection == nil)
            // The idle timeout has passed for both; the one that was never used is closed by it.
            #expect(try silent.receiveToEnd().isEmpty)
            try used.send(get("/b"))
            let last = try used.response()
            #expect(last.text == "GET /b")
            #expect(last.connection == "close")
            #expect(last.keepAlive == nil)
            #expect(try used.receiveToEnd().isEmpty)
        }
    }

    @Test(
        "The announced time is shorter than the idle timeout",
        arguments: [(75, 70), (30, 28), (10, 9), (2, 1), (1, 1)] as [(Int64, Int64)]
    )
    func announces(idle: Int64, announced: Int64) {
        let timeouts = HTTPTimeouts(idle: .seconds(idle), grace: .seconds(5))
        #expect(timeouts.announcedSeconds == announced)
        #expect(HTTPTimeouts(idle: .seconds(idle)).announcedSeconds == nil)
    }

    @Test(
        "A client that ends its side without an answer keeps its connection for the closing timeout"
    )
    func givesUpWithItsClient() async throws {
        let timeouts = HTTPTimeouts(closing: .milliseconds(100), answer: .seconds(3_600))
        try await withServer(timeouts: timeouts) { port in
            let peer = try Peer(port: port)
            try peer.send(get("/later?1"))
            let other = try Peer(port: port)
            try waitUntil("1", other, "/waiting")
            peer.endSending()
            #expect(try peer.receiveToEnd().isEmpty)
        }
    }

    @Test func closesEachIdleConnectionInItsTime() async throws {
        let timeouts = HTTPTimeouts(idle: .milliseconds(200))
        try await withServer(timeouts: timeouts) { port in
            let early = try Peer(port: port)
            let late = try Peer(port: port)
            try late.send(get("/a"))
            #expect(try late.response().text == "GET /a")
            // Each answer restarts the timeout; the site's check at the early deadline skips the late one.
            while !early.isReadable(within: 0) {
                try late.send(get("/b"))
                #expect(try late.response().text == "GET /b")
            }
            #expect(try early.receiveToEnd().isEmpty)
            #expect(try late.receiveToEnd().isEmpty)
        }
    }

    @Test("408, RFC 9110 §15.5.9", arguments: ["GET / HT", "POST / HTTP/1.1\r\nHost: h\r\n"])
    func refusesAHeadThatDrips(part: String) async throws {
        let timeouts = HTTPTimeouts(head: .milliseconds(100))
        try await withServer(timeouts: timeouts) { port in
            let peer = try Peer(port: port)
            try peer.send(get("/a") + part)
            #expect(try peer.response().text == "GET /a")
            // No byte prolongs the timeout.
            try? peer.send("X")
            while !peer.isReadable(within: 5) { try? peer.send("x") }
            #expect(try peer.response().status == 408)
        }
    }

    @Test func refusesContentThatArrivesTooSlowly() async throws {
        let timeouts = HTTPTimeouts(body: .milliseconds(100))
        try await withServer(timeouts: timeouts) { port in
            let peer = try Peer(port: port)
            try peer.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
            while !peer.isReadable(within: 5) { try? peer.send("x") }
            let answer = try peer.response()
            #expect(answer.status == 408)
            #expect(answer.connection == "close")
        }
    }

    @Test func doesNotTimeOutTheServer() async throws {
        // The client waits for longer than its own timeouts.
        let timeouts = HTTPTimeouts(
            head: .milliseconds(10),
            body: .milliseconds(10),
            idle: .milliseconds(50)
        )
        try await withServer(timeouts: timeouts) { port in
            let peer = try Peer(port: port)
            try peer.send(get("/later?1"))
            // An idle connection accepted later is evicted first.
            let idle = try Peer(port: port)
            #expect(try idle.receiveToEnd().isEmpty)
            let other = try Peer(port: port)
            try other.send(get("/release"))
            #expect(try other.response().text == "released 1")
            #expect(try peer.response().text == "later 1")
        }
    }

    @Test("A connection that is not closed by its client is evicted after a second")
    func closingConnectionsGiveWay() async throws {
        // The closing timeout is longer than the client's.
        let timeouts = HTTPTimeouts(closing: .seconds(60))
        try await withServer(timeouts: timeouts, connectionsMax: 4) { port in
            let closing = try (0..<4).map { _ in
                let peer = try Peer(port: port)
                try peer.send(get("/a", "Connection: close"))
                #expect(try peer.response().text == "GET /a")
                return peer
            }
            let peer = try Peer(port: port)
            try peer.send(get("/b"))
            #expect(try peer.response().text == "GET /b")
            for peer in closing { #expect(try peer.receiveToEnd().isEmpty) }
        }
    }

    @Test("A full site evicts no used connection within its announced time, if there are others")
    func keptConnectionsStay() async throws {
        let timeouts = HTTPTimeouts(idle: .seconds(60), grace: .milliseconds(1))
        try await withServer(timeouts: timeouts, connectionsMax: 16) { port in
            let kept = try (0..<14).map { _ in
                let peer = try Peer(port: port)
                try peer.send(get("/a"))
                #expect(try peer.response().keepAlive == "timeout=56")
                return peer
            }
            // They have waited for longer than these.
            let silent = try (0..<2).map { _ in try Peer(port: port) }
            let peer = try Peer(port: port)
            try peer.send(get("/b"))
            #expect(try peer.response().text == "GET /b")
            for peer in silent { #expect(try peer.receiveToEnd().isEmpty) }
            for peer in kept {
                try peer.send(get("/c"))
                #expect(try peer.response().text == "GET /c")
            }
        }
    }

    @Test("A site that has used connections alone evicts the one that has waited the longest")
    func usedConnectionsGiveWay() async throws {
        let timeouts = HTTPTimeouts(idle: .seconds(60), grace: .milliseconds(1))
        try await withServer(timeouts: timeouts, connectionsMax: 4) { port in
            let kept = try (0..<4).map { _ in
                let peer = try Peer(port: port)
                try peer.send(get("/a"))
                #expect(try peer.response().text == "GET /a")
                return peer
            }
            let peer = try Peer(port: port)
            try peer.send(get("/b"))
            #expect(try peer.response().text == "GET /b")
            #expect(try kept[0].receiveToEnd().isEmpty)
            try kept[3].send(get("/c"))
            #expect(try kept[3].response().text == "GET /c")
        }
    }

    // MARK: Ends that a client can expect

    @Test("When connections are few, an answer ends its connection, so that none has to be evicted")
    func endsConnectionsWhenNearlyFull() async throws {
        try await withServer(connectionsMax: 16) { port in
            let peers = try (1...15).map { number in
                let peer = try Peer(port: port)
                try peer.send(get("/a"))
                #expect(try peer.response().connection == (number < 15 ? nil : "close"))
                return peer
            }
            #expect(try peers[14].receiveToEnd().isEmpty)
            try peers[0].send(get("/b"))
            #expect(try peers[0].response().text == "GET /b")
        }
    }

    @Test("A site that ends answers a request on a kept connection for a moment")
    func finishesAfterAGrace() async throws {
        let timeouts = HTTPTimeouts(grace: .seconds(60))
        try await withServer(timeouts: timeouts) { port in
            let kept = try (0..<2).map { _ in
                let peer = try Peer(port: port)
                try peer.send(get("/a"))
                _ = try peer.response()
                return peer
            }
            let unused = try Peer(port: port)
            let last = try Peer(port: port)
            try last.send(get("/finish"))
            #expect(try last.response().connection == "close")
            try kept[0].send(get("/b"))
            let answer = try kept[0].response()
            #expect(answer.text == "GET /b" && answer.connection == "close")
            for peer in kept + [unused] { #expect(try peer.receiveToEnd().isEmpty) }
        }
    }

    // MARK: Shutdown of the site

    @Test func finishes() async throws {
        try await withServer { port in
            let idle = try Peer(port: port)
            try idle.send(get("/a"))
            _ = try idle.response()
            let waiting = try Peer(port: port)
            try waiting.send(get("/later?1") + get("/later?2"))
            let other = try Peer(port: port)
            try waitUntil("2", other, "/waiting")
            let last = try Peer(port: port)
            try last.send(get("/finish"))
            #expect(
                try last.response()
                    == Answer(status: 200, text: "finishing", connection: "close")
            )
            #expect(try idle.receiveToEnd().isEmpty)
            #expect(try other.receiveToEnd().isEmpty)
            // A connection accepted later gets one answer.
            let late = try Peer(port: port)
            try late.send(get("/release") + get("/never"))
            #expect(
                try late.response()
                    == Answer(status: 200, text: "released 2", connection: "close")
            )
            #expect(try late.receiveToEnd().isEmpty)
            #expect(try waiting.response() == Answer(status: 200, text: "later 1"))
            #expect(
                try waiting.response() == Answer(status: 200, text: "later 2", connection: "close")
            )
            #expect(try waiting.receiveToEnd().isEmpty)
        }
    }
}
