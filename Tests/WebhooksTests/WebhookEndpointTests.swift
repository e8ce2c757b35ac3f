import Broker
import PusherProtocol
import Testing

@testable import Webhooks

@Suite("Endpoints and their filters") struct WebhookEndpointTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let url: String
        var kinds: Set<WebhookKind> = [.cacheMiss]
        var headers: [String: String] = [:]
        let fault: WebhookEndpointFault
        var testDescription: String { "\(fault)" }
    }

    private static let url = "https://backend.test/"

    @Test(arguments: [
        Fault(url: "", fault: .notAnHTTPURL("")),
        Fault(url: "backend.test/hooks", fault: .notAnHTTPURL("backend.test/hooks")),
        Fault(url: "ftp://backend.test", fault: .notAnHTTPURL("ftp://backend.test")),
        Fault(url: "http://", fault: .notAnHTTPURL("http://")),
        Fault(url: "https:///hooks", fault: .notAnHTTPURL("https:///hooks")),
        Fault(url: "http://me:secret@backend.test", fault: .credentialsInURL),
        Fault(url: "http://me@backend.test/a", fault: .credentialsInURL),
        // An internationalized name must be given in its ASCII form: xn--…
        Fault(url: "http://żółć.test/", fault: .notAnHTTPURL("http://żółć.test/")),
        Fault(
            url: url + String(repeating: "a", count: 2_048),
            fault: .urlTooLong(length: 2_069, lengthMax: 2_048)
        ),
        Fault(url: url, kinds: [], fault: .noKinds),
        Fault(url: url, headers: ["X-Pusher-Key": "a"], fault: .reservedHeader("X-Pusher-Key")),
        Fault(url: url, headers: ["x-pusher-else": "a"], fault: .reservedHeader("x-pusher-else")),
        Fault(url: url, headers: ["content-type": "a"], fault: .reservedHeader("content-type")),
        Fault(url: url, headers: ["Host": "a"], fault: .reservedHeader("Host")),
        Fault(url: url, headers: ["X-Delivery-Id": "a"], fault: .reservedHeader("X-Delivery-Id")),
        Fault(url: url, headers: ["": "a"], fault: .malformedHeader("")),
        Fault(url: url, headers: ["a b": "a"], fault: .malformedHeader("a b")),
        Fault(url: url, headers: ["A": "a\r\nB: c"], fault: .malformedHeader("A")),
        Fault(url: url, headers: ["A": "ä"], fault: .malformedHeader("A")),
        Fault(url: url, headers: ["A": "1", "a": "2"], fault: .repeatedHeader("a")),
        Fault(
            url: url,
            headers: ["A": String(repeating: "a", count: 4_096)],
            fault: .headerTooLong("A", length: 4_097, lengthMax: 4_096)
        ),
        Fault(
            url: url,
            headers: Dictionary(uniqueKeysWithValues: (0...20).map { ("h\($0)", "a") }),
            fault: .tooManyHeaders(count: 21, countMax: 20)
        ),
    ])
    func refuses(_ fault: Fault) {
        #expect(throws: fault.fault) {
            try WebhookEndpoint(url: fault.url, kinds: fault.kinds, headers: fault.headers)
        }
        #expect(!fault.fault.description.isEmpty)
    }

    @Test(arguments: [
        "http://backend.test", "https://backend.test:8443/a?b=c", "HTTP://127.0.0.1:80/",
        "http://[::1]:9000/hooks", "http://backend.test/@me?who=a@b", "http://backend.test/żółć",
    ])
    func takesEveryURLOfHTTP(_ url: String) throws {
        #expect(try endpoint(url).url == url)
    }

    @Test(arguments: [
        ("", "", "my-channel", true), ("private-", "", "private-x", true),
        ("private-", "", "public", false), ("", "-eu", "a-eu", true), ("", "-eu", "a-us", false),
        ("private-", "-eu", "private-a-eu", true), ("private-", "-eu", "private-a", false),
        // The texts may overlap: the name has both.
        ("a-b", "b-c", "a-b-c", true), ("abc", "", "ab", false), ("", "abc", "bc", false),
    ])
    func filtersByName(prefix: String, suffix: String, name: String, accepts: Bool) throws {
        let filtered = try endpoint(prefix: prefix, suffix: suffix)
        #expect(filtered.accepts(.occupied, on: channel(name)) == accepts)
    }

    @Test(arguments: WebhookKind.allCases)
    func filtersByKind(_ kind: WebhookKind) throws {
        let events: [ReportedEvent] = [
            .channelOccupied(channel()), .channelVacated(channel()),
            .memberAdded(channel(), userID: UserID("a")),
            .memberRemoved(channel(), userID: UserID("a")),
            .clientEvent(
                channel(),
                nameToken: [],
                dataToken: nil,
                sender: SocketID(1, 2),
                userID: nil
            ),
            .cacheMiss(channel()), .subscriptionCount(channel(), 1),
        ]
        let filtered = try endpoint(kinds: [kind])
        let accepted = events.filter { filtered.accepts($0.event, on: $0.channel) }
        #expect(accepted.map { WebhookKind($0.event) } == [kind])
    }

    @Test func twoEndpointsOfOneURLAreTwo() throws {
        let both = try app(endpoints: [
            endpoint(kinds: [.cacheMiss]), endpoint(), endpoint("http://b"),
        ])
        #expect(both.keyedEndpoints.map { $0.0.ordinal } == [0, 1, 0])
        #expect(Set(both.keyedEndpoints.map { $0.0 }).count == 3)
    }
}
