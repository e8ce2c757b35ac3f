import PusherProtocol
import Testing

@testable import Broker

@Suite("Streams that a failover has sealed") struct FormerStreamsTests {
    private func message(_ serial: UInt64) -> StoredMessage {
        StoredMessage(serial: serial, time: 0, except: nil, envelope: Envelope(text: []))
    }

    private func position(_ stream: String, _ serial: UInt64) throws -> ChannelPosition {
        ChannelPosition(stream: try #require(StreamID(stream)), serial: serial)
    }

    /// Subscribes a client at `a` 18 to a channel whose present stream follows sealed ones.
    private func replay(behind sealed: [FormerStreams.Stream]) throws -> Replay {
        var recovery = RecoverySettings()
        recovery.isEnabled = true
        let app = App(
            id: AppID("1"),
            key: "key",
            secret: AppSecret("secret"),
            recovery: recovery
        )
        let address = ChannelAddress(app: app.id, name: try ChannelName("x"))
        var home = ChannelHome(on: 0)
        var state = HomeShardState(smallPresenceChannelMax: 100)
        _ = home.subscribe(
            Subscriber(SocketID(1, 1), shard: 0, member: nil, position: PositionRequest()),
            to: address,
            of: app,
            sharing: &state,
            at: 0
        )
        let index = try #require(home.stream)
        let start = ChannelPosition(stream: state.streams[index].id, serial: 0)
        let request = PositionRequest(try position("a", 18))
        let effects = home.subscribe(
            Subscriber(SocketID(2, 1), shard: 0, member: nil, position: request),
            to: address,
            of: app,
            sharing: &state,
            behind: ArchivedMessages(behind: FormerStreams(sealed, ahead: start)),
            at: 0
        )
        let grants = effects.compactMap { if case .grant(let grant) = $0 { grant } else { nil } }
        let replay = try #require(grants.first?.replay)
        #expect(replay.start == SubscriptionStart(start, .recovered(replay: 0)))
        return replay
    }

    @Test("The rest of the client's own stream precedes the next ones")
    func ownStream() throws {
        let own = FormerStreams.Stream(behind: try position("a", 18), [message(19)])
        let next = FormerStreams.Stream(behind: try position("b", 0), [message(1), message(2)])
        let former = try replay(behind: [own, next]).former
        #expect(
            former.map(\.start) == [
                SubscriptionStart(try position("a", 18), .recovered(replay: 1)),
                SubscriptionStart(try position("b", 0), .recovered(replay: 2)),
            ]
        )
    }

    @Test("A client that has all of its own stream goes on in the one that it has missed")
    func nextStream() throws {
        let next = FormerStreams.Stream(behind: try position("b", 0), [message(1), message(2)])
        let former = try replay(behind: [next]).former
        let start = SubscriptionStart(try position("b", 0), .recovered(replay: 2))
        #expect(former.map(\.start) == [start])
    }

    @Test("Nothing precedes the present stream for a client that has all")
    func nothing() throws { #expect(try replay(behind: []).former == []) }
}
