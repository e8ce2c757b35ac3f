import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Observability

@Suite("Limits of rates") struct RateLimitTests {
    private static let trigger = SignedRequest(
        path: "/apps/1/events",
        body: #"{"name":"e","channel":"a","data":"1"}"#
    )
    private static let query = SignedRequest(method: "GET", path: "/apps/1/channels")
    private static let termination = SignedRequest(
        path: "/apps/1/users/ann/terminate_connections"
    )

    @Test(
        "A kind of request over its rate is answered with 429 and Retry-After, others are not",
        arguments: [Limit.triggerRate, .queryRate, .terminationRate]
    )
    func requestsOfAKind(limit: Limit) async throws {
        let requests: [(Limit, SignedRequest)] = [
            (.triggerRate, Self.trigger), (.queryRate, Self.query),
            (.terminationRate, Self.termination),
        ]
        try await TestBroker.run {
            switch limit {
            case .triggerRate: $0.apps[0].limits.requestRates.triggers = Rate(perSecond: 1)
            case .queryRate: $0.apps[0].limits.requestRates.queries = Rate(perSecond: 1)
            default: $0.apps[0].limits.requestRates.terminations = Rate(perSecond: 1)
            }
        } _: { broker in
            let wire = try Wire(port: broker.port)
            for (kind, request) in requests {
                var statuses: Set<Int> = []
                // All at once, so that they arrive within a second.
                try wire.send(String(repeating: request.text, count: 40))
                for _ in 0..<40 {
                    let answer = try await wire.answer()
                    statuses.insert(answer.status)
                    guard answer.status == 429 else { continue }
                    #expect(answer.head.lowercased().contains("\r\nretry-after: 1\r\n"))
                    #expect(answer.body.hasPrefix("App 1 may make 1 "))
                }
                #expect(statuses == (kind == limit ? [200, 429] : [200]), "\(kind)")
            }
            #expect(await broker.hits(limit) > 0)
            try await eventually {
                let request = requests.first { $0.0 == limit }?.1 ?? Self.query
                return try await wire.ask(request).status == 200
            }
        }
    }

    @Test func requestsOfAnyKind() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.requestRates.all = Rate(perSecond: 1)
        } _: { broker in
            let wire = try Wire(port: broker.port)
            try wire.send(String(repeating: Self.query.text, count: 20))
            var statuses: Set<Int> = []
            for _ in 0..<20 { statuses.insert(try await wire.answer().status) }
            #expect(statuses == [200, 429])
            #expect(await broker.hits(.requestRate) > 0)
        }
    }

    @Test func subscriptions() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.subscriptionRate = Rate(perSecond: 1)
        } _: { broker in
            let (client, _) = try await broker.connected()
            for number in 0..<20 {
                try client.send(#"{"event":"pusher:subscribe","data":{"channel":"c\#(number)"}}"#)
            }
            try await eventually { await broker.hits(.subscriptionRate) > 0 }
        }
    }

    @Test func clientEvents() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.clientEventRate = Rate(perSecond: 1)
        } _: { broker in
            let (client, _) = try await broker.subscribed(to: "private-x")
            for _ in 0..<20 { try client.publish("client-x", "private-x", json: "1") }
            #expect(try await client.nextText().contains(#""code":4301"#))
            #expect(await broker.hits(.clientEventRate) > 0)
        }
    }

    @Test func faultyMessages() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.faultsPerMinuteMax = 2
        } _: { broker in
            let (client, _) = try await broker.connected()
            // The minute may end in between.
            for _ in 0..<6 { try? client.send("nonsense") }
            try await eventually { await broker.hits(.faultRate) == 1 }
            var frame = try await client.next()
            while frame.text.contains(#""code":null"#) || !frame.text.contains("4100") {
                frame = try await client.next()
            }
            #expect(try await client.next().closeCode == 4100)
        }
    }

    @Test(
        "Refusals by other limits are faulty messages: too many close with 4100",
        arguments: [
            Limit.subscriptions, .members, .subscriptionRate, .channelNameLength, .userInfoLength,
            .eventDataLength,
        ]
    )
    func refusalsThatAreFaults(limit: Limit) async throws {
        #expect(limit.rule.consequence.contains("counts as a faulty message"))
        try await TestBroker.run {
            $0.apps[0].limits.faultsPerMinuteMax = 3
            switch limit {
            case .subscriptions: $0.apps[0].limits.subscriptionsMax = 1
            case .members: $0.apps[0].limits.membersMax = 1
            case .subscriptionRate: $0.apps[0].limits.subscriptionRate = Rate(perSecond: 1)
            case .channelNameLength: $0.apps[0].limits.texts.channelNameLengthMax = 20
            case .userInfoLength: $0.apps[0].limits.userInfoLengthMax = 10
            default: $0.apps[0].limits.texts.dataLengthMax = 10
            }
        } _: { broker in
            let (ann, _) = try await broker.joined("presence-x", as: "ann")
            let (client, socketID) = try await broker.subscribed(to: "private-x")
            // Twice the limit per minute, since the minute may end in between.
            for number in 0..<8 {
                try client.send(refusedMessage(for: limit, number, socketID: socketID))
            }
            var frame = try await client.next()
            while !frame.text.contains(#""code":4100"#) { frame = try await client.next() }
            #expect(frame.text.contains("More than 3 faulty messages a minute"))
            #expect(try await client.next().closeCode == 4100)
            #expect(await broker.hits(limit) >= 4)
            #expect(await broker.hits(.faultRate) == 1)
            try await ann.expectNothing()
        }
    }

    /// A message that is refused because of `limit`, different for each `number`.
    private func refusedMessage(for limit: Limit, _ number: Int, socketID: String) -> String {
        let long = String(repeating: "x", count: 21)
        switch limit {
        case .members, .userInfoLength:
            let info = limit == .members ? "1" : #""\#(long)""#
            let data = #"{"user_id":"bob","user_info":\#(info)}"#
            return subscribeMessage(to: "presence-x", socketID: socketID, data: data)
        case .eventDataLength:
            return #"{"event":"client-x","channel":"private-x","data":"\#(long)"}"#
        default:
            let channel = limit == .channelNameLength ? long : "c\(number)"
            return #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#
        }
    }
}
