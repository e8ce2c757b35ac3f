import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

/// One with its home on each of two shards, so that some notices cross a link.
private let channels = ["presence-a", "presence-b", "presence-c"]

@Suite("Presence: who returns within three seconds has not left", .timeLimit(.minutes(1)))
struct PresenceGraceTests {
    /// How a page leaves a channel, and returns.
    enum Way: CaseIterable {
        /// It unsubscribes, and subscribes again.
        case unsubscribed
        /// It is reloaded: another connection.
        case closed
        /// The same after an abort.
        case reset
    }

    @Test("The others see nothing of a page that returns", arguments: Way.allCases, [1, 2])
    func returning(way: Way, loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            // So that a busy machine is not too late.
            $0.apps[0].features.presenceGrace = 30
        } _: { broker in
            for channel in channels {
                let (watcher, _) = try await broker.joined(channel, as: "watcher")
                var (page, socketID) = try await broker.connected()
                _ = try await page.join(channel, as: "ann", info: "1", socketID: socketID)
                #expect(try await watcher.nextText() == Notice.added("ann", channel, info: "1"))
                switch way {
                case .unsubscribed: try page.unsubscribe(from: channel)
                case .closed: try page.send(opcode: 8, [0x03, 0xE8])
                case .reset: page.wire.reset()
                }
                try await eventually {
                    try await broker.count("subscription_count", of: channel) == 1
                }
                // Whoever asks, or joins, meanwhile sees what the members see.
                #expect(try await broker.users(of: channel) == ["ann", "watcher"])
                try await Task.sleep(for: .milliseconds(300))
                if way != .unsubscribed { (page, socketID) = try await broker.connected() }
                let list = try await page.join(channel, as: "ann", info: "1", socketID: socketID)
                #expect(list == ["ann", "watcher"])
                try await watcher.expectNothing()
            }
        }
    }

    @Test("Who does not return has left once, three seconds later", arguments: [1, 2])
    func leaving(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (watcher, _) = try await broker.joined(channels[0], as: "watcher")
            let (page, socketID) = try await broker.connected()
            for _ in 0..<10 {
                _ = try await page.join(channels[0], as: "ann", socketID: socketID)
                try page.unsubscribe(from: channels[0])
            }
            try await page.expectNothing()
            let left = ContinuousClock.now
            #expect(try await watcher.nextText() == Notice.added("ann", channels[0]))
            #expect(try await watcher.nextText() == Notice.removed("ann", channels[0]))
            #expect(left.duration(to: .now) > .seconds(2.5))
            #expect(try await broker.users(of: channels[0]) == ["watcher"])
            try await watcher.expectNothing()
        }
    }

    @Test("Who returns with another info leaves and joins")
    func changed() async throws {
        try await TestBroker.run { broker in
            let (watcher, _) = try await broker.joined("presence-a", as: "watcher")
            var (page, _) = try await broker.joined("presence-a", as: "ann", info: "1")
            #expect(try await watcher.nextText() == Notice.added("ann", "presence-a", info: "1"))
            page.wire.reset()
            try await eventually {
                try await broker.count("subscription_count", of: "presence-a") == 1
            }
            (page, _) = try await broker.joined("presence-a", as: "ann", info: "2")
            #expect(try await watcher.nextText() == Notice.removed("ann", "presence-a"))
            #expect(try await watcher.nextText() == Notice.added("ann", "presence-a", info: "2"))
            try await watcher.expectNothing()
        }
    }
}
