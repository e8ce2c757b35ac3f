import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import SQLite
import Testing

@testable import FanfareServer

/// A broker whose channels with the prefix `stored` are in a file of a folder.
struct StoredBroker {
    let folder: TemporaryFolder
    /// Changes the configuration further.
    var change: @Sendable (inout Configuration) -> Void = { _ in }

    init() throws { folder = try TemporaryFolder() }

    var path: String { folder.path("history.sqlite") }

    /// Runs a broker over the file, and stops it.
    @discardableResult
    func run<R>(loops: Int = 1, _ body: (TestBroker) async throws -> R) async throws -> R {
        try await TestBroker.run(
            loops: loops,
            { configuration in
                configuration.recovery.database = path
                var rule = RecoveryRuleConfiguration()
                rule.settings.channelPrefix = "stored"
                rule.settings.store = .archive
                rule.settings.keep = .always
                rule.settings.allowsRewind = true
                configuration.apps[0].recoveryRules = [rule]
                change(&configuration)
            },
            body
        )
    }
}

extension TestBroker {
    /// Triggers an event with further members.
    func trigger(_ data: String, on channel: String, members: String) async throws -> Answer {
        let body = #"{"name":"e","channel":"\#(channel)","data":"\#(data)"\#(members)}"#
        return try await Wire(port: port).ask(SignedRequest(path: "/apps/1/events", body: body))
    }

    /// Asks for a channel's history.
    func history(_ channel: String, _ parameters: [(String, String)] = []) async throws -> Answer {
        try await Wire(port: port).ask(
            SignedRequest(
                method: "GET",
                path: "/apps/1/channels/\(channel)/history",
                parameters: parameters
            )
        )
    }
}

@Suite("Stored channels") struct StoredChannelTests {
    @Test("A restart loses nothing, under the same stream ID", arguments: [1, 3])
    func restart(loops: Int) async throws {
        let stored = try StoredBroker()
        let channels = ["stored-a", "stored-b", "stored-c", "stored-d"]
        var positions: [String: ChannelPosition] = [:]
        try await stored.run(loops: loops) { broker in
            for channel in channels {
                let device = try await TrackingWire(broker, channel)
                for number in 1...3 {
                    #expect(try await broker.trigger("e", "\(number)", on: channel).status == 200)
                }
                #expect(try await device.next(3) == ["1", "2", "3"])
                positions[channel] = device.position
            }
            // Missed by the devices.
            for channel in channels {
                for number in 4...5 {
                    #expect(try await broker.trigger("e", "\(number)", on: channel).status == 200)
                }
            }
        }
        // Another number of loops, and of homes.
        try await stored.run(loops: 4 - loops) { broker in
            for channel in channels {
                let known = try #require(positions[channel])
                let device = try await TrackingWire(broker, channel, position: known)
                #expect(device.start.continuity == .recovered(replay: 2), "\(device.start)")
                #expect(try await device.next(2) == ["4", "5"])
                #expect(try await broker.trigger("e", "6", on: channel).status == 200)
                #expect(try await device.next(1) == ["6"])
                #expect(device.position == ChannelPosition(stream: known.stream, serial: 6))
            }
        }
    }

