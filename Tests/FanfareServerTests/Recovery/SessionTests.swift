import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import Testing

@testable import FanfareServer

/// Several, so that some homes are on another shard than the clients.
private let channels = ["a", "b", "private-c", "private-encrypted-d"]

@Suite("Sessions of stock clients") struct SessionTests {
    private func run(
        loops: Int = 1,
        _ change: (inout Configuration) -> Void = { _ in },
        _ body: (TestBroker) async throws -> Void
    ) async throws {
        try await TestBroker.run(loops: loops, change) { broker in
            await broker.knowsAllSessions()
            try await body(broker)
        }
    }

    private func trigger(
        _ broker: TestBroker,
        _ channel: String,
        _ data: String,
        except: String = ""
    ) async throws {
        let socket = except.isEmpty ? "" : #","socket_id":"\#(except)""#
        let body = #"{"name":"e","channel":"\#(channel)","data":"\#(data)"\#(socket)}"#
        let request = SignedRequest(path: "/apps/1/events", body: body)
        let wire = try Wire(port: broker.port)
        try wire.send(request.head(["Content-Length: \(body.utf8.count)"]) + body)
        #expect(try await wire.answer().status == 200)
    }

    private func acknowledgement(_ channel: String, replay: Int?) -> String {
        if channel.hasPrefix("private-encrypted-") { return "{}" }
        return replay.map { #"{"recovered":true,"replay":\#($0)}"# } ?? #"{"recovered":false}"#
    }

    @Test("What was not confirmed comes again, and what was missed", arguments: [1, 3])
    func resumes(loops: Int) async throws {
        try await run(loops: loops) { broker in
            for (index, channel) in channels.enumerated() {
                let token = StockWire.token()
                let first = try await StockWire(broker, token, inKey: index % 2 == 0)
                #expect(try await first.subscribe(to: channel) == "{}")
                try await trigger(broker, channel, "1")
                #expect(try await first.events(1) == ["1"])
                try await first.confirm()
                try await trigger(broker, channel, "2")
                #expect(try await first.events(1) == ["2"])
                try await first.cut(broker)
                try await trigger(broker, channel, "3")
                let second = try await StockWire(broker, token, inKey: index % 3 == 0)
                #expect(
                    try await second.subscribe(to: channel) == acknowledgement(channel, replay: 2)
                )
                try await trigger(broker, channel, "4")
                #expect(try await second.events(3) == ["2", "3", "4"])
            }
        }
    }

