import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import Testing

@testable import FanfareServer

/// The response to a query of a history.
struct History: Decodable {
    struct Position: Decodable, Equatable {
        let stream: String
        let serial: Int
    }

    struct Message: Decodable {
        let serial, time: Int
        let event: String
        let data: String?
    }

    let position: Position
    let oldest: Int
    let messages: [Message]
    let next: Int?
    let truncated: Bool?

    var serials: [Int] { messages.map(\.serial) }
}

private struct Described: Decodable {
    let occupied: Bool
    let position: History.Position?
}

@Suite("The history of a channel, GET /apps/{id}/channels/{name}/history") struct HistoryTests {
    private func ask(
        _ broker: TestBroker,
        _ path: String,
        _ parameters: [(String, String)] = []
    ) async throws -> Answer {
        try await Wire(port: broker.port).ask(
            SignedRequest(method: "GET", path: "/apps/1/channels/" + path, parameters: parameters)
        )
    }

    private func history(
        _ broker: TestBroker,
        _ channel: String,
        _ parameters: [(String, String)] = []
    ) async throws -> History {
        let answer = try await ask(broker, channel + "/history", parameters)
        #expect(answer.status == 200, "\(answer.body)")
        return try JSONDecoder().decode(History.self, from: Data(answer.body.utf8))
    }

    private func position(_ broker: TestBroker, _ channel: String) async throws -> Described {
        let answer = try await ask(broker, channel, [("info", "position")])
        return try JSONDecoder().decode(Described.self, from: Data(answer.body.utf8))
    }

    @Test("Pages from either end, and by serial", arguments: [1, 3])
    func pages(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in ["a", "b", "private-c"] {
                let start = try await history(broker, channel)
                #expect(start.position.serial == 0 && start.oldest == 1 && start.messages.isEmpty)
                let (reader, _) = try await broker.subscribed(to: channel)
                for number in 1...7 {
                    _ = try await broker.trigger("e", "\(number)", on: channel)
                    _ = try await reader.nextText()
                }
                let all = try await history(broker, channel)
                #expect(all.position.serial == 7 && all.serials == Array(1...7))
                #expect(all.messages.map(\.data) == (1...7).map { "\($0)" })
                #expect(all.next == nil && all.truncated == nil)
                #expect(all.messages.allSatisfy { $0.event == "e" })
                for (parameters, serials, next) in [
                    (["limit": "3"], [1, 2, 3], 3), (["limit": "3", "after": "3"], [4, 5, 6], 6),
                    (["limit": "3", "after": "6"], [7], nil), (["after": "7"], [], nil),
                    (["order": "newest", "limit": "3"], [7, 6, 5], 5),
                    (["order": "newest", "limit": "3", "before": "5"], [4, 3, 2], 2),
                    (["after": "2", "before": "5"], [3, 4], nil),
                    (["since": "\(all.messages[3].time)", "until": "99999999999999"], nil, nil),
                ] as [([String: String], [Int]?, Int?)] {
                    let page = try await history(
                        broker,
                        channel,
                        parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
                    )
                    if let serials { #expect(page.serials == serials, "\(parameters)") }
                    #expect(page.next == next, "\(parameters)")
                    if serials == nil {
                        #expect(page.serials.last == 7 && page.serials.contains(4))
                    }
                }
            }
        }
    }

    @Test("Escapes are kept as published, in batches too, and in the cache")
    func escapes() async throws {
        try await TestBroker.run { broker in
            _ = try await position(broker, "cache-a")
            for data in [#"\ud83d"#, #"{\"t\":\"\\ude00\"}"#] {
                let body = #"{"batch":[{"name":"e","channel":"cache-a","data":"\#(data)"}]}"#
                let request = SignedRequest(path: "/apps/1/batch_events", body: body)
                #expect(try await Wire(port: broker.port).ask(request).status == 200)
                let history = try await ask(broker, "cache-a/history")
                #expect(history.body.contains(#""data":"\#(data)"}"#), "\(history.body)")
                let cached = try await ask(broker, "cache-a", [("info", "cache")])
                #expect(cached.body.contains(#""data":"\#(data)""#), "\(cached.body)")
            }
        }
    }

    @Test("Times are those of the calendar, the same in each answer")
    func times() async throws {
        try await TestBroker.run { broker in
            _ = try await position(broker, "a")
            let before = Int(Date().timeIntervalSince1970 * 1_000)
            _ = try await broker.trigger("e", "1", on: "a")
            let after = Int(Date().timeIntervalSince1970 * 1_000)
            let time = try #require(try await history(broker, "a").messages.first?.time)
            #expect((before - 1_000...after + 1_000).contains(time))
            let again = try #require(try await history(broker, "a").messages.first?.time)
            #expect(again == time)
        }
    }

    @Test("What is no longer kept is told")
    func truncated() async throws {
        try await TestBroker.run {
            $0.apps[0].recovery.standard.messagesMax = 2
        } _: { broker in
            _ = try await position(broker, "a")
            for number in 1...5 { _ = try await broker.trigger("e", "\(number)", on: "a") }
            let page = try await history(broker, "a", [("after", "1")])
            #expect(page.truncated == true && page.oldest == 4 && page.serials == [4, 5])
            #expect(try await history(broker, "a", [("after", "3")]).truncated == nil)
        }
    }

    @Test(
        "A page that subscribes from the position of its state misses nothing",
        arguments: [1, 3]
    )
    func positions(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in ["a", "b", "c"] {
                let state = try await position(broker, channel)
                #expect(!state.occupied)
                let start = try #require(state.position)
                for number in 1...3 { _ = try await broker.trigger("e", "\(number)", on: channel) }
                let client = try await TrackingWire(
                    broker,
                    channel,
                    position: ChannelPosition(
                        stream: try #require(StreamID(start.stream)),
                        serial: UInt64(start.serial)
                    )
                )
                #expect(client.start.continuity == .recovered(replay: 3))
                #expect(try await client.next(3) == ["1", "2", "3"])
                let later = try await position(broker, channel)
                #expect(later.occupied && later.position?.serial == 3)
            }
        }
    }

    @Test(
        "A wrong parameter is named",
        arguments: [
            ("after", "x"), ("before", "-1"), ("since", "1.5"), ("until", ""), ("limit", "0"),
            ("limit", "1001"), ("order", "up"), ("stream", "a!b"),
        ]
    )
    func refusals(name: String, value: String) async throws {
        try await TestBroker.run { broker in
            let answer = try await ask(broker, "a/history", [(name, value)])
            #expect(answer.status == 400)
            #expect(answer.body.contains("Invalid \(name)"))
        }
    }

    @Test("Another stream is gone, and an app without recovery has no history")
    func gone() async throws {
        try await TestBroker.run { broker in
            let answer = try await ask(broker, "a/history", [("stream", "other")])
            #expect(answer.status == 410 && answer.body.contains("no longer other"))
            let own = try await history(broker, "a").position.stream
            #expect(try await history(broker, "a", [("stream", own)]).position.stream == own)
            for (path, info) in [("", "position")] {
                let list = try await Wire(port: broker.port).ask(
                    SignedRequest(
                        method: "GET",
                        path: "/apps/1/channels" + path,
                        parameters: [("info", info)]
                    )
                )
                #expect(list.status == 400 && list.body.contains("single channel"))
            }
        }
        try await TestBroker.run {
            $0.apps[0].recovery.isEnabled = false
        } _: { broker in
            #expect(try await ask(broker, "a/history").status == 400)
            let answer = try await ask(broker, "a", [("info", "position")])
            #expect(answer.body == #"{"occupied":false,"position":null}"#)
        }
    }
}
