import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import Testing

@testable import FanfareServer

/// Several, so that some homes are on another shard than the clients.
private let channels = ["a", "b", "private-c"]

private struct Described: Decodable {
    struct Position: Decodable {
        let stream: String
        let serial: UInt64
    }
    let position: Position
}

private let rule = {
    var rule = RecoveryRuleConfiguration()
    rule.settings.keep = .always
    rule.settings.replaysBeforeJoining = false
    return rule
}()

@Suite("Channels that replay nothing from before a client joined, before_joining: false")
struct JoiningTests {
    private let unknown = SubscriptionStart.Continuity.gap(RecoveryGap(.unknownStream))

    @Test("A client resumes from where it joined on, and no earlier", arguments: [1, 3])
    func resumes(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].recoveryRules = [rule]
        } _: { broker in
            for channel in channels {
                for data in 1...3 { _ = try await broker.trigger("e", "\(data)", on: channel) }
                let first = try await TrackingWire(broker, channel)
                #expect(first.start.continuity == .began && first.serial == 3)
                first.cut()
                for data in 4...5 { _ = try await broker.trigger("e", "\(data)", on: channel) }
                let second = try await TrackingWire(broker, channel, behind: first)
                #expect(second.start.continuity == .recovered(replay: 2))
                #expect(second.position.stream == first.position.stream)
                #expect(try await second.next(2) == ["4", "5"])
                let stream = first.position.stream
                let early = ChannelPosition(stream: stream, serial: 2)
                let third = try await TrackingWire(broker, channel, position: early)
                #expect(third.start.continuity == unknown && third.serial == 5)
            }
        }
    }

    @Test("An ID is of one channel, one serial, and not to be guessed")
    func forgeries() async throws {
        try await TestBroker.run {
            $0.apps[0].recoveryRules = [rule]
        } _: { broker in
            for channel in ["a", "b"] { _ = try await broker.trigger("e", "1", on: channel) }
            let own = try await TrackingWire(broker, "a").position
            let parts = own.stream.text.split(separator: ".").map(String.init)
            #expect(parts.count == 3 && parts[1] == "1" && parts[2].count == 16)
            let mac = parts[2]
            let turned = mac.hasPrefix("0") ? "1" + mac.dropFirst() : "0" + mac.dropFirst()
            for forged in [
                parts[0], "\(parts[0]).0.\(mac)", "\(parts[0]).1.\(turned)", "\(parts[0]).1.",
                "\(parts[0]).1", "\(parts[0]).0.\(mac.dropLast())", "..", "\(mac).1.\(mac)",
            ] {
                guard let stream = StreamID(forged) else { preconditionFailure("not an ID") }
                let position = ChannelPosition(stream: stream, serial: 1)
                let client = try await TrackingWire(broker, "a", position: position)
                #expect(client.start.continuity == unknown, "\(forged)")
            }
            let elsewhere = try await TrackingWire(broker, "b", position: own)
            #expect(elsewhere.start.continuity == unknown)
        }
    }

    @Test("A page subscribes from the position of its state, and backends use positions as ever")
    func backends() async throws {
        try await TestBroker.run {
            $0.apps[0].recoveryRules = [rule]
        } _: { broker in
            func ask(_ request: SignedRequest) async throws -> Answer {
                try await Wire(port: broker.port).ask(request)
            }
            func position() async throws -> Described.Position {
                let answer = try await ask(
                    SignedRequest(
                        method: "GET",
                        path: "/apps/1/channels/a",
                        parameters: [("info", "position")]
                    )
                )
                return try JSONDecoder().decode(Described.self, from: Data(answer.body.utf8))
                    .position
            }
            _ = try await broker.trigger("e", "1", on: "a")
            let state = try await position()
            _ = try await broker.trigger("e", "2", on: "a")
            let start = ChannelPosition(
                stream: try #require(StreamID(state.stream)),
                serial: state.serial
            )
            let page = try await TrackingWire(broker, "a", position: start)
            #expect(try await page.next() == "2")
            let now = try await position()
            for (position, status) in [(state, 412), (now, 200)] {
                let condition = #"{"stream":"\#(position.stream)","serial":\#(position.serial)}"#
                let body =
                    #"{"name":"e","channel":"a","data":"3","info":"position","if_position":\#(condition)}"#
                let answer = try await ask(SignedRequest(path: "/apps/1/events", body: body))
                #expect(answer.status == status, "\(answer.body)")
                let member = #""stream":"\#(now.stream.prefix(12))"#
                #expect(status == 412 || answer.body.contains(member))
            }
            let history = try await ask(
                SignedRequest(
                    method: "GET",
                    path: "/apps/1/channels/a/history",
                    parameters: [("stream", state.stream)]
                )
            )
            #expect(history.status == 200 && history.body.contains(#""serial":3"#))
        }
    }
}