    @Test("A connection takes over from one that seems to live", arguments: [1, 3])
    func halfDead(loops: Int) async throws {
        try await run(loops: loops) { broker in
            let token = StockWire.token()
            let first = try await StockWire(broker, token)
            for channel in channels { _ = try await first.subscribe(to: channel) }
            try await trigger(broker, "a", "1")
            try await first.confirm()
            try await trigger(broker, "a", "2")
            // One that loses the race of a client's connections subscribes to nothing.
            let idle = try await StockWire(broker, token)
            let second = try await StockWire(broker, token)
            #expect(try await second.subscribe(to: "a") == acknowledgement("a", replay: 1))
            #expect(try await second.events(1) == ["2"])
            for channel in channels.dropFirst() {
                #expect(
                    try await second.subscribe(to: channel) == acknowledgement(channel, replay: 0)
                )
            }
            _ = idle
        }
    }

    @Test("Two that live are both told, and the token resumes nothing", arguments: [1, 3])
    func shared(loops: Int) async throws {
        try await run(loops: loops) { broker in
            let token = StockWire.token()
            let first = try await StockWire(broker, token)
            #expect(try await first.subscribe(to: "a") == "{}")
            let second = try await StockWire(broker, token)
            #expect(try await second.subscribe(to: "a") == acknowledgement("a", replay: 0))
            while try await first.client.next().text.contains(#""pusher:ping""#) == false {}
            try first.client.send(#"{"event":"pusher:pong","data":{}}"#)
            for client in [first, second] {
                #expect(try await client.next().contains("Two clients use one session token"))
                #expect(try await client.events(1) == [#"pusher:gap {"reason":"shared_session"}"#])
            }
            let third = try await StockWire(broker, token)
            try third.client.send(subscribeMessage(to: "a", socketID: third.socketID))
            #expect(try await third.next().contains("Two clients use one session token"))
            #expect(try await third.next().contains(#"\"recovered\":false"#))
            #expect(try await third.events(1) == [#"pusher:gap {"reason":"shared_session"}"#])
        }
    }

    @Test("A token authorizes nothing: each subscription is signed as ever")
    func authorization() async throws {
        try await run { broker in
            let token = StockWire.token()
            let first = try await StockWire(broker, token)
            #expect(try await first.subscribe(to: "private-a") == "{}")
            try await first.cut(broker)
            try await trigger(broker, "private-a", "1")
            let second = try await StockWire(broker, token)
            let message = subscribeMessage(
                to: "private-a",
                socketID: second.socketID,
                secret: "another"
            )
            try second.client.send(message)
            #expect(try await second.next().contains("pusher:subscription_error"))
            #expect(try await second.next().contains("pusher:error"))
            #expect(
                try await second.subscribe(to: "private-a")
                    == acknowledgement("private-a", replay: 1)
            )
            #expect(try await second.events(1) == ["1"])
        }
    }

    @Test(
        "A malformed token is told, and the client is connected without recovery",
        arguments: [
            "/r/%@/app/app-key?protocol=7", "/app/app-key/r/%@?protocol=7",
        ]
    )
    func malformed(target: String) async throws {
        try await run { broker in
            for token in [
                "", "n.w-0123456789abcdef", "mii8vkw0-short", "mii8vkw0-0123456789abcde!",
            ] {
                let client = try await WebSocketWire(
                    port: broker.port,
                    target: target.replacing("%@", with: token)
                )
                _ = try await client.socketID()
                let error = try await client.nextText()
                #expect(error.contains("pusher:error") && error.contains("Invalid session token"))
                #expect(token.isEmpty || !error.contains(token))
                try await client.subscribe(to: "a")
            }
        }
    }

    @Test("A channel that was left goes on where it was, also over another connection")
    func unsubscribes() async throws {
        try await run { broker in
            let token = StockWire.token()
            let first = try await StockWire(broker, token)
            #expect(try await first.subscribe(to: "a") == "{}")
            #expect(try await first.subscribe(to: "b") == "{}")
            try await first.leave("a")
            try await trigger(broker, "a", "1")
            #expect(try await first.subscribe(to: "a") == acknowledgement("a", replay: 1))
            #expect(try await first.events(1) == ["1"])
            try await first.confirm()
            try await first.leave("a")
            try await trigger(broker, "a", "2")
            try await first.cut(broker)
            let second = try await StockWire(broker, token)
            #expect(try await second.subscribe(to: "a") == acknowledgement("a", replay: 1))
            #expect(try await second.events(1) == ["2"])
            #expect(try await second.subscribe(to: "b") == acknowledgement("b", replay: 0))
        }
    }

    @Test("Without a grace, an unsubscription forgets the position")
    func forgets() async throws {
        try await run {
            $0.apps[0].recovery.resubscribeGrace = 0
        } _: { broker in
            let first = try await StockWire(broker, StockWire.token())
            #expect(try await first.subscribe(to: "a") == "{}")
            try await first.leave("a")
            try await trigger(broker, "a", "1")
            #expect(try await first.subscribe(to: "a") == "{}")
        }
    }

    @Test(
        "Behind a start without the sessions of before, a token of before is told",
        arguments: [
            1, 3,
        ]
    )
    func unknown(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let client = try await StockWire(broker, StockWire.token(in: 60))
            for channel in channels {
                #expect(
                    try await client.subscribe(to: channel)
                        == acknowledgement(channel, replay: nil)
                )
                let isEncrypted = channel.hasPrefix("private-encrypted-")
                let data = isEncrypted ? "{}" : #"{"reason":"unknown_session"}"#
                #expect(try await client.events(1) == ["pusher:gap \(data)"])
            }
        }
    }

    @Test(
        "Behind such a start, a token that was never connected misses nothing",
        arguments: [1, 3]
    )
    func unused(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            // The first one is of the time of the start, and the clock of the second one is behind.
            for token in [StockWire.token(), StockWire.token(in: -100)] {
                let client = try await StockWire(broker, token + ".new")
                #expect(try await client.subscribe(to: "a") == "{}")
                try await client.cut(broker)
                try await trigger(broker, "a", token)
                // Connected before, it is no new one, and goes on.
                let back = try await StockWire(broker, token)
                #expect(try await back.subscribe(to: "a") == acknowledgement("a", replay: 1))
                #expect(try await back.events(1) == [token])
                try await back.cut(broker)
            }
        }
    }

    @Test("A gap is told until it is confirmed")
    func gaps() async throws {
        try await run {
            $0.apps[0].recovery.standard.messagesMax = 2
        } _: { broker in
            let token = StockWire.token()
            let first = try await StockWire(broker, token)
            #expect(try await first.subscribe(to: "a") == "{}")
            try await first.cut(broker)
            for data in ["1", "2", "3"] { try await trigger(broker, "a", data) }
            let gap = #"pusher:gap {"reason":"truncated","missed":3}"#
            for _ in 0..<2 {
                let second = try await StockWire(broker, token)
                #expect(try await second.subscribe(to: "a") == acknowledgement("a", replay: nil))
                #expect(try await second.events(1) == [gap])
                try await second.cut(broker)
            }
            let third = try await StockWire(broker, token)
            #expect(try await third.subscribe(to: "a") == acknowledgement("a", replay: nil))
            #expect(try await third.events(1) == [gap])
            try await third.confirm()
            try await third.cut(broker)
            let fourth = try await StockWire(broker, token)
            #expect(try await fourth.subscribe(to: "a") == acknowledgement("a", replay: 0))
        }
    }

    @Test("Presence channels have their members alone; cached events are sent until confirmed")
    func otherKinds() async throws {
        try await run { broker in
            let token = StockWire.token()
            try await trigger(broker, "cache-a", "1")
            let first = try await StockWire(broker, token)
            #expect(try await first.subscribe(to: "presence-a", as: "ann").contains("presence"))
            #expect(try await first.subscribe(to: "cache-a") == "{}")
            #expect(try await first.events(1) == ["1"])
            try await first.cut(broker)
            try await trigger(broker, "presence-a", "2")
            let second = try await StockWire(broker, token)
            let data = try await second.subscribe(to: "presence-a", as: "ann")
            #expect(data.contains("presence") && !data.contains("recovered"))
            #expect(try await second.events(1) == ["2"])
            try await second.confirm()
            #expect(try await second.subscribe(to: "cache-a") == acknowledgement("a", replay: 0))
            #expect(try await second.events(1) == ["1"])
            try await second.confirm()
            try await second.cut(broker)
            let third = try await StockWire(broker, token)
            #expect(try await third.subscribe(to: "cache-a") == acknowledgement("a", replay: 0))
            try await trigger(broker, "cache-a", "3")
            #expect(try await third.events(1) == ["3"])
        }
    }

    @Test(
        "What leaves a connection of the client out is left out of every replay",
        arguments: [
            1, 3,
        ]
    )
    func exclusions(loops: Int) async throws {
        try await run(loops: loops) { broker in
            for channel in channels {
                let token = StockWire.token()
                let first = try await StockWire(broker, token)
                _ = try await first.subscribe(to: channel)
                try await trigger(broker, channel, "1", except: first.socketID)
                try await first.cut(broker)
                let second = try await StockWire(broker, token)
                try await trigger(broker, channel, "2", except: first.socketID)
                // By its own socket ID, which it knows before it subscribes.
                try await trigger(broker, channel, "3", except: second.socketID)
                try await trigger(broker, channel, "4")
                #expect(
                    try await second.subscribe(to: channel) == acknowledgement(channel, replay: 1)
                )
                #expect(try await second.events(1) == ["4"])
                try await second.cut(broker)
                let third = try await StockWire(broker, token)
                #expect(
                    try await third.subscribe(to: channel) == acknowledgement(channel, replay: 1)
                )
            }
        }
    }

    @Test("A client that tracks its position itself does so with a token, too")
    func selfTracking() async throws {
        try await run { broker in
            let client = try await StockWire(broker, StockWire.token())
            try client.client.send(
                #"{"event":"pusher:subscribe","data":{"channel":"a","position":{}}}"#
            )
            #expect(try await client.next().contains(#"\"position\""#))
        }
    }

    @Test("Without recovery, a token is ignored")
    func disabled() async throws {
        try await run {
            $0.apps[0].recovery.isEnabled = false
        } _: { broker in
            for token in ["malformed", StockWire.token()] {
                let client = try await StockWire(broker, token)
                #expect(try await client.subscribe(to: "a") == "{}")
            }
        }
    }

    @Test("A broker that stops asks once more before it closes")
    func stops() async throws {
        try await run { broker in
            let client = try await StockWire(broker, StockWire.token())
            #expect(try await client.subscribe(to: "a") == "{}")
            try await trigger(broker, "a", "1")
            try await client.confirm()
            try await trigger(broker, "a", "2")
            async let stop: Void = broker.server.stop(within: .seconds(10))
            try await client.waitForPing()
            // Nothing else, since the broker may close before it reads another message.
            try client.client.send(#"{"event":"pusher:pong","data":{}}"#)
            try await client.client.expectEnd(4200)
            await stop
        }
    }

    @Test("A stop does not wait for those that do not confirm")
    func stopsInTime() async throws {
        try await run { broker in
            let client = try await StockWire(broker, StockWire.token())
            #expect(try await client.subscribe(to: "a") == "{}")
            try await trigger(broker, "a", "1")
            async let stop: Void = broker.server.stop(within: .seconds(10))
            #expect(try await client.events(1) == ["1"])
            #expect(try await client.next().contains("4200"))
            await stop
        }
    }
}
