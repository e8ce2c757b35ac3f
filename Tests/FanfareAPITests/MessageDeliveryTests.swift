import FanfareAPI
import Foundation
import Testing

@Suite("What became of a message", .timeLimit(.minutes(1))) struct MessageDeliveryTests {
    private static func api(_ transport: RecordingTransport) throws -> BrokerAPI {
        try BrokerAPI(appID: "3", key: "key", secret: "secret", transport: transport)
    }

    @Test("A connection is asked about, and its serials are read")
    func connections() async throws {
        let transport = RecordingTransport(
            200,
            #"""
            {"message":{"serial":42,"last":50,"kept":true,"published":1500,"excluded":"1.1"},
            "verdict":"replayed","connections":[{"socket_id":"27.9132","verdict":"after_leaving",
            "client":"js 8.6.0","user_id":"ann","closed":2500,"code":4100,"subscription":
            {"began":1000,"start":3,"live":3,"end":41,"dropped_from":40,"confirmed":39,
            "confirmed_at":3000,"ended":2500,"successor":"31.5520"}},{"socket_id":"31.5520",
            "verdict":"replayed","subscription":{"began":3000,"resumed_from":39,"start":39,
            "live":45,"predecessor":"27.9132"}}]}
            """#
        )
        let delivery = try await Self.api(transport).delivery(
            of: 42,
            on: "a/b",
            to: .socket("27.9132")
        )
        let target = try #require(transport.requests.first?.target)
        #expect(target.hasPrefix("/apps/3/channels/a%2Fb/messages/42/delivery?"))
        #expect(target.contains("&socket_id=27.9132"))
        #expect(delivery.verdict == .replayed && delivery.counts.isEmpty)
        #expect(delivery.message?.published == Date(timeIntervalSince1970: 1.5))
        #expect(delivery.message?.excluded == "1.1")
        let first = try #require(delivery.connections.first)
        #expect(first.client == "js 8.6.0" && first.userID == "ann" && first.code == 4100)
        #expect(first.subscription?.droppedFrom == 40 && first.subscription?.end == 41)
        #expect(first.subscription?.confirmedAt == Date(timeIntervalSince1970: 3))
        #expect(delivery.connections.last?.subscription?.resumedFrom == 39)
        #expect(delivery.connections.last?.closed == nil)
    }

    @Test("Numbers of clients")
    func counts() async throws {
        let transport = RecordingTransport(
            200,
            #"{"message":{"serial":1,"last":1,"kept":false},"counts":{"sent":3,"of_tomorrow":1}}"#
        )
        let api = try Self.api(transport)
        let delivery = try await api.delivery(of: 1, on: "a")
        #expect(delivery.verdict == nil && delivery.connections.isEmpty)
        let tomorrow = MessageDelivery.Verdict(rawValue: "of_tomorrow")
        #expect(delivery.counts == [.sent: 3, tomorrow: 1])
        _ = try await api.delivery(of: 1, on: "a", to: .user("ann"))
        #expect(transport.requests.last?.target.contains("&user_id=ann") == true)
        await #expect(throws: FanfareAPIError.invalidArgument("The channel's name is empty")) {
            try await api.delivery(of: 1, on: "")
        }
    }

    @Test("A purge answers with the position of the new stream")
    func purge() async throws {
        let transport = RecordingTransport(200, #"{"position":{"stream":"s","serial":0}}"#)
        let api = try Self.api(transport)
        let position = try await api.purgeHistory(of: "a")
        #expect(position == ChannelState.Position(stream: "s", serial: 0))
        let request = try #require(transport.requests.first)
        #expect(request.method == "DELETE")
        #expect(request.target.hasPrefix("/apps/3/channels/a/history?"))
    }
}
