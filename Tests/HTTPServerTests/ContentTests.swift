import HTTP1
import HTTPServer
import Testing

@Suite("Content that is refused, or arrives in part", .timeLimit(.minutes(1))) struct ContentTests {
    private static let part = String(repeating: "x", count: 50_000)

    /// Returns the head of a request, and a part of its content.
    private static func begin(_ path: String, of length: Int = 100_000) -> String {
        "POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n" + part
    }

    private static func chunked(_ path: String, _ chunks: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
    }

    /// Waits until the server has no incomplete requests.
    private static func waitUntilNothingIsBuffered(_ peer: Peer) throws {
        try waitUntil("0", peer, "/inbound")
    }

    // MARK: Answered by the head

    @Test("A request that is refused by its head is answered before its content arrives")
    func answersByTheHead() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            for _ in 0..<2 {
                try peer.send(Self.begin("/forbidden"))
                #expect(try peer.response() == Answer(status: 403, text: "no entry"))
                try other.send(get("/inbound"))
                #expect(try other.response().text == "0")
                // The connection is in sync after the rest.
                try peer.send(Self.part + get("/a"))
                #expect(try peer.response().text == "GET /a")
            }
            let piece = "c350\r\n\(Self.part)\r\n"
            try peer.send(Self.chunked("/forbidden", piece))
            #expect(try peer.response() == Answer(status: 403, text: "no entry"))
            try other.send(get("/inbound"))
            #expect(try other.response().text == "0")
            try peer.send("\(piece)0\r\n\r\n" + get("/b"))
            #expect(try peer.response().text == "GET /b")
        }
    }

    @Test("The connection is closed after the answer instead of waiting for long content")
    func closesBehindLongContent() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send(get("/a") + Self.begin("/forbidden", of: 1 << 20))
            #expect(try peer.response().text == "GET /a")
            let answer = Answer(status: 403, text: "no entry", connection: "close")
            #expect(try peer.response() == answer)
            #expect(try peer.receiveToEnd().isEmpty)
        }
    }

    @Test(
        "Chunks that break a rule, or are too many, end the connection without a second answer",
        arguments: ["zz\r\n", "100000\r\n", "3\r\nabcdef\r\n"]
    )
    func answersOnce(chunks: String) async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            try peer.send(Self.chunked("/forbidden", ""))
            #expect(try peer.response() == Answer(status: 403, text: "no entry"))
            try peer.send(chunks)
            #expect(try peer.receiveToEnd().isEmpty)
        }
    }

    @Test("A refusal is sent in order, after later answers")
    func keepsTheOrder() async throws {
        try await withServer { port in
            let peer = try Peer(port: port)
            let other = try Peer(port: port)
            try peer.send(get("/later?1") + Self.chunked("/forbidden", "zz\r\n") + get("/never"))
            try waitUntil("1", other, "/waiting")
            try other.send(get("/release"))
            #expect(try peer.response().text == "later 1")
            let answer = Answer(status: 403, text: "no entry", connection: "close")
            #expect(try peer.response() == answer)
            #expect(try peer.receiveToEnd().isEmpty)
        }
    }

    @Test("Discarded content has the content timeout, and gets no second answer")
    func discardsForNoLonger() async throws {
        try await withServer(timeouts: HTTPTimeouts(body: .milliseconds(100))) { port in
            let peer = try Peer(port: port)
            try peer.send(Self.begin("/forbidden"))
            #expect(try peer.response() == Answer(status: 403, text: "no entry"))
            while !peer.isReadable(within: 5) { try? peer.send("x") }
            #expect(try peer.receiveToEnd().isEmpty)
        }
    }

    // MARK: Arrived in part

    @Test("Incomplete content is counted until it is complete, or its connection has ended")
    func countsContent() async throws {
        try await withServer { port in
            let other = try Peer(port: port)
            func held() throws -> Int {
                try other.send(get("/inbound"))
                return Int(try other.response().text) ?? -1
            }
            let whole = try Peer(port: port)
            try whole.send(Self.begin("/echo"))
            var gone: Peer? = try Peer(port: port)
            try gone?.send(Self.chunked("/echo", "ffff\r\n" + Self.part))
            let closed = try Peer(port: port)
            try closed.send(Self.begin("/echo"))
            // An array's capacity is at most twice its count.
            while try held() < 150_000 {}
            #expect(try held() <= 300_000)
            try whole.send(Self.part)
            #expect(try whole.response().text == Self.part + Self.part)
            gone = nil
            closed.endSending()
            try Self.waitUntilNothingIsBuffered(other)
        }
    }

    @Test("Without memory content is refused with 503; complete requests are served")
    func refusesContent() async throws {
        try await withServer(inboundBytesMax: 50_000) { port in
            let other = try Peer(port: port)
            let holder = try Peer(port: port)
            try holder.send(Self.begin("/echo"))
            try waitUntilExhausted(other)
            let late = try Peer(port: port)
            try late.send(get("/a") + Self.begin("/echo"))
            #expect(try late.response().text == "GET /a")
            let refusal = try late.response()
            #expect(refusal.status == 503 && refusal.connection == "close")
            #expect(try late.receiveToEnd().isEmpty)
            // A client that expects 100 (Continue) gets the refusal before sending the content.
            let asking = try Peer(port: port)
            let head = "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
            try asking.send(head + "Content-Length: 9\r\n\r\n")
            let answer = try asking.response()
            #expect(answer.status == 503 && !answer.hasContinue)
            try other.send(post("/echo", "whole"))
            #expect(try other.response().text == "whole")
            try waitUntil("2", other, "/refused")
            holder.endSending()
            try Self.waitUntilNothingIsBuffered(other)
            let next = try Peer(port: port)
            try next.send(Self.begin("/echo"))
            try waitUntilExhausted(other)
            try next.send(Self.part)
            #expect(try next.response().text == Self.part + Self.part)
        }
    }

    private func waitUntilExhausted(_ peer: Peer) throws {
        while true {
            try peer.send(get("/inbound"))
            if Int(try peer.response().text) ?? -1 >= 50_000 { return }
        }
    }
}
