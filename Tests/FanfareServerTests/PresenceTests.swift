import Broker
import BrokerConfiguration
import Net
import Testing

@testable import FanfareServer

/// One with its home on each of two shards, so that some notices and grants cross a link.
private let channels = ["presence-a", "presence-b", "presence-c"]

/// Members leave as soon as their last connections do; see `PresenceGraceTests` for the default.
private func leavingAtOnce(_ configuration: inout Configuration) {
    configuration.apps[0].features.presenceGrace = 0
}

@Suite("Presence, Pusher protocol §11") struct PresenceTests {
    @Test("A new member gets the list, and the others a notice", arguments: [1, 2, 3])
    func announcesArrivals(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let info = #"{"n":2,"name":"\ud83d"}"#
            for channel in channels {
                let (ann, first) = try await broker.joined(channel, as: "ann", info: #"{"n":1}"#)
                #expect(first == ["ann"])
                let (bob, second) = try await broker.joined(channel, as: "bob", info: info)
                #expect(second == ["ann", "bob"])
                #expect(try await ann.nextText() == Notice.added("bob", channel, info: info))
                // The new member gets no notice of itself.
                for client in [ann, bob] { try await client.expectNothing() }
            }
        }
    }

    @Test(arguments: [#"Żółć \"😀\""#, #"Ann \ud83d"#])
    func theListIsAString(name: String) async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.connected()
            let data = #"{"user_id":10,"user_info":{"name":"\#(name)"}}"#
            try client.send(subscribeMessage(to: "presence-x", socketID: socketID, data: data))
            let list =
                #"{"presence":{"ids":["10"],"hash":{"10":{"name":"\#(name)"}},"count":1}}"#
            #expect(
                try await client.nextText()
                    == #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-x","data":"\#(quoted(list))"}"#
            )
        }
    }

    @Test func whoHasNothingToTellIsNullInTheListAndHasNoInfoInTheNotice() async throws {
        try await TestBroker.run { broker in
            let (ann, socketID) = try await broker.connected()
            try ann.send(
                subscribeMessage(to: "presence-x", socketID: socketID, data: #"{"user_id":"ann"}"#)
            )
            #expect(try await ann.nextText().contains(#"\"hash\":{\"ann\":null}"#))
            _ = try await broker.joined("presence-x", as: "bob")
            #expect(try await ann.nextText() == Notice.added("bob", "presence-x"))
        }
    }

    @Test("Several connections of a user are one member", arguments: [1, 2, 3])
    func countsUsersOnce(loops: Int) async throws {
        try await TestBroker.run(loops: loops, leavingAtOnce) { broker in
            for channel in channels {
                let (watcher, _) = try await broker.joined(channel, as: "watcher")
                var devices: [WebSocketWire] = []
                for _ in 0..<3 {
                    let (device, users) = try await broker.joined(channel, as: "ann", info: "1")
                    #expect(users == ["ann", "watcher"])
                    devices.append(device)
                }
                #expect(try await watcher.nextText() == Notice.added("ann", channel, info: "1"))
                try await watcher.expectNothing()
                #expect(try await broker.users(of: channel) == ["ann", "watcher"])
                // One unsubscribes, one closes, one is reset: only the last removes the member.
                try devices[0].unsubscribe(from: channel)
                try await devices[0].expectNothing()
                try devices[1].send(opcode: 8, [0x03, 0xE8])
                _ = try await devices[1].wire.readToEnd()
                try await eventually {
                    try await broker.count("subscription_count", of: channel) == 2
                }
                try await watcher.expectNothing()
                #expect(try await broker.users(of: channel) == ["ann", "watcher"])
                devices = []
                #expect(try await watcher.nextText() == Notice.removed("ann", channel))
                try await watcher.expectNothing()
                #expect(try await broker.users(of: channel) == ["watcher"])
            }
        }
    }

    @Test("The last connection may leave in any way", arguments: 0..<3)
    func announcesDepartures(way: Int) async throws {
        try await TestBroker.run(loops: 2, leavingAtOnce) { broker in
            for channel in channels {
                let (watcher, _) = try await broker.joined(channel, as: "watcher")
                var client: WebSocketWire? = try await broker.joined(channel, as: "ann").0
                _ = try await watcher.nextText()
                switch way {
                case 0: try client?.unsubscribe(from: channel)
                case 1: try client?.send(opcode: 8, [0x03, 0xE8])
                default: client = nil
                }
                #expect(try await watcher.nextText() == Notice.removed("ann", channel))
                try await watcher.expectNothing()
                if way == 0 { try await client?.expectNothing() }
            }
        }
    }

    @Test func theInfoOfTheFirstConnectionStays() async throws {
        try await TestBroker.run { broker in
            let (first, _) = try await broker.joined("presence-x", as: "ann", info: "1")
            let (_, socketID) = try await broker.joined("presence-x", as: "ann", info: "2")
            #expect(socketID == ["ann"])
            try await first.expectNothing()
            let (bob, bobID) = try await broker.connected()
            try bob.send(
                subscribeMessage(to: "presence-x", socketID: bobID, data: #"{"user_id":"bob"}"#)
            )
            #expect(try await bob.nextText().contains(#"\"ann\":1"#))
        }
    }

    @Test(
        "A full channel refuses another user, but no further connection of a member",
        arguments: [1, 2]
    )
    func limitsMembers(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].limits.membersMax = 10
        } _: { broker in
            let channel = "presence-full"
            var clients: [WebSocketWire] = []
            for number in 0..<10 {
                clients.append(try await broker.joined(channel, as: "user-\(number)").0)
            }
            let (late, socketID) = try await broker.connected()
            let subscribe = subscribeMessage(
                to: channel,
                socketID: socketID,
                data: #"{"user_id":"late"}"#
            )
            try late.send(subscribe)
            let refusal = try await late.nextText()
            #expect(refusal.contains("pusher:subscription_error"))
            #expect(refusal.contains(#"\"type\":\"LimitReached\""#))
            #expect(refusal.contains(#"\"status\":4100"#))
            #expect(try await late.nextText().contains(#""code":null"#))
            // It is not subscribed: its unsubscription is an error, and its end changes nothing.
            try late.unsubscribe(from: channel)
            #expect(try await late.nextText().contains("No current subscription"))
            #expect(try await broker.count("user_count", of: channel) == 10)
            #expect(try await broker.joined(channel, as: "user-7").users.count == 10)
            try clients[0].unsubscribe(from: channel)
            try await eventually { try await broker.count("user_count", of: channel) == 9 }
            try late.send(subscribe)
            #expect(try late.presentUsers(try await late.nextText()).contains("late"))
        }
    }

    @Test(
        "Data without a user is refused",
        arguments: ["{}", #"{"user_id":""}"#, "7", "nonsense"]
    )
    func refusesData(data: String) async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.connected()
            try client.send(subscribeMessage(to: "presence-x", socketID: socketID, data: data))
            #expect(try await client.nextText().contains(#"\"type\":\"AuthError\""#))
            #expect(try await client.nextText().contains("Invalid channel_data"))
            #expect(try await broker.users(of: "presence-x") == [])
            try await client.expectNothing()
        }
    }

    /// The broker closes the slow reader during a fan-out to the channel, and then has to notify the others.
    @Test("A member who reads too slowly leaves", arguments: [1, 2])
    func slowReaders(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.streamLimits.queuedBytesMax = 256 << 10
            leavingAtOnce(&$0)
        } _: { broker in
            let channel = "presence-x"
            let (quick, _) = try await broker.joined(channel, as: "quick")
            let (slow, _) = try await broker.joined(channel, as: "slow")
            #expect(try await quick.nextText() == Notice.added("slow", channel))
            let data = String(repeating: "x", count: 10_000)
            var text = ""
            for _ in 0..<10_000 where text != Notice.removed("slow", channel) {
                _ = try await broker.trigger("e", data, on: channel)
                text = try await quick.nextText()
            }
            #expect(text == Notice.removed("slow", channel))
            #expect(try await broker.users(of: channel) == ["quick"])
            withExtendedLifetime(slow) {}
        }
    }

    @Test("Joining and leaving in one write leaves no member behind", arguments: [1, 2, 3])
    func races(loops: Int) async throws {
        try await TestBroker.run(loops: loops, leavingAtOnce) { broker in
            for channel in channels {
                let (watcher, _) = try await broker.joined(channel, as: "watcher")
                let (client, socketID) = try await broker.connected()
                let join = subscribeMessage(
                    to: channel,
                    socketID: socketID,
                    data: #"{"user_id":"ann"}"#
                )
                for _ in 0..<3 {
                    try client.send(join)
                    try client.unsubscribe(from: channel)
                }
                for _ in 0..<3 {
                    #expect(try await watcher.nextText() == Notice.added("ann", channel))
                    #expect(try await watcher.nextText() == Notice.removed("ann", channel))
                }
                try await watcher.expectNothing()
                #expect(try await broker.users(of: channel) == ["watcher"])
            }
        }
    }
}

extension TestBroker {
    /// One of the counts of a channel.
    func count(_ attribute: String, of channel: String) async throws -> Int? {
        let answer = try await Wire(port: port)
            .ask(
                SignedRequest(
                    method: "GET",
                    path: "/apps/1/channels/\(channel)",
                    parameters: [("info", attribute)]
                )
            )
        let value = answer.body.split(separator: "\"\(attribute)\":").last
        return value.flatMap { Int($0.prefix { $0.isNumber }) }
    }
}
