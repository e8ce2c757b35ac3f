import BrokerConfiguration
import Net
import PusherProtocol
import Simulation
import Testing

@testable import FanfareServer

@Suite("Connections with many channels leave them in portions") struct LeavingTests {
    private func numbered(_ count: Int) -> [String] { (0..<count).map { "room-\($0)" } }

    /// The number of channels in the tables of a stepped broker, over all shards.
    private func channelCount(_ stepped: SteppedBroker) -> Int {
        stepped.broker.tableSizes()["channels"]
    }

    @Test("The channels are left over several turns, completely", arguments: [1, 2])
    func portions(shards: Int) throws {
        let stepped = try SteppedBroker(shards: shards)
        // Objects that are created once and stay, such as timers of the site.
        for shard in 0..<shards { try stepped.client(of: shard).close() }
        stepped.settle()
        let before = stepped.broker.tableSizes()
        let clients = try (0..<2).map { try stepped.client(of: $0 % shards) }
        for client in clients { stepped.subscribe(client, to: numbered(200)) }
        let full = channelCount(stepped)
        clients[0].send(Frames.frame(8, [3, 232]))
        stepped.turn { clients[0].frames.count == 1 }
        #expect(channelCount(stepped) > 0)
        clients[1].close()
        stepped.turn(2)
        // The connection's quotas are released at once, however many channels it has to leave.
        #expect(stepped.broker.tableSizes()["connections"] == 0)
        #expect(channelCount(stepped) > full / 2)
        stepped.settle()
        #expect(stepped.broker.tableSizes().growth(since: before).isEmpty)
    }

    @Test("Events sent before the close precede its frame, and none follow")
    func order() throws {
        let stepped = try SteppedBroker()
        let (leaving, staying) = (try stepped.client(), try stepped.client())
        let channels = numbered(100)
        for client in [leaving, staying] { stepped.subscribe(client, to: channels) }
        let backend = try stepped.connect()
        func trigger(_ name: String) {
            for channel in channels {
                let body = #"{"name":"\#(name)","channels":["\#(channel)"],"data":"1"}"#
                backend.send(SignedRequest(path: "/apps/1/events", body: body).text)
            }
        }
        // In one turn the backend is served first, since its request arrived first.
        trigger("early")
        leaving.send(Frames.frame(8, [3, 232]))
        stepped.turn()
        trigger("late")
        stepped.settle()
        #expect(leaving.count(of: #""event":"early""#) == channels.count)
        #expect(leaving.count(of: #""event":"late""#) == 0)
        #expect(leaving.hasEnded && leaving.frames.last?.closeCode == 1_000)
        for name in ["early", "late"] {
            #expect(staying.count(of: #""event":"\#(name)""#) == channels.count)
        }
    }

    @Test("Subscribers get each departure of a member once", arguments: [1, 3])
    func members(loops: Int) async throws {
        let occurrences = Occurrences()
        try await TestBroker.run(loops: loops, observer: occurrences) { broker in
            let channels = (0..<80).map { "presence-\($0)" }
            let (staying, stayingID) = try await broker.connected()
            let (leaving, leavingID) = try await broker.connected()
            for channel in channels {
                _ = try await staying.join(channel, as: "ann", socketID: stayingID)
                _ = try await leaving.join(channel, as: "bob", socketID: leavingID)
                #expect(try await staying.nextText() == Notice.added("bob", channel))
            }
            leaving.wire.reset()
            var notices: Set<String> = []
            for _ in channels { notices.insert(try await staying.nextText()) }
            #expect(notices == Set(channels.map { Notice.removed("bob", $0) }))
            try await staying.expectNothing()
            staying.wire.reset()
            for channel in channels {
                try await eventually { occurrences.recorded(of: channel).last == "vacated" }
                #expect(
                    occurrences.recorded(of: channel)
                        == ["occupied", "+ann", "+bob", "-bob", "-ann", "vacated"]
                )
            }
        }
    }

    @Test("A slow reader with many channels is closed with its code, and gets nothing more")
    func slowReaders() async throws {
        try await TestBroker.run {
            $0.streamLimits.queuedBytesMax = 64 << 10
        } _: { broker in
            let wire = try Wire(port: broker.port, keepsLittle: true)
            let client = try await WebSocketWire(over: wire)
            _ = try await client.socketID()
            let channels = numbered(100)
            try await client.subscribe(to: channels)
            let data = String(repeating: "x", count: 5_000)
            try await eventually {
                for channel in channels {
                    _ = try await broker.trigger("e", data, on: channel)
                }
                return await broker.hits(.queuedBytes) == 1
            }
            // The queue is dropped, except for a frame that is partly sent.
            var last = try await client.next()
            while last.opcode == 1 && !last.text.contains("pusher:error") {
                last = try await client.next()
            }
            #expect(last.text.contains(#""code":4100"#))
            #expect(try await client.next().closeCode == 4100)
            try await eventually { await broker.metric("fanfare_channels") == 0 }
        }
    }

    @Test("A stop does not wait for connections that have closed", arguments: [1, 2])
    func stop(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for _ in 0..<4 {
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: numbered(1_000))
            }
        }
    }

    @Test("Many subscriptions are processed in portions, a few each turn")
    func subscriptions() throws {
        let stepped = try SteppedBroker()
        let client = try stepped.client()
        let channels = numbered(300)
        client.send(channels.flatMap { Frames.subscribe($0) })
        stepped.turn(2)
        #expect(channelCount(stepped) < 200)
        stepped.turn { client.frames.count == channels.count }
        client.send(channels.flatMap { Frames.unsubscribe($0) })
        stepped.turn()
        #expect(channelCount(stepped) > 100)
        stepped.turn { self.channelCount(stepped) == 0 }
    }
}
