import Glibc
import HTTP1
import Net
import Testing

@testable import HTTPServer

@Suite("Connections over sockets", .timeLimit(.minutes(1))) struct ConnectionTests {
    @Test func answersARequestThatArrivesByteByByte() async throws {
        let answer = try await withServer { port in
            let peer = try Peer(port: port)
            for byte in Array(post("/echo", "hello").utf8) { try peer.send([byte]) }
            return try peer.response()
        }
        #expect(answer == Answer(status: 200, text: "hello"))
    }

    @Test("Pipelining, RFC 9112 §9.3.2") func answersPipelinedRequestsInOrder() async throws {
        let texts = try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send(post("/echo", "1") + get("/a?b") + post("/echo", "3") + get("/c"))
            return try peer.texts(4)
        }
        #expect(texts == ["1", "GET /a?b", "3", "GET /c"])
    }

    @Test func keepsTheOrderOfLaterAnswers() async throws {
        let texts = try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send(
                get("/later?1") + get("/now") + get("/later?2") + get("/release") + get("/end")
            )
            return try peer.texts(5)
        }
        #expect(texts == ["later 1", "GET /now", "later 2", "released 2", "GET /end"])
    }

    @Test func answersFromAnotherConnectionsTurn() async throws {
        let texts = try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send(get("/later?x"))
            try waitUntil("1", other, "/waiting")
            try other.send(get("/release"))
            let released = try other.texts(1)
            let later = try peer.texts(1)
            // The connection stays open.
            try peer.send(get("/more"))
            return try released + later + peer.texts(1)
        }
        #expect(texts == ["released 1", "later x", "GET /more"])
    }

    @Test func dropsASecondAnswer() async throws {
        let texts = try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send(get("/twice") + get("/x"))
            return try peer.texts(2)
        }
        #expect(texts == ["once", "GET /x"])
    }

    @Test("A retained exchange is not reused") func dropsASecondAnswerMuchLater()
        async throws
    {
        let texts = try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send(get("/once") + get("/later?x"))
            try waitUntil("1", other, "/waiting")
            try other.send(get("/again") + get("/release"))
            return try other.texts(2) + peer.texts(2)
        }
        #expect(texts == ["dropped", "released 1", "once", "later x"])
    }

    @Test func stopsReadingAtTooManyUnansweredRequests() async throws {
        let counts = try await withServer(unansweredMax: 4) { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send((0..<10).map { get("/later?\($0)") }.joined())
            var counts: [String] = []
            for expected in ["4", "4", "2"] {
                try waitUntil(expected, other, "/waiting")
                // Further turns of the loop read no more requests.
                for _ in 0..<3 { try other.send(get("/waiting")) }
                counts += Set(try other.texts(3)).sorted()
                try other.send(get("/release"))
                _ = try other.response()
            }
            return try counts + peer.texts(10)
        }
        #expect(counts == ["4", "4", "2"] + (0..<10).map { "later \($0)" })
    }

    @Test("HEAD, RFC 9110 §9.3.2") func leavesOutTheContentForHEAD() async throws {
        let answers = try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send("HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n" + get("/y"))
            return try [peer.response(to: .head), peer.response()]
        }
        #expect(answers == [Answer(status: 200), Answer(status: 200, text: "GET /y")])
    }

    @Test("Expect, RFC 9110 §10.1.1") func sendsContinue() async throws {
        let answers = try await withServer { port in
            let peer = try Peer(port: port)
            let request = Array(post("/echo", "hello", "Expect: 100-continue").utf8)
            try peer.send(Array(request.dropLast(5)))
            let interim = try peer.receive(count: Response.continue.count)
            #expect(interim == Response.continue)
            try peer.send("hello")
            let waited = try peer.response()
            // A client that does not wait gets none.
            try peer.send(request)
            return try [waited, peer.response()]
        }
        #expect(
            answers == [Answer(status: 200, text: "hello"), Answer(status: 200, text: "hello")]
        )
    }

    @Test func sendsContinueAfterEarlierAnswers() async throws {
        let answers = try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            let request = Array(post("/echo", "hello", "Expect: 100-continue").utf8)
            try peer.send(Array(get("/later?1").utf8) + request.dropLast(5))
            try waitUntil("1", other, "/waiting")
            try other.send(get("/release"))
            let later = try peer.response()
            let interim = try peer.receive(count: Response.continue.count)
            #expect(interim == Response.continue)
            try peer.send("hello")
            return try [later, peer.response()]
        }
        #expect(
            answers == [Answer(status: 200, text: "later 1"), Answer(status: 200, text: "hello")]
        )
    }

    @Test func refusesBeforeTheContentArrives() async throws {
        let answers = try await withServer { port in
            let peer = try Peer(port: port)
            // Without content the connection stays open.
            try peer.send(get("/forbidden") + get("/x"))
            var answers = try [peer.response(), peer.response()]
            let request = Array(post("/forbidden", "hello", "Expect: 100-continue").utf8)
            try peer.send(Array(request.dropLast(5)))
            answers.append(try peer.response())
            #expect(try peer.receiveToEnd().isEmpty)
            return answers
        }
        #expect(
            answers == [
                Answer(status: 403, text: "no entry"), Answer(status: 200, text: "GET /x"),
                Answer(status: 403, text: "no entry", connection: "close"),
            ]
        )
    }

    @Test func sendsManyAnswersAtTheSpeedOfTheClient() async throws {
        // 40 MB of answers, far more than may be queued, to a client that requests all at once.
        let count = try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send((0..<200).map { _ in get("/large") }.joined() + get("/last"))
            var count = 0
            for _ in 0..<200 { count += try peer.response().text.utf8.count }
            #expect(try peer.response().text == "last")
            return count
        }
        #expect(count == 40_000_000)
    }

    @Test("A connection uses one timer to wait for its client to read")
    func keepsOneTimer() async throws {
        let reactor = try Reactor(loop: try EventLoop(name: "timers"))
        defer { reactor.shutDown() }
        let connection = HTTPConnection(site: HTTPSite(reactor: reactor, responder: Script()))
        for _ in 0..<1_000 {
            connection.awaitDrain()
            connection.queueDrained()
        }
        connection.awaitDrain()
        #expect(reactor.timerCount == 1)
        // The same over a socket, whose client alternates between reading and not reading.
        let counts = try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send((0..<200).map { _ in get("/large") }.joined())
            return try (0..<200).map { _ in
                _ = try peer.response()
                try other.send(get("/timers"))
                return Int(try other.response().text) ?? -1
            }
        }
        // The other timer is the site's, for idle connections.
        #expect(counts.allSatisfy { 0...2 ~= $0 }, "\(counts)")
    }

    @Test func takesLittleMemoryWhileIdle() throws {
        // Incomplete requests and unsent answers are allocated only when needed.
        typealias UsableSize = @convention(c) (UnsafeRawPointer) -> Int
        let function = try #require(dlsym(nil, "malloc_usable_size"))
        let usableSize = unsafeBitCast(function, to: UsableSize.self)
        let site = HTTPSite(
            reactor: try Reactor(loop: try EventLoop(name: "size")),
            responder: Script()
        )
        let connection = HTTPConnection(site: site)
        let size = usableSize(Unmanaged.passUnretained(connection).toOpaque())
        #expect(size <= 152)
    }
}

/// Sends requests until the answer is `text`.
func waitUntil(_ text: String, _ peer: Peer, _ path: String) throws {
    while true {
        try peer.send(get(path))
        if try peer.response().text == text { return }
    }
}
