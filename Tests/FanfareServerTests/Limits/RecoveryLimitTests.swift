import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Limits of kept messages") struct RecoveryLimitTests {
    @Test("Without a session to forget, a new token has no recovery, and is told")
    func ofSessions() async throws {
        try await TestBroker.run {
            $0.apps[0].recovery.sessionsMax = 1
        } _: { broker in
            await broker.knowsAllSessions()
            // A cluster that has just begun may not know tokens of the two minutes before.
            let (token, other) = (StockWire.token(in: 120), StockWire.token(in: 120))
            let first = try await StockWire(broker, token)
            #expect(try await first.subscribe(to: "a") == "{}")
            let second = try await StockWire(broker, other)
            try second.client.send(subscribeMessage(to: "a", socketID: second.socketID))
            #expect(try await second.next().contains("The app has 1 sessions, all in use"))
            #expect(try await second.next().contains("subscription_succeeded"))
            #expect(await broker.hits(.recoverySessions) == 1)
            try await first.cut(broker)
            // The session that is away is forgotten, and its client is told.
            let third = try await StockWire(broker, other)
            #expect(try await third.subscribe(to: "a") == #"{"recovered":false}"#)
            try await third.cut(broker)
            let fourth = try await StockWire(broker, token)
            #expect(try await fourth.subscribe(to: "a") == #"{"recovered":false}"#)
            #expect(try await fourth.events(1) == [#"pusher:gap {"reason":"unknown_session"}"#])
        }
    }

    @Test("Clients open so many public channels on which nothing was published")
    func ofOpenedStreams() async throws {
        try await TestBroker.run {
            $0.apps[0].recovery.openedStreamsMax = 4
        } _: { broker in
            let ann = try await WebSocketWire(
                port: broker.port,
                fields: "X-Forwarded-For: 192.0.2.1\r\n"
            )
            let id = try await ann.socketID()
            func answers(_ channel: String, _ position: String = #","position":{}"#) async throws
                -> Bool
            {
                let message = subscribeMessage(to: channel, socketID: id)
                try ann.send(message.dropLast(2) + position + "}}")
                let text = try await ann.nextText()
                let isRefused = text.contains("pusher:subscription_error")
                #expect(!isRefused || text.contains(#"LimitReached"#) && text.contains("4100"))
                return !isRefused
            }
            for channel in ["a", "b"] { #expect(try await answers(channel)) }
            #expect(try await !answers("c"))
            #expect(await broker.hits(.openedStreams) == 1)
            // Without a position, with a signature, or beside others it is none of them.
            #expect(try await answers("c", ""))
            #expect(try await answers("private-c"))
            let others = try await [TrackingWire(broker, "d"), TrackingWire(broker, "e")]
            #expect(try await answers("e"))
            // What was published on does not count.
            #expect(try await broker.trigger("e", "1", on: "a").status == 200)
            _ = try await ann.nextText()
            #expect(try await broker.trigger("e", "1", on: "b").status == 200)
            _ = try await ann.nextText()
            #expect(try await answers("f"))
            for other in others { other.cut() }
        }
    }

    @Test("Beyond a size, sessions without a connection keep no positions, which is reported")
    func ofSessionPositions() async throws {
        try await TestBroker.run {
            $0.apps[0].recovery.sessionBytesMax = 64 << 10
        } _: { broker in
            await broker.knowsAllSessions()
            let (large, small) = (StockWire.token(in: 120), StockWire.token(in: 120))
            // Redis counts the bytes of the record, memory more: 400 of these exceed the limit in both.
            func name(_ number: Int) -> String { String(repeating: "a", count: 160) + "\(number)" }
            let ann = "X-Forwarded-For: 192.0.2.1\r\n"
            for (token, count) in [(small, 2), (large, 400)] {
                let client = try await StockWire(broker, token, fields: ann)
                for number in 0..<count { _ = try await client.subscribe(to: name(number)) }
                try await client.cut(broker)
            }
            try await eventually { await broker.hits(.sessionBytes) > 0 }
            let back = try await StockWire(broker, small, fields: ann)
            #expect(try await back.subscribe(to: name(0)).contains(#""recovered":true"#))
            let gone = try await StockWire(broker, large, fields: ann)
            #expect(try await gone.subscribe(to: name(0)) == #"{"recovered":false}"#)
            #expect(try await gone.events(1) == [#"pusher:gap {"reason":"unknown_session"}"#])
        }
    }

    @Test(
        "The oldest messages or positions go, and who missed them is told",
        arguments: [Limit.appRetainedBytes, .retainedBytesTotal, .recoveryPositions]
    )
    func ofKeptMessages(limit: Limit) async throws {
        try await TestBroker.run {
            switch limit {
            case .appRetainedBytes: $0.apps[0].recovery.retainedBytesMax = 64 << 10
            case .retainedBytesTotal:
                $0.retainedBytesTotalMax = 1 << 20
                $0.apps[0].recovery.standard.bytesMax = 16 << 20
            default: $0.apps[0].recovery.positionsMax = 1
            }
        } _: { broker in
            let first = try await TrackingWire(broker, "a")
            let data = String(repeating: "x", count: 10_000)
            if limit == .recoveryPositions {
                first.cut()
                let other = try await TrackingWire(broker, "b")
                other.cut()
            } else {
                for _ in 0..<120 { _ = try await broker.trigger("e", data, on: "b") }
                let count = limit == .appRetainedBytes ? 10 : 120
                for _ in 0..<count { _ = try await broker.trigger("e", data, on: "a") }
                first.cut()
            }
            try await eventually { await broker.hits(limit) > 0 }
            let second = try await TrackingWire(broker, "a", behind: first)
            if BrokerVariant.current?.database != nil, limit == .appRetainedBytes {
                // The file has what memory no longer keeps.
                #expect(second.start.continuity == .recovered(replay: 10))
                return
            }
            let reason = limit == .recoveryPositions ? RecoveryGap.Reason.unknownStream : .truncated
            guard case .gap(let gap) = second.start.continuity else {
                Issue.record("\(second.start)")
                return
            }
            #expect(gap.reason == reason)
        }
    }
}
