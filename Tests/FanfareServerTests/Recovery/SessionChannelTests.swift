import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import Testing

@testable import FanfareServer

/// Several, so that some homes are on another shard than the clients.
private let channels = ["a", "b", "private-c"]

@Suite("Sessions of stock clients, and what becomes of their channels") struct SessionChannelTests {
    private func run(
        _ change: (inout Configuration) -> Void = { _ in },
        _ body: (TestBroker) async throws -> Void
    ) async throws {
        for loops in [1, 3] {
            try await TestBroker.run(loops: loops, change) { broker in
                await broker.knowsAllSessions()
                try await body(broker)
            }
        }
    }

    @Test("A purge is told at once as a gap, and again until the client has confirmed it")
    func purges() async throws {
        try await run { broker in
            for channel in channels {
                let token = StockWire.token()
                let first = try await StockWire(broker, token)
                _ = try await first.subscribe(to: channel)
                _ = try await broker.trigger("e", "1", on: channel)
                #expect(try await first.events(1) == ["1"])
                let path = "/apps/1/channels/\(channel)/history"
                let request = SignedRequest(method: "DELETE", path: path)
                #expect(try await Wire(port: broker.port).ask(request).status == 200)
                let gap = #"pusher:gap {"reason":"unknown_stream"}"#
                _ = try await broker.trigger("e", "2", on: channel)
                #expect(try await first.events(2) == [gap, "2"])
                try await first.cut(broker)
                let second = try await StockWire(broker, token)
                _ = try await second.subscribe(to: channel)
                #expect(try await second.events(2) == [gap, "2"])
                try await second.confirm()
                try await second.cut(broker)
                _ = try await broker.trigger("e", "3", on: channel)
                let third = try await StockWire(broker, token)
                _ = try await third.subscribe(to: channel)
                #expect(try await third.events(1) == ["3"])
            }
        }
    }

    @Test("Earlier messages of a first subscription are confirmed like others")
    func openings() async throws {
        try await run {
            var rule = RecoveryRuleConfiguration()
            rule.settings.keep = .always
            rule.opening = .replay
            $0.apps[0].recoveryRules = [rule]
        } _: { broker in
            for channel in channels {
                let token = StockWire.token()
                for data in ["1", "2"] { _ = try await broker.trigger("e", data, on: channel) }
                let first = try await StockWire(broker, token)
                #expect(try await first.subscribe(to: channel) == "{}")
                #expect(try await first.events(2) == ["1", "2"])
                try await first.confirm()
                try await first.cut(broker)
                _ = try await broker.trigger("e", "3", on: channel)
                let second = try await StockWire(broker, token)
                _ = try await second.subscribe(to: channel)
                #expect(try await second.events(1) == ["3"])
            }
        }
    }

    @Test("What the client has confirmed is in the records of its connections")
    func records() async throws {
        try await run { broker in
            for channel in channels {
                let token = StockWire.token()
                let first = try await StockWire(broker, token)
                _ = try await first.subscribe(to: channel)
                for data in ["1", "2"] {
                    _ = try await broker.trigger("e", data, on: channel)
                    #expect(try await first.events(1) == [data])
                    if data == "1" { try await first.confirm() }
                }
                try await first.cut(broker)
                let second = try await StockWire(broker, token)
                _ = try await second.subscribe(to: channel)
                #expect(try await second.events(1) == ["2"])
                for (serial, socketID, verdict) in [
                    (1, first.socketID, "confirmed"), (2, first.socketID, "sent"),
                    (2, second.socketID, "replayed"),
                ] {
                    let request = SignedRequest(
                        method: "GET",
                        path: "/apps/1/channels/\(channel)/messages/\(serial)/delivery",
                        parameters: [("socket_id", socketID)]
                    )
                    let answer = try await Wire(port: broker.port).ask(request)
                    #expect(
                        answer.body.contains(#""verdict":"\#(verdict)""#),
                        "\(serial) \(answer.body)"
                    )
                }
            }
        }
    }
}