    @Test("The last event of a cache channel comes once, though several were written together")
    func cacheChannels() async throws {
        var stored = try StoredBroker()
        stored.change = {
            $0.apps[0].recoveryRules[0].settings.channelPrefix = "cache-"
            $0.apps[0].recoveryRules[0].settings.opening = .replay(count: nil, seconds: nil)
        }
        try await stored.run { broker in
            let events = (1...3).map { #"{"name":"e","channel":"cache-a","data":"\#($0)"}"# }
            let body = #"{"batch":[\#(events.joined(separator: ","))]}"#
            let request = SignedRequest(path: "/apps/1/batch_events", body: body)
            #expect(try await Wire(port: broker.port).ask(request).status == 200)
            let (client, _) = try await broker.subscribed(to: "cache-a")
            for serial in 1...3 {
                let text = eventText("e", "cache-a", data: "\(serial)")
                #expect(try await client.nextText() == text.dropLast() + #","serial":\#(serial)}"#)
            }
            try await client.expectNothing()
        }
    }

    @Test(
        "A channel on which nothing was published costs the file nothing, and is recovered after a stop",
        arguments: [RecoveryRule.Keep.always, .whileNeeded]
    )
    func silence(keep: RecoveryRule.Keep) async throws {
        var stored = try StoredBroker()
        stored.change = { $0.apps[0].recoveryRules[0].settings.keep = keep }
        func rows() throws -> Int64? {
            let connection = try SQLiteConnection(path: stored.path, busyTimeout: 1_000)
            defer { connection.close() }
            return try connection.integer("SELECT COUNT(*) FROM streams")
        }
        var known: ChannelPosition?
        try await stored.run(loops: 2) { broker in
            let device = try await TrackingWire(broker, "stored-silent")
            known = device.position
            #expect(device.position.serial == 0)
            // Its own group would be written before the event is answered.
            #expect(try await broker.trigger("e", "1", on: "stored-other").status == 200)
            #expect(try rows() == (keep == .always ? 1 : 0))
        }
        for loops in [1, 3] {
            try await stored.run(loops: loops) { broker in
                let position = try #require(known)
                let device = try await TrackingWire(broker, "stored-silent", position: position)
                #expect(device.start.continuity == .recovered(replay: 0), "\(device.start)")
                #expect(device.position == position)
            }
        }
        #expect(try rows() == 1)
        try await stored.run { broker in
            #expect(try await broker.trigger("e", "1", on: "stored-silent").status == 200)
            let position = try #require(known)
            let device = try await TrackingWire(broker, "stored-silent", position: position)
            #expect(device.start.continuity == .recovered(replay: 1), "\(device.start)")
        }
    }

    @Test(
        "Publishers get the positions of the order, also of concurrent events",
        arguments: [1, 3]
    )
    func order(loops: Int) async throws {
        let stored = try StoredBroker()
        try await stored.run(loops: loops) { broker in
            let device = try await TrackingWire(broker, "stored")
            try await withThrowingTaskGroup { group in
                for publisher in 0..<4 {
                    group.addTask {
                        for number in 0..<25 {
                            let answer = try await broker.trigger(
                                "\(publisher).\(number)",
                                on: "stored",
                                members: ""
                            )
                            #expect(answer.status == 200, "\(answer.body)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            let received = try await device.next(100).compactMap { $0 }
            for publisher in 0..<4 {
                let own = received.filter { $0.hasPrefix("\(publisher).") }
                #expect(own == (0..<25).map { "\(publisher).\($0)" })
            }
            let page = try await broker.history("stored", [("limit", "1000")])
            #expect(page.body.contains(#""serial":100"#))
        }
    }

    @Test("What is no longer in memory comes from the file")
    func file() async throws {
        var stored = try StoredBroker()
        stored.change = { $0.apps[0].recoveryRules[0].messagesMax = 5_000 }
        try await stored.run { broker in
            let first = try await TrackingWire(broker, "stored")
            let begin = first.position
            first.cut()
            for batch in 0..<150 {
                let events = (0..<10)
                    .map { #"{"name":"e","channel":"stored","data":"\#(batch * 10 + $0 + 1)"}"# }
                let answer = try await Wire(port: broker.port).ask(
                    SignedRequest(
                        path: "/apps/1/batch_events",
                        body: #"{"batch":[\#(events.joined(separator: ","))]}"#
                    )
                )
                #expect(answer.status == 200, "\(answer.body)")
            }
            // The ring has the last 1,000.
            let device = try await TrackingWire(broker, "stored", position: begin)
            #expect(device.start.continuity == .recovered(replay: 1_500), "\(device.start)")
            #expect(try await device.next(1_500) == (1...1_500).map { "\($0)" })
            let rewound = try await TrackingWire(
                broker,
                "stored",
                members: #","rewind":{"count":1200}"#
            )
            #expect(rewound.start.rewound == 1_200 && rewound.start.isRewindComplete == true)
            let page = try await broker.history("stored", [("after", "10"), ("limit", "2")])
            #expect(page.body.contains(#""oldest":1,"#), "\(page.body)")
            #expect(page.body.contains(#""serial":11"#) && page.body.contains(#""next":12"#))
        }
    }

    @Test("A key is remembered across a restart") func keys() async throws {
        let stored = try StoredBroker()
        let members = #","idempotency_key":"k","info":"position""#
        let first = try await stored.run {
            try await $0.trigger("1", on: "stored", members: members)
        }
        #expect(first.status == 200 && !first.body.contains("repeated"))
        try await stored.run { broker in
            let again = try await broker.trigger("1", on: "stored", members: members)
            #expect(again.status == 200 && again.body.contains(#""repeated":true"#))
            #expect(again.body.contains(#""serial":1"#), "\(again.body)")
            let other = try await broker.trigger("2", on: "stored", members: members)
            #expect(other.status == 422)
        }
    }

    @Test("Concurrent events under one key are published once") func concurrentKeys() async throws {
        let stored = try StoredBroker()
        try await stored.run(loops: 2) { broker in
            let answers = try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await broker.trigger(
                            "1",
                            on: "stored",
                            members: #","idempotency_key":"k","info":"position""#
                        )
                    }
                }
                return try await group.reduce(into: [Answer]()) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 && $0.body.contains(#""serial":1"#) })
            #expect(answers.count { !$0.body.contains("repeated") } == 1)
        }
    }

    @Test("durable is refused for a channel in memory, and answered behind the disk")
    func durable() async throws {
        let stored = try StoredBroker()
        try await stored.run { broker in
            let durable = #","durable":true"#
            #expect(try await broker.trigger("1", on: "stored", members: durable).status == 200)
            let refused = try await broker.trigger("1", on: "other", members: durable)
            #expect(refused.status == 400)
            #expect(refused.body.contains("Channel other is kept in memory"), "\(refused.body)")
            let both = #","durable":true,"ephemeral":true"#
            #expect(try await broker.trigger("1", on: "stored", members: both).status == 400)
            let page = try await broker.history("stored")
            #expect(page.body.contains(#""serial":1"#))
        }
    }

    @Test("A condition is decided behind what is on its way to the file") func conditions()
        async throws
    {
        let stored = try StoredBroker()
        try await stored.run { broker in
            let device = try await TrackingWire(broker, "stored")
            let position = #"{"stream":"\#(device.position.stream)","serial":0}"#
            let answers = try await withThrowingTaskGroup { group in
                for number in 0..<6 {
                    group.addTask {
                        try await broker.trigger(
                            "\(number)",
                            on: "stored",
                            members: #","if_position":\#(position)"#
                        )
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1.status) }
            }
            #expect(answers.sorted() == [200, 412, 412, 412, 412, 412])
        }
    }

    @Test("A rule that keeps in memory again deletes what is in the file") func backToMemory()
        async throws
    {
        var stored = try StoredBroker()
        let position = try await stored.run { broker in
            _ = try await broker.trigger("1", on: "stored", members: "")
            return try await TrackingWire(broker, "stored").position
        }
        stored.change = { $0.apps[0].recoveryRules[0].settings.store = .memory }
        try await stored.run { broker in
            _ = try await broker.trigger("2", on: "stored", members: "")
            let device = try await TrackingWire(broker, "stored", position: position)
            guard case .gap(let gap) = device.start.continuity else {
                Issue.record("\(device.start)")
                return
            }
            #expect(gap.reason == .unknownStream)
        }
        stored.change = { _ in }
        try await stored.run { broker in
            let device = try await TrackingWire(broker, "stored", position: position)
            guard case .gap = device.start.continuity else {
                Issue.record("\(device.start)")
                return
            }
        }
    }
}
