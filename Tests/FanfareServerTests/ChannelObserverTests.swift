import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("Events for observers of channels") struct ChannelObserverTests {
    private func run(
        loops: Int,
        _ change: (inout Configuration) -> Void = { _ in },
        _ body: (TestBroker, Occurrences) async throws -> Void
    ) async throws {
        let observer = Occurrences()
        try await TestBroker.run(loops: loops, observer: observer, change) {
            try await body($0, observer)
        }
    }

    @Test("occupied for the first subscriber, vacated after the last", arguments: [1, 3])
    func occupation(loops: Int) async throws {
        try await run(loops: loops) { broker, observer in
            for channel in ["chat-a", "chat-b", "private-c"] {
                let (first, _) = try await broker.subscribed(to: channel)
                let (second, _) = try await broker.subscribed(to: channel)
                #expect(observer.recorded(of: channel) == ["occupied"])
                try first.unsubscribe(from: channel)
                try second.send(opcode: 8, [0x03, 0xE8])
                try await eventually { observer.recorded(of: channel).count > 1 }
                #expect(observer.recorded(of: channel) == ["occupied", "vacated"])
                try await first.expectNothing()
                _ = try await broker.subscribed(to: channel)
                let recorded = observer.recorded(of: channel)
                #expect(recorded.prefix(3) == ["occupied", "vacated", "occupied"])
            }
        }
    }

    @Test("member_added follows occupied, member_removed precedes vacated", arguments: [1, 3])
    func members(loops: Int) async throws {
        try await run(loops: loops) {
            $0.apps[0].limits.membersMax = 2
        } _: { broker, observer in
            for channel in ["presence-a", "presence-b", "presence-c"] {
                let (ann, _) = try await broker.subscribed(to: channel, as: "ann")
                let (device, _) = try await broker.subscribed(to: channel, as: "ann")
                let (bob, _) = try await broker.subscribed(to: channel, as: "bob")
                // A third user is refused and not reported.
                let (late, socketID) = try await broker.connected()
                let data = #"{"user_id":"late"}"#
                try late.send(subscribeMessage(to: channel, socketID: socketID, data: data))
                #expect(try await late.nextText().contains("subscription_error"))
                for client in [ann, device, bob] { try client.unsubscribe(from: channel) }
                try await eventually { observer.recorded(of: channel).last == "vacated" }
                let recorded = observer.recorded(of: channel)
                #expect(recorded.prefix(3) == ["occupied", "+ann", "+bob"])
                #expect(recorded.dropFirst(3).dropLast().sorted() == ["-ann", "-bob"])
                #expect(recorded.count == 6)
            }
        }
    }

    @Test(
        "Accepted client events, with the sender and on presence channels the user",
        arguments: [1, 3]
    )
    func clientEvents(loops: Int) async throws {
        try await run(loops: loops) { broker, observer in
            for (channel, user) in [("private-a", "no user"), ("presence-a", "ann")] {
                let (sender, socketID) = try await broker.subscribed(to: channel)
                try sender.publish("client-one", channel, json: #"{"n":1}"#)
                try sender.publish("client-two", channel, json: nil)
                try sender.publish("refused", channel, json: nil)
                #expect(try await sender.nextText().contains("pusher:error"))
                try await eventually {
                    observer.recorded(of: channel).last?.hasPrefix("client-two") == true
                }
                #expect(
                    observer.recorded(of: channel).suffix(2) == [
                        #"client-one {"n":1} of \#(socketID) \#(user)"#,
                        "client-two without data of \(socketID) \(user)",
                    ]
                )
            }
        }
    }

    @Test("The first cache miss, and the event that fills the cache", arguments: [1, 3])
    func caches(loops: Int) async throws {
        try await run(loops: loops) { broker, observer in
            for channel in ["cache-a", "cache-b"] {
                for _ in 0..<2 { _ = try await broker.subscribed(to: channel) }
                for _ in 0..<2 { _ = try await broker.trigger("e", "1", on: channel) }
                try await eventually { observer.recorded(of: channel).contains("filled") }
                _ = try await broker.subscribed(to: channel)
                let recorded = observer.recorded(of: channel).filter {
                    !["occupied", "vacated"].contains($0)
                }
                #expect(recorded == ["miss", "filled"])
            }
        }
    }

    @Test("Counts as subscribers get them, and the last one", arguments: [1, 3])
    func counts(loops: Int) async throws {
        try await run(loops: loops) {
            $0.apps[0].features.subscriptionCount = true
        } _: { broker, observer in
            let (first, _) = try await broker.subscribed(to: "chat")
            let (second, _) = try await broker.subscribed(to: "chat")
            for client in [first, second] { try client.unsubscribe(from: "chat") }
            try await eventually { observer.recorded.last == "chat vacated" }
            #expect(
                observer.recorded(of: "chat") == ["occupied", "1", "2", "1", "0", "vacated"]
            )
        }
    }
}
