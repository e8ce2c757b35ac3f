import Broker
import BrokerConfiguration
import Glibc
import HTTP1
import Simulation
import Testing

@testable import FanfareServer

/// Swift compares, hashes and searches a `String` by characters, and sorts the combining marks of a character in
/// quadratic time.
///
/// Each test sends messages of one length, one member of each with many marks, and compares the processor time of
/// the broker's thread, which load of the machine hardly changes. A quadratic search takes some hundred times the
/// median.
@Suite("Many combining marks: no message costs much more than others of its length")
struct CombiningMarkTests {
    /// A character with so many marks, in the order that is sorted last.
    private static func marked(_ pairCount: Int) -> String {
        "x" + String(repeating: "\u{301}\u{323}", count: pairCount)
    }

    /// A text of the same bytes in number, without marks.
    private static func plain(_ pairCount: Int) -> String {
        "x" + String(repeating: "\u{3B1}\u{3B2}", count: pairCount)
    }

    /// The slowest message may take so many times the median.
    private static let ratioMax = 20.0

    /// The slowest message may take so many times what it takes without marks: in a build without optimisation the median
    /// is too long to show one search.
    private static let plainRatioMax = 10.0

    private static func expectEven(
        _ times: [(name: String, nanoseconds: Int)],
        plain: [(name: String, nanoseconds: Int)]
    ) {
        for (marked, other) in zip(times, plain) {
            let ratio = Double(marked.nanoseconds) / Double(max(other.nanoseconds, 1_000_000))
            #expect(
                ratio <= plainRatioMax,
                "\(marked.name): \(marked.nanoseconds) ns, without marks \(other.nanoseconds) ns"
            )
        }
        let median = times.map(\.nanoseconds).sorted()[times.count / 2]
        for (name, time) in times {
            let ratio = Double(time) / Double(max(median, 1))
            #expect(ratio <= ratioMax, "\(name): \(time) ns, the median is \(median) ns")
        }
    }

    private static var threadTime: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    // MARK: - Clients

    /// The messages of a client, by the member that has the marks.
    private static func messages(_ marks: String, socketID: String) -> [(String, String)] {
        let user = #"{"id":"u","user_info":{"name":"\#(marks)"}}"#
        let watching = #"{"id":"u","watchlist":["\#(marks)","\#(marks)a"]}"#
        let members = [
            ("event", #"{"event":"\#(marks)"}"#),
            ("an event of the protocol", #"{"event":"pusher:\#(marks)"}"#),
            ("an unsupported event", #"{"event":"\#(marks)","channel":"a"}"#),
            ("the name of a client event", client(event: marks)),
            ("the name of a member", #"{"event":"pusher:ping","\#(marks)":1}"#),
            ("data", #"{"event":"client-e","channel":"private-a","data":"\#(marks)"}"#),
            ("key", #"{"event":"client-e","channel":"private-a","data":"","key":"\#(marks)"}"#),
            ("the channel of a client event", client(channel: marks)),
            ("the channel of a subscription", control("subscribe", #""channel":"\#(marks)""#)),
            ("the channel to leave", control("unsubscribe", #""channel":"\#(marks)""#)),
            ("auth", control("subscribe", #""channel":"private-b","auth":"\#(marks)""#)),
            (
                "the signature",
                control("subscribe", #""channel":"private-b","auth":"app-key:\#(marks)""#)
            ),
            (
                "channel_data",
                control(
                    "subscribe",
                    #""channel":"presence-b","auth":"app-key:","channel_data":"\#(marks)""#
                )
            ),
            (
                "the stream of a position",
                control(
                    "subscribe",
                    #""channel":"p","position":{"stream":"\#(marks)","serial":1}"#
                )
            ),
            (
                "the socket of a position",
                control(
                    "subscribe",
                    #""channel":"p","position":{"stream":"s","serial":1,"socket":"\#(marks)"}"#
                )
            ),
            (
                "the auth of a sign-in",
                control("signin", #""auth":"\#(marks)","user_data":"{}""#)
            ),
            ("user_data", control("signin", #""auth":"app-key:","user_data":"\#(marks)""#)),
            (
                "user_id",
                subscribeMessage(
                    to: "presence-a",
                    socketID: socketID,
                    data: #"{"user_id":"\#(marks)"}"#
                )
            ),
            ("user_info", signInMessage(user, socketID: socketID)),
            ("the watchlist", signInMessage(watching, socketID: socketID)),
        ]
        let escaped = #"x"# + String(repeating: #"\u0301\u0323"#, count: marks.utf8.count / 12)
        return members + [
            ("an escaped event", #"{"event":"\#(escaped)"}"#),
            (
                "an escaped auth",
                control("subscribe", #""channel":"private-b","auth":"\#(escaped)""#)
            ),
            ("control data in a string", #"{"event":"pusher:subscribe","data":"\#(marks)"}"#),
            ("text that is no JSON", marks),
        ]
    }

    private static func control(_ event: String, _ data: String) -> String {
        #"{"event":"pusher:\#(event)","data":{\#(data)}}"#
    }

    private static func client(event: String = "e", channel: String = "private-a") -> String {
        #"{"event":"client-\#(event)","channel":"\#(channel)","data":""}"#
    }

    @Test("Members of a client's message")
    func ofClients() throws {
        let stepped = try SteppedBroker {
            $0.apps[0].features.watchlist = true
            $0.apps[0].limits.faultsPerMinuteMax = 1_000
        }
        let (client, socketID) = try stepped.greetedClient()
        client.send(Frames.text(subscribeMessage(to: "private-a", socketID: socketID)))
        stepped.turn { client.count(of: "subscription_succeeded") == 1 }
        func times(_ text: String) -> [(String, Int)] {
            Self.messages(text, socketID: socketID).map { name, text in
                client.forget()
                let bytes = Frames.text(text) + Frames.ping
                let time = Self.time(of: bytes, from: client, to: stepped) {
                    client.count(of: "pusher:pong") > 0
                }
                return (name, time)
            }
        }
        Self.expectEven(times(Self.marked(20_000)), plain: times(Self.plain(20_000)))
    }

    /// The processor time in which a broker reads and answers some bytes, in nanoseconds.
    private static func time(
        of bytes: [UInt8],
        from peer: SteppedPeer,
        to stepped: SteppedBroker,
        until isAnswered: () -> Bool
    ) -> Int {
        var time = 0
        func turn() {
            let start = threadTime
            stepped.broker.turn(0)
            time += threadTime - start
        }
        // In portions: more does not fit into the socket's buffer.
        for start in stride(from: 0, to: bytes.count, by: 1 << 15) {
            peer.send(Array(bytes[start..<min(start + 1 << 15, bytes.count)]))
            turn()
        }
        stepped.turn {
            turn()
            return isAnswered()
        }
        return time
    }

    // MARK: - Backends

    /// Requests of a backend, by the part that has the marks; all are signed.
    private static func requests(_ marks: String) -> [(String, SignedRequest)] {
        let bodies = [
            ("name", #"{"name":"\#(marks)","channel":"a","data":""}"#),
            ("channel", #"{"name":"e","channel":"\#(marks)","data":""}"#),
            ("channels", #"{"name":"e","channels":["\#(marks)","\#(marks)a"],"data":""}"#),
            ("data", #"{"name":"e","channel":"a","data":"\#(marks)"}"#),
            ("socket_id", #"{"name":"e","channel":"a","data":"","socket_id":"\#(marks)"}"#),
            ("info", #"{"name":"e","channel":"a","data":"","info":"\#(marks)"}"#),
            ("a list of info", #"{"name":"e","channel":"a","data":"","info":["\#(marks)"]}"#),
            ("key", #"{"name":"e","channel":"a","data":"","idempotency_key":"\#(marks)"}"#),
            ("another member", #"{"name":"e","channel":"a","data":"","\#(marks)":""}"#),
            ("text that is no JSON", marks),
        ]
        return bodies.map { ($0, SignedRequest(path: "/apps/1/events", body: $1)) }
    }

    /// Requests whose heads have the marks: of a backend in the query, of a stranger in a field.
    private static func heads(_ marks: String) -> [(String, String)] {
        let channel = "/apps/1/channels/presence-a"
        let queries = [
            ("filter_by_prefix", "/apps/1/channels"), ("cursor", "/apps/1/channels"),
            ("limit", "/apps/1/channels"), ("info", "/apps/1/channels"), ("info", channel),
            ("other", channel + "/users"), ("limit", channel + "/history"),
            ("order", channel + "/history"), ("stream", channel + "/history"),
        ].map { name, path in
            var request = SignedRequest(method: "GET", path: path, parameters: [(name, marks)])
            request.escapesValues = true
            return ("\(name) of \(path)", request.text)
        }
        let fields = [
            "Origin", "X-Forwarded-For", "Cookie", "If-None-Match", "Idempotency-Key", "Accept",
            "Accept-Encoding", "Connection",
        ].map { ($0, "GET /fanfare.js HTTP/1.1\r\nHost: h\r\n\($0): \(marks)\r\n\r\n") }
        let handshakes = [
            "Origin", "X-Forwarded-For", "Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions",
            "Sec-WebSocket-Version",
        ].map {
            ("\($0) of a handshake", WebSocketWire.upgrade(fields: "\($0): \(marks)\r\n"))
        }
        return queries + fields + handshakes
    }

    @Test("Parts of a request")
    func ofRequests() throws {
        let stepped = try SteppedBroker {
            $0.httpLimits.fieldBytesMax = 1 << 20
            $0.apps[0].allowedOrigins = ["https://example.com"]
            $0.apps[0].recovery.isEnabled = true
        }
        func times(_ part: String) throws -> [(String, Int)] {
            let bodies = Self.requests(part).map { ($0, $1.text) }
            return try (bodies + Self.heads(part)).map { name, text in
                let peer = try stepped.connect()
                let time = Self.time(of: Array(text.utf8), from: peer, to: stepped) {
                    peer.answer != nil
                }
                return (name, time)
            }
        }
        Self.expectEven(try times(Self.marked(20_000)), plain: try times(Self.plain(20_000)))
    }
}
