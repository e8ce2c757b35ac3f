import HTTP1
import Primitives
import Testing
import TestRandom

@Suite("Requests, RFC 9112") struct RequestParserTests {
    static let pipelined =
        lines("POST /apps/1/events?a=b HTTP/1.1", "Host: h", "Content-Length: 5", "")
        + Array("hello".utf8)
        + lines("GET /up HTTP/1.1", "Host: h", "")
        + lines("PUT /x HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "")
        + lines("3;a=\"b;c\" ; d", "abc", "0A", "0123456789", "0", "Trailer: dropped", "")
        + lines("", "HEAD / HTTP/1.0", "")
        + lines("OPTIONS * HTTP/1.1", "host:\t h:80 \t", "content-LENGTH:0", "")
    static let events: [Event] = [
        .request("POST /apps/1/events?a=b"), .content(Array("hello".utf8)),
        .request("GET /up"), .content([]),
        .request("PUT /x"), .content(Array("abc0123456789".utf8)),
        .request("HEAD /"), .content([]),
        .request("OPTIONS *"), .content([]),
    ]

    @Test func readsASequenceAtEverySplit() {
        let bytes = Self.pipelined
        #expect(requests([bytes]) == Self.events)
        #expect(requests(bytes.map { [$0] }) == Self.events)
        for cut in 0...bytes.count {
            let events = requests(pieces(bytes, cutAt: [cut]))
            if events != Self.events {
                Issue.record("cut at \(cut): \(events)")
            }
        }
        for first in stride(from: 0, to: bytes.count, by: 3) {
            for second in stride(from: first, to: bytes.count, by: 7) {
                let events = requests(pieces(bytes, cutAt: [first, second]))
                if events != Self.events { Issue.record("cut at \(first) and \(second)") }
            }
        }
    }

    @Test func passesCompleteContentWithoutACopy() throws {
        let bytes = lines("POST / HTTP/1.1", "Host: h", "Content-Length: 3", "") + [1, 2, 3, 4]
        var parser = RequestParser()
        var index = 0
        _ = try parser.advance(over: bytes.span, from: &index)
        guard case .content(let content) = try parser.advance(over: bytes.span, from: &index)
        else { return #expect(Bool(false), "content was expected") }
        #expect(index == bytes.count - 1)
        bytes.span.withUnsafeBufferPointer { all in
            content.withBytes(in: all.span) { lent in
                lent.withUnsafeBufferPointer {
                    #expect($0.baseAddress == all.baseAddress.map { $0 + index - 3 })
                    #expect($0.count == 3)
                }
            }
        }
    }

    @Test("Discarded content is not stored; the following bytes are parsed as usual")
    func discardsContent() throws {
        let bytes = Self.pipelined
        for cut in 0...bytes.count {
            var parser = RequestParser()
            var events: [Event] = []
            var kept: [UInt8] = []
            for piece in pieces(bytes, cutAt: [cut]) {
                kept += piece
                var index = 0
                reading: while true {
                    switch try parser.advance(over: kept.span, from: &index) {
                    case .needsMore: break reading
                    case .head(let head):
                        events.append(.request("\(head.method) \(head.target)"))
                        parser.discardContent(lengthMax: 13)
                    case .content(let content):
                        events.append(.content(content.copy(from: kept.span)))
                    }
                }
                #expect(parser.collectedByteCount == 0)
                kept.removeFirst(index)
            }
            let expected = Self.events.map { event -> Event in
                if case .content = event { .content([]) } else { event }
            }
            if events != expected { Issue.record("cut at \(cut): \(events)") }
        }
    }

    @Test("The content of one request is discarded, that of the next is not")
    func discardsContentOfOneRequest() throws {
        let fixed =
            lines("POST /a HTTP/1.1", "Host: h", "Content-Length: 5", "") + Array("hello".utf8)
        let chunked =
            lines("POST /b HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "")
            + lines("5", "hello", "0", "")
        for requests in [fixed + chunked + fixed, chunked + fixed + chunked] {
            var parser = RequestParser()
            var contents: [[UInt8]] = []
            var index = 0
            var isFirst = true
            reading: while true {
                switch try parser.advance(over: requests.span, from: &index) {
                case .needsMore: break reading
                case .head:
                    if isFirst { parser.discardContent(lengthMax: 5) }
                    isFirst = false
                case .content(let content): contents.append(content.copy(from: requests.span))
                }
            }
            #expect(contents == [[], Array("hello".utf8), Array("hello".utf8)])
        }
    }

    @Test func limitsDiscardedChunks() throws {
        let bytes =
            lines("POST / HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "")
            + lines("3", "abc", "3", "def", "0", "")
        var parser = RequestParser()
        var index = 0
        _ = try parser.advance(over: bytes.span, from: &index)
        parser.discardContent(lengthMax: 5)
        #expect(throws: HTTPError.contentTooLong(length: nil, limit: 5)) {
            try parser.advance(over: bytes.span, from: &index)
        }
    }

    @Test("The memory of incomplete content is reported until it is complete")
    func countsWhatIsCollected() throws {
        let head = lines("POST / HTTP/1.1", "Host: h", "Content-Length: 4000", "")
        var parser = RequestParser()
        var index = 0
        _ = try parser.advance(over: head.span, from: &index)
        #expect(parser.collectedByteCount == 0)
        let part = [UInt8](repeating: 0x61, count: 3_000)
        index = 0
        _ = try parser.advance(over: part.span, from: &index)
        #expect(3_000..<8_000 ~= parser.collectedByteCount)
        index = 0
        _ = try parser.advance(over: part.span, from: &index)
        #expect(index == 1_000)
        #expect(parser.collectedByteCount == 0)
    }

    @Test func stopsAfterTheHead() throws {
        let bytes = lines("GET /app HTTP/1.1", "Host: h", "Upgrade: websocket", "")
        var parser = RequestParser()
        var index = 0
        #expect(parser.isBetweenRequests)
        guard case .head = try parser.advance(over: (bytes + [0x81, 0x80]).span, from: &index)
        else { return #expect(Bool(false), "a head was expected") }
        #expect(index == bytes.count)
    }

    @Test func keepsRefusing() {
        var parser = RequestParser()
        let bytes = Array("\n".utf8)
        for _ in 0..<2 {
            var index = 0
            #expect(throws: HTTPError.bareLineFeed) {
                _ = try parser.advance(over: bytes.span, from: &index)
            }
        }
    }

    @Test func searchesASlowHeadOnlyOnce() {
        // Quadratic work would take seconds here.
        let limits = HTTPLimits(fieldBytesMax: 1 << 20)
        let bytes =
            lines("GET / HTTP/1.1", "Host: h")
            + Array("X: ".utf8) + [UInt8](repeating: 0x61, count: 100_000)
        var parser = RequestParser(limits: limits)
        let clock = ContinuousClock()
        let time = clock.measure {
            for end in 1...bytes.count {
                var index = 0
                _ = try? parser.advance(over: bytes.span.extracting(0..<end), from: &index)
            }
        }
        #expect(time < .seconds(2))
    }

    @Test func checksEachLimitToTheByte() {
        func event(line: Int = 0, fields: [Int] = [], body: Int = 0) -> Event? {
            // "GET " and " HTTP/1.1" take 13 bytes, "Host: h" and CRLF take 9.
            let limits = HTTPLimits(
                requestLineLengthMax: 40,
                fieldCountMax: 3,
                fieldBytesMax: 60,
                bodyLengthMax: 8
            )
            var bytes = Array("GET /".utf8) + [UInt8](repeating: 0x61, count: max(0, line - 14))
            bytes += lines(" HTTP/1.1", "Host: h")
            for length in fields {
                bytes += Array("X:".utf8) + [UInt8](repeating: 0x62, count: length - 4) + [13, 10]
            }
            bytes += lines("Content-Length: \(body)", "")
            bytes += [UInt8](repeating: 0, count: body)
            return requests([bytes], limits: limits).last
        }
        #expect(event(line: 40) == .content([]))
        #expect(event(line: 41) == .refused(.requestLineTooLong(limit: 40)))
        #expect(event(fields: [32]) == .content([]))
        #expect(event(fields: [33]) == .refused(.fieldsTooLong(limit: 60)))
        #expect(event(fields: [5]) == .content([]))
        #expect(event(fields: [5, 5]) == .refused(.fieldsTooMany(limit: 3)))
        #expect(event(body: 8) == .content([UInt8](repeating: 0, count: 8)))
        #expect(event(body: 9) == .refused(.contentTooLong(length: 9, limit: 8)))
    }

    @Test func refusesTooLongLinesBeforeTheirEnd() {
        let limits = HTTPLimits(requestLineLengthMax: 20, fieldBytesMax: 20)
        let line = Array("GET /aaaaaaaaaaaaaaaaa".utf8)
        #expect(requests([line], limits: limits) == [.refused(.requestLineTooLong(limit: 20))])
        let field = lines("GET / HTTP/1.1") + Array("Host: aaaaaaaaaaaaaaaaaaaaaa".utf8)
        #expect(requests([field], limits: limits) == [.refused(.fieldsTooLong(limit: 20))])
    }

    /// Random messages made of relevant fragments: the result is the same at every
    /// split, and nothing traps.
    @Test func parsesRandomMessagesAlikeAtEverySplit() {
        let fragments = [
            "GET", "POST", " ", "/", "*", "http://h", "?", "HTTP/1.1", "HTTP/1.0", "\r\n", "\r\n",
            "\r\n", "\n", "\r", "Host: h", "Content-Length: ", "Transfer-Encoding: chunked", ":",
            "0", "5", "A", "ffffffffffffffff", "hello", ";", "=", "\"", "\t", "\0", "é",
            "Connection: close", "Expect: 100-continue", "GET / HTTP/1.1\r\nHost: h\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n",
        ]
        let limits = HTTPLimits(
            requestLineLengthMax: 40,
            fieldCountMax: 6,
            fieldBytesMax: 150,
            bodyLengthMax: 64,
            chunkExtensionBytesMax: 16
        )
        for seed in UInt64(0)..<4000 {
            var random = SeededRandom(seed: seed)
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...14, using: &random) {
                bytes += Array((fragments.randomElement(using: &random) ?? "").utf8)
            }
            if seed % 3 == 0, let place = bytes.indices.randomElement(using: &random) {
                bytes[place] = UInt8.random(in: 0...255, using: &random)
            }
            let whole = requests([bytes], limits: limits)
            let dripped = requests(bytes.map { [$0] }, limits: limits)
            let cut = requests(
                pieces(bytes, cutAt: [Int.random(in: 0...bytes.count, using: &random)]),
                limits: limits
            )
            if whole != dripped || whole != cut {
                Issue.record("seed \(seed): \(whole) / \(dripped) / \(cut)")
            }
        }
    }

    @Test func survivesRandomBytes() {
        for seed in UInt64(0)..<2000 {
            var random = SeededRandom(seed: seed)
            let bytes = (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
            _ = requests(pieces(bytes, cutAt: [Int.random(in: 0...200, using: &random)]))
            _ = responses(pieces(bytes, cutAt: [Int.random(in: 0...200, using: &random)]))
            // The same after a valid beginning.
            let start = lines("POST / HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "")
            _ = requests([start + bytes])
            _ = FormURLEncoded(decoding: bytes.span)
            _ = PercentEncoding.decode(bytes.span)
        }
    }
}
