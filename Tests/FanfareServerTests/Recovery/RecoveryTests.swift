import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import Testing

@testable import FanfareServer

/// Several, so that some homes are on another shard than the clients.
private let channels = ["a", "b", "c", "private-d"]

@Suite("Recovery") struct RecoveryTests {
    private func trigger(_ broker: TestBroker, _ channel: String, _ data: [String]) async throws {
        for data in data {
            #expect(try await broker.trigger("e", data, on: channel).status == 200)
        }
    }

    @Test("What was missed follows the acknowledgement, then live events", arguments: [1, 3])
    func resumes(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let first = try await TrackingWire(broker, channel)
                #expect(first.start.continuity == .began && first.serial == 0)
                try await trigger(broker, channel, ["1", "2"])
                #expect(try await first.next(2) == ["1", "2"])
                first.cut()
                try await trigger(broker, channel, ["3", "4", "5"])
                let second = try await TrackingWire(broker, channel, behind: first)
                #expect(second.start.continuity == .recovered(replay: 3))
                #expect(second.position == first.position)
                try await trigger(broker, channel, ["6"])
                #expect(try await second.next(4) == ["3", "4", "5", "6"])
                second.cut()
                let third = try await TrackingWire(broker, channel, behind: second)
                #expect(third.start.continuity == .recovered(replay: 0))
                try await third.client.expectNothing()
            }
        }
    }

    @Test(
        "A client that does not track sees nothing of it but numbers in events",
        arguments: [1, 3]
    )
    func stockClients(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let (stock, socketID) = try await broker.subscribed(to: channel)
                try await trigger(broker, channel, ["1"])
                #expect(try await stock.nextText() == eventText("e", channel, data: "1"))
                let tracking = try await TrackingWire(broker, channel)
                #expect(tracking.serial == 0)
                try await trigger(broker, channel, ["2"])
                let numbered = eventText("e", channel, data: "2").dropLast() + #","serial":1}"#
                #expect(try await stock.nextText() == numbered)
                #expect(
                    try await broker.trigger("e", "3", on: channel, except: socketID).status == 200
                )
                #expect(try await tracking.next(2) == ["2", "3"])
                try await stock.expectNothing()
            }
        }
    }

    @Test("What leaves a client out leaves no hole, live and replayed", arguments: [1, 3])
    func exclusions(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let first = try await TrackingWire(broker, channel)
                try await trigger(broker, channel, ["1"])
                #expect(
                    try await broker.trigger("e", "2", on: channel, except: first.socketID).status
                        == 200
                )
                try await trigger(broker, channel, ["3"])
                #expect(try await first.next(3) == ["1", nil, "3"])
                first.cut()
                #expect(
                    try await broker.trigger("e", "4", on: channel, except: first.socketID).status
                        == 200
                )
                try await trigger(broker, channel, ["5"])
                let second = try await TrackingWire(broker, channel, behind: first)
                #expect(try await second.next(2) == [nil, "5"])
            }
        }
    }

    @Test("A client event is numbered for its sender, too", arguments: [1, 3])
    func clientEvents(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in ["private-a", "private-b", "private-c"] {
                let sender = try await TrackingWire(broker, channel)
                let reader = try await TrackingWire(broker, channel)
                let event = #"{"event":"client-e","channel":"\#(channel)","data":"1""#
                try sender.client.send(event + "}")
                #expect(try await reader.next() == "1")
                #expect(try await sender.next() == nil)
                try sender.client.send(event + #","key":"k"}"#)
                let receipt = ServerMessage.position(channel: channel, serial: 2, key: "k")
                #expect(
                    try await sender.client.nextText()
                        == String(decoding: receipt.bytes, as: UTF8.self)
                )
                #expect(try await reader.next() == "1")
            }
        }
    }

    @Test("A gap is told with its reason, and the client stands at the present")
    func gaps() async throws {
        try await TestBroker.run {
            $0.apps[0].recovery.standard.messagesMax = 3
        } _: { broker in
            let first = try await TrackingWire(broker, "a")
            try await trigger(broker, "a", ["1"])
            _ = try await first.next()
            first.cut()
            try await trigger(broker, "a", ["2", "3", "4", "5"])
            let second = try await TrackingWire(broker, "a", behind: first)
            #expect(second.start.continuity == .gap(RecoveryGap(.truncated, missed: 4)))
            #expect(second.serial == 5)
            let stream = second.position.stream
            for (position, reason) in [
                (ChannelPosition(stream: stream, serial: 6), RecoveryGap.Reason.ahead),
                (ChannelPosition(stream: StreamID(bits: 1), serial: 0), .unknownStream),
            ] {
                let client = try await TrackingWire(broker, "a", position: position)
                #expect(client.start.continuity == .gap(RecoveryGap(reason)))
                #expect(client.position == second.position)
            }
            try await trigger(broker, "a", ["6"])
            #expect(try await second.next() == "6")
        }
    }

    @Test("A malformed position is refused, and the connection stays open")
    func malformed() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try client.send(
                #"{"event":"pusher:subscribe","data":{"channel":"a","position":{"serial":1}}}"#
            )
            let refusal = try await client.nextText()
            for part in ["pusher:subscription_error", "InvalidPosition", #"\"status\":400"#] {
                #expect(refusal.contains(part))
            }
            #expect(try await client.nextText().contains("pusher:error"))
            try await client.subscribe(to: "a")
        }
    }

    @Test("Without recovery positions are ignored")
    func disabled() async throws {
        try await TestBroker.run {
            $0.apps[0].recovery.isEnabled = false
        } _: { broker in
            let (client, _) = try await broker.connected()
            try client.send(
                #"{"event":"pusher:subscribe","data":{"channel":"a","position":{}}}"#
            )
            #expect(try await client.nextText().contains(#""data":"{}""#))
            try await trigger(broker, "a", ["1"])
            #expect(try await client.nextText() == eventText("e", "a", data: "1"))
        }
    }

    @Test(
        "A rule may keep what comes before the first subscriber, and rewind to it",
        arguments: [1, 3]
    )
    func rewinds(loops: Int) async throws {
        var rule = RecoveryRuleConfiguration()
        rule.settings.keep = .always
        rule.settings.allowsRewind = true
        try await TestBroker.run(loops: loops) {
            $0.apps[0].recoveryRules = [rule]
        } _: { broker in
            for channel in channels {
                try await trigger(broker, channel, ["1", "2", "3"])
                let client = try await TrackingWire(
                    broker,
                    channel,
                    members: #","rewind":{"count":2}"#
                )
                #expect(client.start.isRewindComplete == true && client.serial == 1)
                #expect(try await client.next(2) == ["2", "3"])
            }
        }
    }

    @Test("On a cache channel the cached event precedes for who is new or has missed something")
    func cacheChannels() async throws {
        try await TestBroker.run {
            $0.apps[0].recovery.standard.messagesMax = 2
        } _: { broker in
            let channel = "cache-a"
            try await trigger(broker, channel, ["0"])
            let first = try await TrackingWire(broker, channel)
            #expect(first.start.hasOpening)
            #expect(try await first.client.nextText() == eventText("e", channel, data: "0"))
            try await trigger(broker, channel, ["1"])
            #expect(try await first.next() == "1")
            first.cut()
            try await trigger(broker, channel, ["2"])
            let second = try await TrackingWire(broker, channel, behind: first)
            #expect(!second.start.hasOpening)
            #expect(try await second.next() == "2")
            second.cut()
            try await trigger(broker, channel, ["3", "4", "5"])
            let third = try await TrackingWire(broker, channel, behind: second)
            #expect(third.start.hasOpening)
            #expect(third.start.continuity == .gap(RecoveryGap(.truncated, missed: 3)))
            #expect(try await third.client.nextText() == eventText("e", channel, data: "5"))
        }
    }

    @Test("Members are those of the present, and events of a presence channel are replayed")
    func presence() async throws {
        try await TestBroker.run { broker in
            let channel = "presence-a"
            let (client, socketID) = try await broker.connected()
            let user = #"{"user_id":"ann"}"#
            let message = subscribeMessage(to: channel, socketID: socketID, data: user)
            try client.send(message.dropLast(2) + #","position":{}}}"#)
            let answer = try await client.nextText()
            #expect(answer.contains(#"\"presence\":{\"ids\":[\"ann\"]"#))
            #expect(answer.contains(#"\"position\":{\"stream\":"#))
            try await trigger(broker, channel, ["1"])
            let numbered = eventText("e", channel, data: "1").dropLast() + #","serial":1}"#
            #expect(try await client.nextText() == numbered)
        }
    }

    @Test("Nothing is lost or doubled while events come during every resume", arguments: [1, 3])
    func races(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for channel in channels {
                    group.addTask {
                        let count = 300
                        var client = try await TrackingWire(broker, channel)
                        async let published: Void = {
                            for number in 1...count {
                                _ = try await broker.trigger("e", "\(number)", on: channel)
                            }
                        }()
                        var last = 0
                        while last < count {
                            let portion = Int.random(in: 1...min(4, count - last))
                            for data in try await client.next(portion) {
                                let number = try #require(data.flatMap { Int($0) })
                                #expect(number == last + 1)
                                last = number
                            }
                            guard last < count else { break }
                            client.cut()
                            client = try await TrackingWire(broker, channel, behind: client)
                            guard case .recovered = client.start.continuity else {
                                Issue.record("\(client.start)")
                                return
                            }
                        }
                        try await published
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
