import Broker
import BrokerConfiguration
import Foundation
import Net
import PusherProtocol
import Testing

@testable import FanfareServer

/// Several, so that some homes are on another shard than the clients.
private let channels = ["a", "b", "private-c"]

extension TestBroker {
    fileprivate func trigger(_ count: Int, on channel: String, except: String? = nil) async throws {
        for data in 0..<count {
            let excluded = except.map { #","socket_id":"\#($0)""# } ?? ""
            let body = #"{"name":"e","channel":"\#(channel)","data":"\#(data)"\#(excluded)}"#
            let request = SignedRequest(path: "/apps/1/events", body: body)
            #expect(try await Wire(port: port).ask(request).status == 200)
        }
    }
}

@Suite("What became of a message, GET /apps/{id}/channels/{name}/messages/{serial}/delivery")
struct DeliveryTests {
    @Test("It was sent, or came before the subscription or behind its end", arguments: [1, 3])
    func subscriptions(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let first = try await TrackingWire(broker, channel)
                try await broker.trigger(2, on: channel)
                let client = try await TrackingWire(broker, channel)
                try await broker.trigger(1, on: channel)
                _ = try await client.next()
                try client.client.send(
                    #"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#
                )
                try await client.client.expectNothing()
                try await broker.trigger(1, on: channel)
                for (serial, verdict) in [
                    (1, "before_joining"), (2, "before_joining"), (3, "sent"), (4, "after_leaving"),
                    (0, "never_published"), (5, "never_published"),
                ] {
                    #expect(
                        try await broker.verdict(serial, on: channel, client) == verdict,
                        "\(serial)"
                    )
                }
                for serial in 1...4 {
                    #expect(try await broker.verdict(serial, on: channel, first) == "sent")
                }
                let delivery = try await broker.delivery(3, on: channel, socket: client.socketID)
                let message = try #require(delivery.message)
                #expect(message.serial == 3 && message.last == 4 && message.kept)
                #expect(
                    abs(Date().timeIntervalSince1970 * 1_000 - Double(message.published ?? 0))
                        < 60_000
                )
                let subscription = try #require(delivery.connections?.first?.subscription)
                #expect(subscription.start == 2 && subscription.live == 2 && subscription.end == 3)
            }
        }
    }

    @Test("Behind a cut it was replayed, and the next position confirms it", arguments: [1, 3])
    func cuts(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let first = try await TrackingWire(broker, channel)
                try await broker.trigger(2, on: channel)
                _ = try await first.next(2)
                first.cut()
                try await eventually {
                    try await broker.delivery(1, on: channel, socket: first.socketID)
                        .connections?.first?.closed != nil
                }
                try await broker.trigger(2, on: channel)
                let second = try await TrackingWire(broker, channel, behind: first)
                _ = try await second.next(2)
                // The client's own position proves what it has got; what it missed was replayed.
                for (serial, verdict) in [(1, "confirmed"), (2, "confirmed"), (3, "replayed")] {
                    #expect(try await broker.verdict(serial, on: channel, first) == verdict)
                }
                let delivery = try await broker.delivery(4, on: channel, socket: first.socketID)
                let connections = try #require(delivery.connections)
                #expect(connections.map(\.socket_id) == [first.socketID, second.socketID])
                #expect(connections.map(\.verdict) == ["after_leaving", "replayed"])
                #expect(connections[0].subscription?.successor == second.socketID)
                #expect(connections[0].subscription?.end == 2)
                #expect(connections[1].subscription?.resumed_from == 2)
                #expect(connections[1].subscription?.predecessor == first.socketID)
                second.cut()
                let third = try await TrackingWire(broker, channel, behind: second)
                #expect(try await broker.verdict(4, on: channel, first) == "confirmed")
                // Of three connections of one client, one counts.
                let counts = try await broker.delivery(4, on: channel).counts
                #expect(counts == ["confirmed": 1])
                third.cut()
            }
        }
    }

    @Test("A gap is told with its reason")
    func gaps() async throws {
        try await TestBroker.run {
            $0.apps[0].recovery.standard.messagesMax = 2
        } _: { broker in
            let first = try await TrackingWire(broker, "a")
            first.cut()
            try await broker.trigger(5, on: "a")
            let second = try await TrackingWire(broker, "a", behind: first)
            let delivery = try await broker.delivery(3, on: "a", socket: second.socketID)
            #expect(delivery.verdict == "gap_told" && delivery.message?.kept == false)
            #expect(delivery.connections?.first?.subscription?.gap == "truncated")
            try await broker.trigger(1, on: "a")
            #expect(try await broker.verdict(6, on: "a", second) == "sent")
            try await broker.trigger(3, on: "a")
            // Whether it excluded the connection is known no more.
            #expect(try await broker.verdict(6, on: "a", second) == "not_kept")
        }
    }

    @Test("What excludes the connection was left out, live and in a replay", arguments: [1, 3])
    func exclusions(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let first = try await TrackingWire(broker, channel)
                try await broker.trigger(1, on: channel, except: first.socketID)
                #expect(try await broker.verdict(1, on: channel, first) == "left_out")
                _ = try await first.next()
                first.cut()
                try await broker.trigger(1, on: channel, except: first.socketID)
                let second = try await TrackingWire(broker, channel, behind: first)
                #expect(try await second.next() == nil)
                #expect(try await broker.verdict(2, on: channel, second) == "left_out")
                let delivery = try await broker.delivery(2, on: channel, socket: second.socketID)
                #expect(delivery.message?.excluded == first.socketID)
            }
        }
    }

    @Test("A queue that was dropped names its first message")
    func slowReaders() async throws {
        try await TestBroker.run {
            $0.streamLimits.queuedBytesMax = 64 << 10
            $0.apps[0].recovery.standard.messagesMax = 10_000
            $0.apps[0].recovery.standard.bytesMax = 64 << 20
        } _: { broker in
            let slow = try await TrackingWire(broker, "a")
            let data = String(repeating: "x", count: 9_000)
            var delivery: Delivery?
            for _ in 0..<2_000 {
                _ = try await broker.trigger("e", data, on: "a")
                delivery = try await broker.delivery(1, on: "a", socket: slow.socketID)
                if delivery?.connections?.first?.closed != nil { break }
            }
            let connection = try #require(delivery?.connections?.first)
            let last = try #require(delivery?.message?.last)
            #expect(connection.code == 4100)
            let dropped = try #require(connection.subscription?.dropped_from)
            #expect((2...last).contains(dropped))
            for (serial, verdict) in [(dropped - 1, "sent"), (dropped, "dropped")] {
                #expect(try await broker.verdict(serial, on: "a", slow) == verdict)
            }
            // The connection has got exactly what came before.
            for serial in 1..<dropped {
                #expect(try await slow.next() == data, "\(serial)")
            }
        }
    }

    @Test("Connections of a user, with library and end", arguments: [1, 3])
    func users(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let channel = "presence-a"
            var (sockets, clients) = ([String](), [WebSocketWire]())
            for user in ["ann", "bob", "ann"] {
                let client = try await WebSocketWire(
                    port: broker.port,
                    target: "/app/app-key?protocol=7&client=js&version=8.6.0"
                )
                let socketID = try await client.socketID()
                let data = #"{"user_id":"\#(user)"}"#
                let message = subscribeMessage(to: channel, socketID: socketID, data: data)
                try client.send(message.dropLast(2) + #","position":{}}}"#)
                _ = try await client.nextText()
                clients.append(client)
                if user == "ann" { sockets.append(socketID) }
                if clients.count == 1 { try client.send(opcode: 8, [0x03, 0xE8]) }
            }
            try await broker.trigger(1, on: channel)
            try await eventually {
                try await broker.delivery(1, on: channel, user: "ann").connections?.first?
                    .closed_by_client == true
            }
            let delivery = try await broker.delivery(1, on: channel, user: "ann")
            #expect(delivery.verdict == "sent")
            let connections = try #require(delivery.connections)
            #expect(connections.map(\.socket_id) == sockets)
            #expect(connections.allSatisfy { $0.client == "js 8.6.0" && $0.user_id == "ann" })
            #expect(connections.map(\.verdict) == ["after_leaving", "sent"])
            let unknown = try await broker.delivery(1, on: channel, user: "eve")
            #expect(unknown.verdict == "unknown_connection" && unknown.connections == nil)
            // Until here they are open.
            for client in clients.dropFirst() { try client.send(opcode: 8, [0x03, 0xE8]) }
        }
    }

    @Test("Numbers of clients, and a channel whose messages have none", arguments: [1, 3])
    func counts(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            #expect(try await broker.delivery(1, on: "a").verdict == "not_kept")
            var clients: [TrackingWire] = []
            for _ in 0..<5 { clients.append(try await TrackingWire(broker, "a")) }
            _ = try await TrackingWire(broker, "b")
            try await broker.trigger(1, on: "a", except: clients[0].socketID)
            let late = try await TrackingWire(broker, "a")
            let counts = try await broker.delivery(1, on: "a").counts
            #expect(counts == ["sent": 4, "left_out": 1, "before_joining": 1])
            _ = late
            let (stock, socketID) = try await broker.subscribed(to: "a")
            #expect(
                try await broker.delivery(1, on: "a", socket: socketID).verdict
                    == "unknown_connection"
            )
            try await stock.expectNothing()
        }
    }

    @Test("With connection_records: all, those that track nothing are judged by time")
    func allConnections() async throws {
        try await TestBroker.run {
            $0.connectionRecords.scope = .all
        } _: { broker in
            let tracking = try await TrackingWire(broker, "a")
            try await broker.trigger(1, on: "a")
            // Times are whole milliseconds.
            try await Task.sleep(for: .milliseconds(5))
            let (stock, socketID) = try await broker.subscribed(to: "a")
            try await Task.sleep(for: .milliseconds(5))
            try await broker.trigger(1, on: "a")
            try await broker.trigger(1, on: "a", except: socketID)
            _ = try await stock.nextText()
            for (serial, verdict) in [(1, "before_joining"), (2, "sent"), (3, "left_out")] {
                let delivery = try await broker.delivery(serial, on: "a", socket: socketID)
                #expect(delivery.verdict == verdict)
            }
            tracking.cut()
        }
    }

    @Test("The oldest records of closed connections go")
    func recordsMax() async throws {
        try await TestBroker.run {
            $0.connectionRecords.closedMax = 2
        } _: { broker in
            let reader = try await TrackingWire(broker, "a")
            try await broker.trigger(1, on: "a")
            var clients: [TrackingWire] = []
            for _ in 0..<3 {
                let client = try await TrackingWire(broker, "a")
                clients.append(client)
                client.cut()
                try await eventually {
                    try await broker.delivery(1, on: "a", socket: client.socketID)
                        .connections?.first?.closed != nil
                }
            }
            let verdicts = ["unknown_connection", "before_joining", "before_joining"]
            for (client, verdict) in zip(clients, verdicts) {
                #expect(try await broker.verdict(1, on: "a", client) == verdict)
            }
            #expect(try await broker.verdict(1, on: "a", reader) == "sent")
        }
    }

    @Test("A wrong value is named")
    func refusals() async throws {
        try await TestBroker.run { broker in
            for (path, parameters, text) in [
                ("a/messages/x/delivery", [], "Invalid serial"),
                ("a/messages/-1/delivery", [], "Invalid serial"),
                ("a/messages/99999999999999999999/delivery", [], "Invalid serial"),
                ("a/messages/1/delivery", [("socket_id", "x")], "Invalid socket_id"),
                ("a/messages/1/delivery", [("user_id", "a!b")], "Invalid user_id"),
                (
                    "a/messages/1/delivery", [("socket_id", "1.1"), ("user_id", "a")],
                    "Give socket_id or user_id, not both"
                ),
                ("a%20b/messages/1/delivery", [], "Invalid channel name"),
            ] as [(String, [(String, String)], String)] {
                let answer = try await Wire(port: broker.port).ask(
                    SignedRequest(
                        method: "GET",
                        path: "/apps/1/channels/" + path,
                        parameters: parameters
                    )
                )
                #expect(answer.status == 400 && answer.body.contains(text), "\(answer.body)")
            }
        }
    }
}
